"""Notes that a coding agent keeps about the project it works in, as files that people review.

    pip install .
    cd your-project
    python coding_notes.py add "The API tests need a running Redis"
    python coding_notes.py find "what do the tests need?"
    python coding_notes.py correct ID "The API tests need Redis 7, started by: make redis"
    python coding_notes.py files          # writes .notes/*.md; commit them, edit them, run it again

Give an agent these four commands as tools. Notes of one project are not found in another.
"""

import sys
from pathlib import Path

from memory_mesh.mirror import Mirror
from memory_mesh.model import Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh

FOLDER = ".notes"


def add(notes: MemoryMesh, text: str) -> None:
    """Keep a note, unless it is there already."""
    receipt = notes.add(text, tags=["note"])
    print(receipt.id, receipt.outcome, sep="\t")


def find(notes: MemoryMesh, question: str) -> None:
    """Print the best notes, best first."""
    for hit in notes.search(question, limit=5):
        print(hit.id, hit.content, sep="\t")


def correct(notes: MemoryMesh, note: str, text: str) -> None:
    """Put a new text in the place of a note; `notes.history` still has the old one."""
    print(notes.update(note, text).id, "corrected", sep="\t")


def files(notes: MemoryMesh) -> None:
    """Write the notes as Markdown files, and take over what people edited in them."""
    mirror = Mirror(notes, FOLDER, updates="replace")
    report = mirror.run() if mirror.folder.is_dir() else mirror.init()
    print(mirror.folder.name, dict(report.counts), sep="\t")


def main() -> int:
    """Run one command."""
    command, *words = sys.argv[1:] or [""]
    commands = {"add": (add, 1), "find": (find, 1), "correct": (correct, 2), "files": (files, 0)}
    run, count = commands.get(command, (None, 0))
    if run is None or len(words) != count:
        print("usage: coding_notes.py add TEXT | find WORDS | correct ID TEXT | files")
        return 2
    with MemoryMesh() as mesh:
        project = mesh.care.projects.at(Path.cwd())
        try:
            run(mesh.view(scope=Scope(project=project.name if project else None)), *words)
        except MeshError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
