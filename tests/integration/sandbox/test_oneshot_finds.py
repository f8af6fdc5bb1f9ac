"""A command that a box's main process runs finds there what one by exec finds, and by no other tools."""

from __future__ import annotations

import pytest

from runner.errors import RigError
from runner.lab.check import ORACLE_CAPS
from runner.sandbox.box import ToolMissing
from runner.sandbox.engine import Engine
from runner.sandbox.images import ImageSpec, ensure
from runner.sandbox.oneshot import Work

from .conftest import HERE, Images, OpenPod
from .test_oneshot import LAY, archive, shot

pytestmark = pytest.mark.engine


def test_it_finds_what_a_command_by_exec_finds(open_pod: OpenPod, images: Images) -> None:
    kernel = "grep -E 'Uid|Groups|Cap|Sig(Blk|Ign|Cgt)|NoNew|Seccomp' /proc/self/status"
    look = f"env | sort; ulimit -a; {kernel}; umask; readlink /proc/$$/fd/0; ls /proc/$$/fd"
    argv = ["sh", "-c", look]
    box = shot(open_pod(), images.base, argv, cwd="/tmp", env={"X": "1"})
    by_exec = box.exec(argv, timeout_s=20, cwd="/tmp", env={"X": "1"})
    done = box.run(timeout_s=20)
    assert done.stdout.decode().splitlines() == by_exec.stdout.decode().splitlines()
    assert done.stderr == by_exec.stderr


def test_its_environment_is_the_one_of_a_command_by_exec(open_pod: OpenPod, images: Images) -> None:
    """Also where there are variables that a script would like to call its own, or that no shell passes on."""
    names = dict.fromkeys(
        ["mark", "size", "word", "folder", "program", "CDPATH", "IFS", "a.b", "1-c", "bench_mark"], "the box's"
    )
    work = Work(LAY, ["env"], "/tmp", {"X": "é漢\x81\x88 'q'\n$X", "size": "the command's"})
    box = open_pod().one_shot(images.base, work, env=names, caps=ORACLE_CAPS)
    box.lay_out(archive(hello=b""))
    by_exec = box.exec(work.argv, timeout_s=20, cwd=work.cwd, env=work.env)
    assert sorted(box.run(timeout_s=20).stdout.split(b"\n")) == sorted(by_exec.stdout.split(b"\n"))


def test_no_command_line_shows_its_variables(open_pod: OpenPod, images: Images) -> None:
    argv = ["sh", "-c", "cat /proc/[0-9]*/cmdline"]
    done = shot(open_pod(), images.base, argv, env={"X": "hid" + "den"}).run(timeout_s=20)
    assert b"/proc/" in done.stdout
    assert b"hidden" not in done.stdout


@pytest.mark.parametrize("name", ["cd", "if", "found", "hello", "folder"])
def test_a_name_that_only_a_shell_knows_is_no_program(open_pod: OpenPod, images: Images, name: str) -> None:
    work = Work(LAY + " && mkdir /work/folder", [name])
    box = open_pod().one_shot(images.base, work, env={"PATH": "/usr/bin:/bin:/work"}, caps=ORACLE_CAPS)
    box.lay_out(archive(hello=b""))
    with pytest.raises(ToolMissing):
        box.exec([name], timeout_s=20)
    with pytest.raises(ToolMissing, match=f"'{name}' could not be started"):
        box.run(timeout_s=20)


def test_no_file_that_was_laid_out_takes_the_place_of_its_tools(open_pod: OpenPod, images: Images) -> None:
    """Where the image's PATH leads into the tree."""
    script = "mkdir /work/bin; cd /work/bin; for name in head setsid env; do echo 'exit 0' >$name; chmod +x $name; done"
    work = Work(f"{LAY}; {script}", ["python3", "-c", "import sys; print('judged'); sys.exit(3)"])
    box = open_pod().one_shot(images.base, work, env={"PATH": "/work/bin:/usr/bin:/bin"}, caps=ORACLE_CAPS)
    box.lay_out(archive(hello=b""))
    done = box.run(timeout_s=20)
    assert (done.exit_code, done.stdout) == (3, b"judged\n")


def test_an_image_without_what_it_takes_is_no_result(engine: Engine, open_pod: OpenPod, images: Images) -> None:
    bare = ImageSpec(name="bench/test-bare", context=HERE / "bare", parents={"PARENT": images.base})
    tag = ensure(engine, bare, log=print).tag
    with pytest.raises(RigError, match=r"files could not be laid out: .*setsid"):
        shot(open_pod(), tag, ["true"]).run(timeout_s=20)
