# The image of the success criterion: the contestant's image (PARENT) and Debian's headless Chromium.
ARG PARENT
FROM ${PARENT}
RUN apt-get -o Acquire::Retries=3 update \
 && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y --no-install-recommends \
      chromium-headless-shell fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/debconf/*-old \
 && chromium-headless-shell --version --no-sandbox
