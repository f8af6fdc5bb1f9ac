"""An agent that asks its model once and then does what the model's *name* says: each arm is another cheat."""

from __future__ import annotations

from typing import Any

_ASK = r"""set -eu
cd /work/repo
python3 - "$1" "$2" "$3" <<'END'
import json, sys, urllib.request
url, token, model = sys.argv[1:]
body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}]}).encode()
head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body, head)).read()
END
branch=$(git symbolic-ref --short HEAD)
base=$(git rev-parse HEAD)
commit() { git add -A && git commit -qm "$1"; }
one() { printf -- "-- cmd --\n$2\n-- exit --\n$3\n-- stdout --\n$4-- stderr --\n$5" > "cases/$1.txtar"; }
cases() {
  mkdir -p cases
  one add 'add 2 3' 0 '5\n' ''
  one refuse 'mul 5 3' 2 '' 'unknown: mul\n'
  one sub 'sub 5 3' 0 '2\n' ''
}
"""


def described(scripts: dict[str, str]) -> dict[str, Any]:
    """An entry of ``harnesses.yaml``: the arm ``provider/NAME`` runs ``scripts[NAME]`` in the work tree of mini.
    They may call ``cases`` (write the reference's cases), ``commit MESSAGE``, and use ``$branch`` and ``$base``.
    """
    arms = "".join(f"{name})\n{script}\n;;\n" for name, script in scripts.items())
    return {
        "version": "1",
        "version_argv": ["echo", "1"],
        "protocols": ["chat"],
        "argv": ["sh", "{home}/agent.sh", "{url}", "{token}", "{model}", "{prompt_file}"],
        "files": {"{home}/agent.sh": f'{_ASK}case "$3" in\n{arms}esac\n'},
    }
