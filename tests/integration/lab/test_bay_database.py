"""One server for many checks: each finds the database as it was seeded, whatever the one before did to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.lab.bay import Bay
from runner.lab.check import Check, CheckResult
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.schema.entry import Command, ImageBuild, Service, Services

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bay, str]]:
    plain = load_benchmark(TESTS / "support" / "tiny" / "index.md", "tiny")
    mirror, baseline = Mirror.create(
        tmp_path_factory.mktemp("bay") / "mirror.git", plain.source, plain.entry.baseline
    )  # fmt: skip
    context = str(TESTS / "integration" / "sandbox" / "database")
    seeded = Service(image=ImageBuild(context=context), user="app", name="app", password="app")
    entry = plain.entry.model_copy(update={"services": Services(database=seeded)})
    with connect() as engine:
        kit = prepare_kit(engine, replace(plain, entry=entry), lambda line: None)
        kit = replace(kit, images={**kit.images, "benchmark": kit.images["postgres"]})  # it has psql
        with Bay(kit, mirror, "bay-database-test") as bay:
            yield bay, baseline


def run(lab: tuple[Bay, str], script: str) -> CheckResult:
    bay, baseline = lab
    return bay.run(Check(baseline, Command(argv=["sh", "-c", script], timeout_s=30)))


LOOK = "psql -X -A -t -c 'SELECT count(*) FROM pg_database' -c \"SELECT to_regclass('mine') IS NULL\""


def test_what_a_check_does_to_the_database_is_gone(lab: tuple[Bay, str]) -> None:
    first = run(lab, LOOK)
    assert first.exit_code == 0, first.stderr
    done = run(lab, "psql -X -c 'CREATE TABLE mine (x int)' -c 'CREATE DATABASE other' "
                    "-c \"ALTER ROLE app SET statement_timeout = '1ms'\"")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    after = run(lab, f"{LOOK} -c 'SHOW statement_timeout'")
    assert after.stdout == first.stdout + b"0\n", after.stderr


def test_a_database_that_was_dropped_or_is_held_open_comes_back(lab: tuple[Bay, str]) -> None:
    first = run(lab, LOOK)
    held = run(lab, "setsid psql -X -c 'SELECT pg_sleep(600)' >/dev/null 2>&1 & sleep 0.5; "
                    "psql -X -d template1 -c 'DROP DATABASE app WITH (FORCE)'")  # fmt: skip
    assert held.exit_code == 0, held.stderr
    assert run(lab, LOOK).stdout == first.stdout


QUIET = """psql -X -d template1 -c "SELECT lo_from_bytea(4242, 'x')" \\
    -c 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC'
psql -X -d postgres -c "SELECT lo_from_bytea(4242, 'x')" \\
    -c "ALTER ROLE app IN DATABASE postgres SET application_name='x'"
psql -X -d postgres -c 'ALTER DATABASE bench_seed ALLOW_CONNECTIONS true'
psql -X -d bench_seed -c 'CREATE TABLE mine ()'; true"""
# One expression asks for interrupts only when it is done.
STUBBORN = "+".join(f"length(power(x + {n}, 120000)::text)" for n in range(90))
LOUD = f"""psql -X -c 'ALTER DATABASE app IS_TEMPLATE true'
setsid psql -X -d postgres -c 'SELECT {STUBBORN} FROM (VALUES (9.123456789)) t (x)' >/dev/null 2>&1 & sleep 1"""
LEFT = """for db in postgres template1 app; do psql -X -A -t -d $db -c "SELECT count(*) FROM pg_largeobject_metadata" \\
-c 'SELECT count(*) FROM pg_default_acl' -c 'SHOW application_name' -c "SELECT to_regclass('mine') IS NULL" \\
-c "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"; done"""


@pytest.mark.parametrize("script", [QUIET, LOUD])
def test_what_outlives_a_dropped_database_is_gone_as_well(lab: tuple[Bay, str], script: str) -> None:
    """In the databases that everybody shares, in the sealed copy, in settings, or as a session that cannot be ended."""
    done = run(lab, script)
    assert done.exit_code == 0, done.stderr
    assert run(lab, LEFT).stdout.split() == [b"0", b"0", b"psql", b"t", b"1"] * 3


def test_a_server_that_lost_its_sessions_is_asked_again(lab: tuple[Bay, str]) -> None:
    """What a crash of one backend does to all: the runner's own session ends too."""
    first = run(lab, LOOK)
    bay, _ = lab
    server = bay._pod.database
    assert server is not None
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    argv = ["psql", "-h", "/var/lib/postgresql/data", "-U", "postgres", "-X", "-d", "template1", "-c", others]
    ended = server.exec(argv, timeout_s=20)
    assert ended.ok, ended.stderr
    assert run(lab, LOOK).stdout == first.stdout
    assert run(lab, LOOK).stdout == first.stdout
