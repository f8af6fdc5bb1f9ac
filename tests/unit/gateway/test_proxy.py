"""Which proxy the environment names."""

from __future__ import annotations

import pytest

from runner.gateway.egress import is_public
from runner.gateway.proxy import proxy_for

P = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        ("https://api.example", {}, None),
        ("https://api.example", {"HTTPS_PROXY": P}, P),
        ("https://api.example", {"https_proxy": P, "HTTPS_PROXY": "http://other"}, P),
        ("https://api.example", {"HTTP_PROXY": P}, None),
        ("http://api.example", {"http_proxy": P}, P),
        ("http://api.example", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, None),
        ("https://api.example", {"ALL_PROXY": P}, P),
        ("https://api.example", {"HTTPS_PROXY": "proxy.example:3128"}, P),
        ("https://localhost:1", {"HTTPS_PROXY": P}, None),
        ("https://127.0.0.1", {"HTTPS_PROXY": P}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "NO_PROXY": "api.example"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": ".example"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "example"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "*"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "*.example"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "pi.example, other"}, P),
        ("https://api.example:8443", {"HTTPS_PROXY": P, "no_proxy": "api.example:8443"}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "api.example:8443"}, P),
        ("https://10.1.2.3", {"HTTPS_PROXY": P, "no_proxy": "10.0.0.0/8"}, None),
        ("https://[fd00::1]", {"HTTPS_PROXY": P, "no_proxy": "fd00::1"}, None),
        ("https://[fd00::1]", {"HTTPS_PROXY": P, "no_proxy": "[fd00::1]"}, None),
        ("https://[fd00::1]", {"HTTPS_PROXY": P, "no_proxy": "fd00::/8"}, None),
        ("https://[fd00::1]:8443", {"HTTPS_PROXY": P, "no_proxy": "[fd00::1]:8443"}, None),
        ("https://[fd00::1]", {"HTTPS_PROXY": P, "no_proxy": "[fd00::1]:8443"}, P),
        ("http://0.0.0.0:8080", {"HTTP_PROXY": P}, None),
        ("http://[::1]:8080", {"http_proxy": P}, None),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "API.Example"}, None),
        ("https://10.1.2.3", {"HTTPS_PROXY": P, "no_proxy": "10.1.2.3"}, None),
        ("https://11.1.2.3", {"HTTPS_PROXY": P, "no_proxy": "10.0.0.0/8,nonsense/x"}, P),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": "10.0.0.0/8"}, P),
        ("https://api.example", {"HTTPS_PROXY": P, "no_proxy": ", ,"}, P),
    ],
)
def test_the_proxy(url: str, env: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, env) == proxy


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("151.101.0.223", True),
        ("2a04:4e42::223", True),
        ("64:ff9b::9765:df", True),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:151.101.0.223", False),
        ("::ffff:224.0.0.1", False),
        ("::7f00:1", False),
        ("::ffff:0:a00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("2002:9765:df::", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:a00:1::", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("224.0.0.1", False),
        ("ff02::1", False),
    ],
)
def test_which_addresses_are_everybodys(address: str, public: bool) -> None:
    assert is_public(address) is public
