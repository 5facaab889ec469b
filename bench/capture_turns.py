"""What is stored of what users state in three hosts' sessions, and how much of it is wrong.

    python -m bench.capture_turns dev
    python -m bench.capture_turns fresh_2        held out: read to report it, not to tune on it

`dev`, `test` and `fresh` have been read, and choose what `fresh_2` judges.

bench/sets/capture was written before its writer had read a rule of capture. Each turn says what
should be found in a stored memory (`keep`), and what may be; anything else that is stored is wrong.
A candidate that waits for review is not stored: candidates are counted apart.
"""

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from memory_mesh.agents.hook.capture import captured
from memory_mesh.agents.sessions import Session
from memory_mesh.model import Channel, Memory, Status
from memory_mesh.sync import MemoryMesh

SETS = Path(__file__).parent / "sets" / "capture"


def measure(half: str) -> dict[str, Any]:
    """The figures of one half, and the texts behind them."""
    lines = (SETS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {
        name: [] for name in ("kept", "missed", "stored", "wrong", "waiting", "wrongly waiting")
    }
    for name, turns in groupby(map(json.loads, lines), lambda turn: turn["session"]):
        one = list(turns)
        with tempfile.TemporaryDirectory() as folder:
            memories = heard(Path(folder), name, one)
        _judge(one, memories, found)
    return found


def heard(folder: Path, name: str, turns: list[dict[str, Any]]) -> list[Memory]:
    """What capture leaves of one session."""
    with MemoryMesh(db_dir=folder, project="work", session=name, channel=Channel.HOOK) as mesh:
        session = Session.of(mesh.folder, turns[0]["host"], name)
        for turn in turns:
            events = [{"event": "UserPromptSubmit", "prompt": turn["prompt"]}]
            events += [
                {
                    "event": "PostToolUseFailure",
                    "tool_name": "Bash",
                    "tool_input": {"command": tool["command"]},
                    "error": tool["error"],
                }
                for tool in turn["tools"]
                if "error" in tool
            ]
            events.append({"event": "Stop", "last_assistant_message": turn["answer"]})
            for number, event in enumerate(events):
                captured(mesh, session, event, key=f"{turn['id']} {number}")
        captured(mesh, session, {"event": "SessionEnd"}, key=f"{name} end")
        return list(mesh.get_all(include=[Status.QUARANTINED], limit=1_000))


def _judge(turns: list[dict[str, Any]], memories: list[Memory], found: dict[str, Any]) -> None:
    """Holds the memories of a session against what its turns say of them."""
    stored = [one.text for one in memories if one.status is Status.ACTIVE]
    waiting = [one.text for one in memories if one.status is not Status.ACTIVE]
    wanted = [phrase for turn in turns for phrase in turn["keep"]]
    fine = [*wanted, *(phrase for turn in turns for phrase in turn["may"])]
    for phrase in wanted:
        found["kept" if _says(stored, phrase) else "missed"].append(phrase)
    for texts, all_of, wrong in (
        (stored, "stored", "wrong"),
        (waiting, "waiting", "wrongly waiting"),
    ):
        found[all_of] += texts
        found[wrong] += [text for text in texts if not any(_says([text], one) for one in fine)]


def _says(texts: list[str], phrase: str) -> bool:
    return any(phrase.casefold() in text.casefold() for text in texts)


def main(half: str) -> None:
    """Print the figures, and of the half that may be looked at what was missed and wrong."""
    found = measure(half)
    kept, wanted = len(found["kept"]), len(found["kept"]) + len(found["missed"])
    print(f"kept {kept} of {wanted}; wrong {len(found['wrong'])} of {len(found['stored'])} stored")
    print(f"wait for review {len(found['waiting'])}, wrongly {len(found['wrongly waiting'])}")
    for name in ("missed", "wrong", "waiting") if half == "dev" else ():
        print(name, *found[name], sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1])
