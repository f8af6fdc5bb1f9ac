"""Images on the real engine: built once, named by content, nothing of the host in a layer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.errors import BuildError
from runner.sandbox.baseimage import BaseImage, ensure_base, ensure_postgres, ensure_trusted
from runner.sandbox.buildcli import find_cli
from runner.sandbox.images import HasClient, Image, ImageSpec, ensure

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]


def quiet(line: str) -> None:
    """No log."""


@pytest.fixture(scope="module")
def engine() -> Iterator[HasClient]:
    import docker

    client = docker.from_env()
    yield SimpleNamespace(client=client)
    client.close()


@pytest.fixture(scope="module")
def base(engine: HasClient) -> BaseImage:
    return ensure_base(engine, log=quiet)


@dataclass(frozen=True)
class Bench:
    """A small image of a test's own, and a client that notes each build that it is asked for."""

    engine: HasClient
    spec: ImageSpec
    env: dict[str, str]
    notes: Path

    def write(self, *lines: str) -> None:
        text = "\n".join(["ARG PARENT", "FROM ${PARENT}", *lines]) + "\n"
        (self.spec.context / "Dockerfile").write_text(text)

    def ensure(self, **env: str) -> Image:
        return ensure(self.engine, self.spec, log=quiet, env={**self.env, **env})

    @property
    def builds(self) -> int:
        return len(self.notes.read_text().splitlines()) if self.notes.exists() else 0

    @property
    def tags(self) -> list[str]:
        return [tag for image in self.engine.client.images.list(name=self.spec.name) for tag in image.tags]


@pytest.fixture
def bench(engine: HasClient, base: BaseImage, tmp_path: Path) -> Iterator[Bench]:
    context = tmp_path / "context"
    context.mkdir()
    real = find_cli(os.environ)
    noted = tmp_path / "bin" / "docker"
    noted.parent.mkdir()
    notes = tmp_path / "builds"
    script = f'#!/bin/sh\ncase " $* " in *" --iidfile="*) echo build >>{notes};; esac\nexec {real.path} "$@"\n'
    noted.write_text(script)
    noted.chmod(0o755)
    spec = ImageSpec(f"bench/test-{uuid.uuid4().hex[:12]}", context, parents={"PARENT": base.tag})
    found = Bench(engine, spec, {**os.environ, "PATH": f"{noted.parent}:{os.environ['PATH']}"}, notes)
    found.write("RUN echo hello >/built")
    yield found
    for tag in found.tags:
        engine.client.images.remove(tag, force=True)


def test_unchanged_means_no_build(bench: Bench) -> None:
    first = bench.ensure()
    again = bench.ensure()
    assert (first.built, again.built, bench.builds) == (True, False, 1)
    assert (again.tag, again.id) == (first.tag, first.id)
    assert again.seconds < 2
    labels = bench.engine.client.images.get(first.tag).labels
    assert labels["bench.image"] == bench.spec.name
    assert labels["bench.hash"].startswith(first.tag.rpartition(":")[2])


def test_what_changes_gets_a_tag_of_its_own(bench: Bench) -> None:
    first = bench.ensure()
    (bench.spec.context / "extra").write_text("x")
    second = bench.ensure()
    with_args = replace(bench, spec=replace(bench.spec, args={"VERSION": "2"})).ensure()
    assert len({first.tag, second.tag, with_args.tag}) == 3
    assert bench.builds == 3


def test_another_parent_is_another_image(bench: Bench) -> None:
    parent = bench.ensure()
    child = replace(bench, spec=replace(bench.spec, parents={"PARENT": parent.tag}))
    assert child.ensure().tag != parent.tag


