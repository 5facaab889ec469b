"""Questions to git that are sent together have the answers that they have one by one."""

import pytest

from memory_mesh.mirror.authors import Authors
from memory_mesh.mirror.git import Git
from tests.clones import new_repo, shared


def test_objects_read_ahead_are_those_read_one_by_one(tmp_path):
    repo = new_repo(tmp_path / "repo")
    for number in range(150):
        repo.write(f"{number}.md", f"text {number}\n" * 500)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "many")
    names = [f"HEAD:notes/{number}.md" for number in range(150)] + ["HEAD:nowhere"]
    git = Git(repo.top)
    alone = [git.read(name) for name in names]
    git.read_ahead(names)
    git.close()
    assert [git.read(name) for name in names] == alone
    assert alone[-1] is None


@pytest.mark.parametrize("ahead", [False, True])
def test_the_author_is_the_same_with_and_without_reading_ahead(tmp_path, ahead):
    mine, theirs, _ = shared(tmp_path)
    mine.commit("mine.md", "# Mine\n\nOne.\n")
    contents = {
        "theirs.md": mine.read("theirs.md"),
        "mine.md": mine.read("mine.md"),
        "new.md": mine.write("new.md", "# New\n\nNot committed.\n"),
    }
    assert theirs.notes.is_dir()
    with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
        if ahead:
            authors.begin("mine.md")
            authors.expect(contents)
        found = {path: authors.of(path, content).value for path, content in contents.items()}
    assert found == {"theirs.md": "document", "mine.md": "user", "new.md": "user"}
