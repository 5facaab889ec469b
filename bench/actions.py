"""Lessons held against commands and edits: warned where it should, and nowhere else.

    python -m bench.actions dev            the half that rules were written with, and its mistakes
    python -m bench.actions held_out       the half that is read once, over the lessons of both

Each lesson is stored as a hook learns it (the call that failed, quoted) or as a user tells it, in a
store of its own; each call is asked about as the hook does.
"""

import json
import sys
import tempfile
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh

_HERE = Path(__file__).resolve().parent
_HOME = "/home/ada"


def main() -> None:
    """Print the figures of one half."""
    held_out = sys.argv[1:] == ["held_out"]
    names = ["action_cases.json", *(["action_cases_held_out.json"] if held_out else [])]
    told = [json.loads((_HERE / name).read_text("utf-8")) for name in names]
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/ada"
        lessons = [lesson for each in told for lesson in each["lessons"]]
        for project in {lesson["project"] for lesson in lessons if lesson["project"]}:
            Path(project.replace(_HOME, root), ".git").mkdir(parents=True, exist_ok=True)
        with MemoryMesh(db_dir=Path(folder, "store"), embedder="none") as mesh:
            ids = {_stored(mesh, lesson, root): lesson["id"] for lesson in lessons}
            found = [(case, _warned(mesh, case, root, ids)) for case in told[-1]["cases"]]
    wanted = [(case, warned) for case, warned in found if case["lesson"]]
    quiet = [(case, warned) for case, warned in found if not case["lesson"]]
    hit = sum(case["lesson"] in warned for case, warned in wanted)
    wrong = sum(bool(warned) for _, warned in quiet)
    wrong += sum(bool(set(warned) - {case["lesson"]}) for case, warned in wanted)
    print(f"warned when it should: {hit} of {len(wanted)} ({hit / len(wanted):.1%})")
    print(f"warned wrongly: {wrong} of {len(found)} ({wrong / len(found):.1%})")
    if not held_out:
        for case, warned in found:
            if warned != ([case["lesson"]] if case["lesson"] else []):
                print(case, warned)


def _stored(mesh: MemoryMesh, lesson: dict[str, Any], root: str) -> str:
    """The id of a lesson that is stored as a hook or a user would."""
    ran = lesson["ran"] and (lesson["ran"].get("command") or lesson["ran"].get("file_path"))
    text = lesson["text"].replace(_HOME, root)
    context: Any = text
    if ran:
        context = {
            "situation": f"`{ran.replace(_HOME, root)}` failed",
            "error_pattern": lesson["id"],
            "oversight": "",
            "fix": "",
            "preventative_rule": text,
            "severity": "medium",
            "applicable_scope": lesson["id"],
        }
    project = (lesson["project"] or "").replace(_HOME, root) or None
    return mesh.lessons.record(context, scope=Scope(project=project)).memory_id


def _warned(mesh: MemoryMesh, case: dict[str, Any], root: str, ids: dict[str, str]) -> list[str]:
    folder = case["folder"].replace(_HOME, root)
    project = "/".join(folder.split("/")[: len(root.split("/")) + 1])
    found = mesh.lessons.about(
        case.get("command", "").replace(_HOME, root),
        file=case.get("file_path", "").replace(_HOME, root),
        folder=folder,
        scope=Scope(project=project),
    )
    return [ids[one.memory_id] for one in found]


if __name__ == "__main__":
    main()
