"""Files that are lost together: no memory goes with them, and they can be written again."""

import shutil

import pytest

from memory_mesh.mirror import Mirror
from memory_mesh.sync import MemoryMesh

FACT = "---\ntitle: Fact {0}\n---\n\nThe number of fact {0} is {0}.\n"


@pytest.fixture
def own(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", project="p") as mesh:
        yield mesh


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "project" / ".rawko" / "memories"


@pytest.fixture
def mirror(own, folder):
    made = Mirror(own, folder)
    made.init()
    for number in range(4):
        (folder / f"{number}.md").write_text(FACT.format(number))
    assert made.run().counts == {"added": 4}
    return made


def texts(folder):
    return sorted(path.read_text().split("---")[-1].strip() for path in folder.glob("*.md"))


FACTS = [f"The number of fact {number} is {number}." for number in range(4)]


@pytest.mark.parametrize("what", ["folder", "files", "all but a new note"])
def test_init_writes_lost_files_again(own, folder, mirror, what):
    if what == "folder":
        shutil.rmtree(folder.parent)
    else:
        for path in folder.glob("*.md"):
            path.unlink()
    new = what == "all but a new note"
    if new:
        (folder / "new.md").write_text(FACT.format("new"))
    report = mirror.init()
    assert report.counts == {"written": 4} | ({"added": 1} if new else {})
    assert set(texts(folder)) >= set(FACTS)
    assert len(own.get_all()) == 4 + new
    assert mirror.run().quiet


def test_init_of_a_folder_that_is_there_begins_nothing_anew(own, folder, mirror):
    (folder / "0.md").unlink()
    assert mirror.init().counts == {"deleted": 1}
    assert mirror.init().quiet


def test_nothing_is_deleted_if_all_known_documents_are_gone_whatever_is_new(own, folder, mirror):
    for path in folder.glob("*.md"):
        path.unlink()
    (folder / "new.md").write_text(FACT.format("new"))
    assert mirror.run().counts == {"added": 1, "notes": 1}
    assert mirror.run().counts == {"notes": 1}
    for number in range(8):
        (folder / f"more {number}.md").write_text(FACT.format(f"more {number}"))
    report = mirror.run()
    assert report.counts == {"added": 8, "notes": 1}
    assert "4 of 5 documents are gone" in report.notes[0].words
    assert "mirror init" in report.notes[0].words
    assert mirror.run(deletes=True).counts == {"deleted": 4}
    assert mirror.run().quiet


def test_a_document_that_came_back_may_be_deleted_alone(own, folder, mirror):
    for path in folder.glob("*.md"):
        path.rename(folder.parent / path.name)
    assert mirror.run().counts == {"notes": 1}
    for path in folder.parent.glob("*.md"):
        path.rename(folder / path.name)
    assert mirror.run().quiet
    (folder / "0.md").unlink()
    assert mirror.run().counts == {"deleted": 1}
