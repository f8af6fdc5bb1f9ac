"""What a command leaves running could still write its report: it is ended, and named, before anything is fetched."""

from __future__ import annotations

import time

from runner.sandbox.box import Box, BoxDead, ToolMissing

# A second of grace for what is just ending. Zombies write nothing, unless they have threads that run on.
_TRIES, _PAUSE_S = 10, 0.1
_LOOK = """
look() {
    for status in /proc/[0-9]*/status; do
        name= state= uid= threads=
        while IFS="$(printf '\\t')" read -r key value more; do
            case $key in
                Name:) name=$value ;; State:) state=${value%% *} ;;
                Uid:) uid=${more%%[!0-9]*} ;; Threads:) threads=$value; break ;;
            esac
        done 2>/dev/null <"$status" || continue
        [ "$uid" = "$1" ] || continue
        case $state in [ZX]) [ "$threads" -gt 1 ] || continue ;; esac
        echo "$name"
    done
}
tries=0
while [ -n "$(look "$1")" ] && [ $tries -lt 10 ]; do sleep 0.1; tries=$((tries + 1)); done
look "$1"
"""
_FULL = "(as many as may be)"
_STUBBORN = "(cannot be ended)"


def end_survivors(box: Box, user: str) -> tuple[str, ...]:
    """End every process of ``user`` (``uid:gid``); the names of those that did not end by themselves.

    Where they cannot be ended one by one, the box is: what it holds is then lost.
    """
    uid = user.partition(":")[0]
    try:
        names = _look(box, uid)
        if not names:
            return ()
        # As that user, to everybody at once: nothing can fork faster.
        box.exec(["sh", "-c", "kill -KILL -1"], timeout_s=20, user=user)
        if not _look(box, uid):
            return tuple(sorted(set(names)))
    except ToolMissing:  # no room for one more process
        names = [_FULL]
    except BoxDead:
        return (_STUBBORN,)
    box.kill()
    return tuple(sorted({*names, _STUBBORN}))


def _look(box: Box, uid: str) -> list[str]:
    outside = box.outside()
    names: list[str] | None = []
    for tries in range(_TRIES + 1):
        time.sleep(_PAUSE_S if tries else 0)
        names = outside.processes(int(uid))
        if not names:
            break
    return _look_inside(box, uid) if names is None else names


def _look_inside(box: Box, uid: str) -> list[str]:
    done = box.exec(["sh", "-c", _LOOK, "look", uid], timeout_s=20, user="0:0")
    if not done.ok:
        return [_FULL]
    return done.stdout.decode("utf-8", "backslashreplace").split("\n")[:-1]