def test_two_threads_build_once(bench: Bench) -> None:
    bench.write("RUN sleep 1 && echo threads >/built")
    images: list[Image] = []
    threads = [threading.Thread(target=lambda: images.append(bench.ensure())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.builds == 1
    assert sorted(image.built for image in images) == [False, False, True]
    assert len({image.id for image in images}) == 1


def test_two_processes_build_once(bench: Bench) -> None:
    bench.write("RUN sleep 1 && echo processes >/built")
    program = textwrap.dedent(
        """
        import json, sys
        from pathlib import Path
        from types import SimpleNamespace
        import docker
        from runner.sandbox.images import ImageSpec, ensure
        name, context, parent = sys.argv[1:]
        spec = ImageSpec(name, Path(context), parents={"PARENT": parent})
        image = ensure(SimpleNamespace(client=docker.from_env()), spec, log=lambda line: None)
        print(json.dumps([image.id, image.built]))
        """
    )
    argv = [sys.executable, "-c", program, bench.spec.name, str(bench.spec.context), bench.spec.parents["PARENT"]]
    running = [subprocess.Popen(argv, cwd=ROOT, env=bench.env, stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in running]
    assert bench.builds == 1
    assert sorted(built for _, built in said) == [False, True]
    assert said[0][0] == said[1][0]


def test_a_failed_build_leaves_no_tag(bench: Bench) -> None:
    bench.write("RUN echo this-step-fails && exit 7")
    with pytest.raises(BuildError, match="failed") as caught:
        bench.ensure()
    assert caught.value.exit_code == 3
    assert bench.tags == []
    with pytest.raises(BuildError):
        bench.ensure()
    assert bench.builds == 2
    bench.write("RUN echo mended >/built")
    assert bench.ensure().built


def test_a_missing_parent_is_named(bench: Bench) -> None:
    orphan = replace(bench, spec=replace(bench.spec, parents={"PARENT": "bench/nope:1"}))
    with pytest.raises(BuildError, match="bench/nope:1"):
        orphan.ensure()
    assert bench.builds == 0


def test_the_ca_bundle_and_the_proxies_reach_a_build_and_stay_in_no_layer(bench: Bench, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    bundle = tmp_path / "ca.pem"
    bundle.write_text(f"ca-{mark}\n")
    proxy = f"http://user:proxy-{mark}@proxy.test:3128"
    bench.write(
        f"RUN --mount=type=secret,id=ca,target=/run/secrets/ca.pem : {uuid.uuid4().hex}; \\",
        '    sha256sum </run/secrets/ca.pem >/ca.sum && printf %s "$HTTPS_PROXY" | sha256sum >/proxy.sum',
    )
    image = bench.ensure(SSL_CERT_FILE=str(bundle), HTTPS_PROXY=proxy)
    client = bench.engine.client

    sums = client.containers.run(image.tag, ["cat", "/ca.sum", "/proxy.sum"], remove=True, network_mode="none")
    assert sums.decode().split()[::2] == [digest(bundle.read_bytes()), digest(proxy.encode())]

    found = client.images.get(image.tag)
    assert mark not in json.dumps(found.history())
    assert mark not in json.dumps(found.attrs)
    container = client.containers.create(image.tag, ["true"], network_mode="none")
    try:
        assert not occurs(mark.encode(), container.export())
    finally:
        container.remove(v=True, force=True)
    assert not occurs(mark.encode(), found.save())


def digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def occurs(needle: bytes, chunks: Any) -> bool:
    """Whether `needle` is in the stream, also across two chunks."""
    tail = b""
    for chunk in chunks:
        if needle in tail + chunk:
            return True
        tail = chunk[-len(needle) :]
    return False


def test_the_base_says_where_it_came_from(engine: HasClient, base: BaseImage) -> None:
    labels = engine.client.images.get(base.tag).labels
    assert labels["bench.base.source"] == base.source
    assert labels["bench.base.digest"] == base.digest
    assert base.digest.startswith("sha256:")
    assert ensure_base(engine, log=quiet) == replace(base, built=False)
    trusted = ensure_trusted(engine, base, log=quiet)
    assert engine.client.images.get(trusted.tag).labels["bench.base.digest"] == base.digest


def test_the_base_has_what_contestants_count_on(engine: HasClient, base: BaseImage) -> None:
    script = "git --version && python3 -c 'import venv' && make --version && id && ls -d /work /oracle /out"
    said = engine.client.containers.run(
        base.tag, ["bash", "-ec", script], remove=True, network_mode="none", user="1000:1000"
    ).decode()
    assert "uid=1000(contestant) gid=1000(contestant)" in said


def test_a_seeded_database_answers_its_role_and_refuses_the_superuser(bench: Bench, base: BaseImage) -> None:
    postgres = ensure_postgres(bench.engine, base, log=quiet)
    (bench.spec.context / "seed.sql").write_text("CREATE TABLE part (id int); INSERT INTO part VALUES (1), (2);")
    bench.write("COPY seed.sql /seed/", "RUN seed-database shop shop /seed/seed.sql")
    seeded = replace(bench, spec=replace(bench.spec, parents={"PARENT": postgres.tag})).ensure()
    container = bench.engine.client.containers.run(seeded.tag, detach=True, network_mode="none")
    try:
        ready = ["bash", "-c", "until pg_isready -qh 127.0.0.1; do sleep 0.1; done"]
        container.exec_run(ready)

        def psql(user: str, query: str) -> tuple[int, str]:
            argv = ["psql", "-h", "127.0.0.1", "-U", user, "-d", "shop", "-Atc", query]
            done = container.exec_run(argv)
            assert isinstance(done.output, bytes)
            return int(done.exit_code or 0), done.output.decode().strip()

        assert psql("shop", "SELECT count(*) FROM part") == (0, "2")
        assert psql("shop", "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = 'shop'") == (0, "f|t")
        code, said = psql("postgres", "SELECT 1")
        assert code != 0
        assert "rejects connection" in said
        assert psql("shop", "SHOW fsync") == (0, "off")
    finally:
        container.remove(v=True, force=True)
