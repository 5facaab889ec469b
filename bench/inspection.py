"""What `memory-mesh inspect` finds in a store of 1,000 memories with 200 planted flaws.

`python -m bench.inspection dev` names what it missed and what it named wrongly; `held_out` prints
numbers alone.
"""

import json
import sys
import tempfile
from pathlib import Path

from memory_mesh.evaluation.inspection import inspect
from tests.corpora import flawed_store


def main(half: flawed_store.Half) -> int:
    """Inspects one half and prints a line for each kind."""
    planted = flawed_store.store(half)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.jsonl"
        file.write_text("\n".join(flawed_store.lines(half)) + "\n", encoding="utf-8")
        project = flawed_store.project(Path(folder) / "project")
        done = inspect(str(file), project=project, now=flawed_store.NOW)
    ids = [planted_id(place, file_lines=planted.entries) for place in done.places]
    found = [(str(each.kind), frozenset(ids[n] for n in each.entries)) for each in done.findings]
    scores = flawed_store.scored(planted, found)
    print(f"{'kind':16} planted  found  wrong")
    for kind, score in scores.items():
        print(f"{kind:16} {score.planted:7} {score.found:6} {len(score.wrong):6}")
    every = scores.values()
    wrong = sum(len(score.wrong) for score in every)
    print(f"{'all':16} {flawed_store.FLAWS:7} {sum(each.found for each in every):6} {wrong:6}")
    if half == "dev":
        _explained(planted, found, scores)
    return 0


def planted_id(place: str, file_lines: tuple[flawed_store.Entry, ...]) -> str:
    """The id of the memory on a line of the file."""
    return file_lines[int(place.removeprefix("line ")) - 1].id


def _explained(
    planted: flawed_store.Store,
    found: list[tuple[str, frozenset[str]]],
    scores: dict[str, flawed_store.Score],
) -> None:
    texts = {each.id: each.text for each in planted.entries}
    for flaw in planted.flaws:
        if not any(kind == flaw.kind and flaw.ids <= ids for kind, ids in found):
            named = [kind for kind, ids in found if flaw.ids & ids]
            print("missed", flaw.kind, named, json.dumps([texts[id_] for id_ in flaw.ids]))
    for kind, score in scores.items():
        for ids in score.wrong:
            print("wrong", kind, json.dumps([texts[id_] for id_ in ids]))


if __name__ == "__main__":
    sys.exit(main("held_out" if sys.argv[1:] == ["held_out"] else "dev"))
