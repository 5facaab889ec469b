"""The names that a machine knows of its user are read from text files, without running git."""

from memory_mesh.care import machine_names
from memory_mesh.care.machine_names import own_person
from memory_mesh.privacy.private_names import Person


def test_account_home_and_author_are_found(tmp_path):
    (tmp_path / ".gitconfig").write_text(
        '[core]\n\teditor = vim\n[user]\n\tname = "Alicja Kowalska" ; me\n\temail = a@b.example\n'
    )
    found = own_person({"USER": "akowalska", "HOME": str(tmp_path), "PWD": str(tmp_path)})
    assert found == Person(("akowalska",), ("Alicja Kowalska",), (str(tmp_path),))


def test_included_files_and_the_work_tree_are_read(tmp_path):
    home, tree = tmp_path / "home", tmp_path / "tree" / "deep"
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    tree.mkdir()
    home.mkdir()
    (tmp_path / "tree" / ".git" / "config").write_text("[user]\n name = Work Name\n")
    (home / ".gitconfig").write_text(
        '[include]\npath = more\n[includeIf "gitdir:~/x/"]\n\tpath = ~/other\n'
    )
    (home / "more").write_text("[user] name = First Name # comment\n[include]\npath = more\n")
    (home / "other").write_text("[author]\nname = Other Name\n")
    found = own_person({"HOME": str(home), "PWD": str(tree)})
    assert found is not None
    assert set(found.full_names) == {"First Name", "Other Name", "Work Name"}


def test_an_author_in_one_word_is_an_account(tmp_path):
    found = own_person({"HOME": "/", "GIT_AUTHOR_NAME": "jdoe42", "PWD": str(tmp_path)})
    assert found == Person(("jdoe42",))


def test_files_that_are_missing_huge_or_no_text_say_nothing(tmp_path):
    (tmp_path / ".gitconfig").write_bytes(b"[user]\n" + b"\xff\x00" * 10 + b"\n[")
    (tmp_path / "huge").write_text("#" * machine_names.MAX_BYTES + "\n[user]\nname = Too Late\n")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / ".gitconfig", tmp_path / "huge", tmp_path / "folder", tmp_path / "no"):
        variables = {"GIT_CONFIG_GLOBAL": str(path), "PWD": str(tmp_path)}
        assert own_person(variables) is None


def test_a_machine_that_knows_nobody_has_no_person(tmp_path):
    assert own_person({"PWD": str(tmp_path)}) is None
