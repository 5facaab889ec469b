"""The Lance index keeps every promise of the contract, and some of its own."""

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from memory_mesh.base.installed import install_command
from memory_mesh.model import Body
from memory_mesh.model.errors import MissingExtra
from memory_mesh.models.lance import index as lance_index
from memory_mesh.models.lance.index import IndexFolder, LanceIndex
from tests.contract.index_contract import (
    SPACE,
    IndexContract,
    absorb,
    audience,
    clustered,
    near,
    source,
)
from tests.faults.sample import gated


class TestLanceIndex(IndexContract):
    """The suite over real Lance."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "a store" / "index"

    def open_index(self) -> LanceIndex:
        return LanceIndex(self.folder)

    def remove_files(self) -> None:
        shutil.rmtree(self.folder)


@pytest.fixture
def index(tmp_path: Path) -> LanceIndex:
    return LanceIndex(tmp_path)


def python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    """A process of its own that has loaded nothing yet."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_lance_is_not_loaded_before_it_is_needed(tmp_path):
    code = """
import sys
from pathlib import Path
from memory_mesh.models.lance.index import LanceIndex
index = LanceIndex(Path(sys.argv[1]))
assert index.hindrance() is None
index.drop("n", "s")
index.close()
print([name for name in ("lance", "pyarrow", "numpy") if name in sys.modules])
"""
    assert python(code, tmp_path).stdout == "[]\n"


def test_without_the_extra_there_is_no_body_and_the_command_is_named(tmp_path):
    code = """
import sys
from pathlib import Path
sys.modules["lance"] = None
from memory_mesh.model.errors import MissingExtra
from memory_mesh.models.lance.index import LanceIndex
from memory_mesh.model import Body
index, body = LanceIndex(Path(sys.argv[1])), Body(1, 1, 1)
print(index.near("n", "s", body=body, vector=bytes(4), limit=1), index.holds("n", "s", body))
print(index.hindrance())
try:
    index.absorb("n", "s", dimension=1, base=None, rows=lambda _: [])
except MissingExtra as error:
    print(error)
"""
    ran = python(code, tmp_path)
    assert ran.stdout.splitlines()[0] == "None False", ran.stderr
    assert ran.stdout.count(install_command("lance")) == 2


def test_the_missing_extra_says_what_it_is_for():
    assert str(MissingExtra.of("lance", "the index")).startswith("the index needs")


def test_lancedb_opens_what_we_write(index, tmp_path):
    """In a process of its own: it brings a second copy of the library."""
    vectors = clustered(300)
    absorb(index, vectors)
    place = IndexFolder(tmp_path, "n", SPACE)
    code = """
import sys
import lancedb
folder, name = sys.argv[1:]
table = lancedb.connect(folder).open_table(name)
rows = table.search([1.0] * table.schema.field("vector").type.list_size).limit(3).to_list()
print(table.count_rows(), table.schema.names, len(rows))
print(sorted(index.index_type for index in table.list_indices()))
"""
    ran = python(code, place.folder.parent, place.folder.stem)
    assert ran.stdout.splitlines() == [
        "300 ['number', 'vector', 'audience'] 3",
        "['Bitmap', 'IvfRq']",
    ], ran.stderr


FORKS = """
import os, signal, sys
from pathlib import Path
from memory_mesh.model.errors import NotAfterFork
from memory_mesh.models.lance.index import LanceIndex
from tests.contract.index_contract import SPACE, absorb, clustered, near

index, vectors = LanceIndex(Path(sys.argv[1])), clustered(300)
if sys.argv[2] == "used":
    body = absorb(index, vectors)
    assert near(index, body, vectors[4], 1)[0][0] == 5
child = os.fork()
if not child:
    signal.alarm(30)
    if sys.argv[2] == "used":
        question = vectors[4].tobytes()
        assert index.near("n", SPACE, body=body, vector=question, limit=1) is None
        assert not index.holds("n", SPACE, body)
        assert "spawn" in index.hindrance()
        try:
            absorb(index, vectors)
        except NotAfterFork:
            sys.exit(7)
    else:
        body = absorb(index, vectors)
        assert near(index, body, vectors[4], 1)[0][0] == 5
        sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
if sys.argv[2] == "used":
    assert near(index, body, vectors[4], 1)[0][0] == 5
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("before", ["used", "unused"])
def test_a_child_forked_after_use_does_without_and_one_forked_before_does_not(tmp_path, before):
    ran = python(FORKS, tmp_path, before)
    assert ran.stdout == "fine\n", ran.stderr


def test_only_one_owner_absorbs_and_the_other_keeps_its_base(index, tmp_path):
    vectors = clustered(300)
    base = absorb(index, vectors, last=100)
    with IndexFolder(tmp_path, "n", SPACE).owned(wait=False) as mine:
        assert mine
        assert absorb(index, vectors, base=base) == base
    assert absorb(index, vectors, base=base).rows == 300


def test_old_versions_go_when_their_time_is_over_but_never_the_base(tmp_path):
    vectors = clustered(900)
    index = LanceIndex(tmp_path, keep=timedelta(0))
    first = absorb(index, vectors, last=300)
    second = absorb(index, vectors, base=first, last=600)
    third = absorb(index, vectors, base=second, last=900)
    reader = LanceIndex(tmp_path)
    held = [reader.holds("n", SPACE, body) for body in (first, second, third)]
    assert held == [False, True, True]


def test_the_old_body_answers_while_and_after_it_is_built_anew(index):
    vectors = clustered(900)
    old = absorb(index, vectors, last=600)
    before = near(index, old, vectors[0], 10)

    def rows(number):
        assert near(index, old, vectors[0], 10) == before
        yield from source(vectors)(number)

    absorb(index, vectors, rows=rows)
    assert near(LanceIndex(index._folder), old, vectors[0], 10) == before


def test_what_a_killed_owner_left_is_cleaned_up(index, tmp_path):
    vectors = clustered(300)
    base = absorb(index, vectors, last=100)
    litter = IndexFolder(tmp_path, "n", SPACE).folder / "data" / "0123.lance"
    litter.write_bytes(b"half a file")
    absorb(index, vectors, base=base)
    assert not litter.exists()


HARMS = list(product(("data", "_indices", "_versions"), ("cut", "removed", "garbled")))


@pytest.mark.parametrize(("part", "harm"), gated(HARMS))
def test_a_damaged_body_is_no_body_and_is_built_anew(tmp_path, part, harm):
    """In a process of its own: what a library does with garbage is its own affair."""
    vectors = clustered(2_000)
    body = absorb(LanceIndex(tmp_path), vectors)
    for path in (IndexFolder(tmp_path, "n", SPACE).folder / part).rglob("*"):
        if path.is_file() and path.suffix != ".json":
            damage(path, harm)
    code = """
import sys
from pathlib import Path
from memory_mesh.models.lance.index import LanceIndex
from memory_mesh.model import Body
from tests.contract.index_contract import SPACE, absorb, clustered, near
vectors, body = clustered(2_000), Body(*map(int, sys.argv[2:]))
index = LanceIndex(Path(sys.argv[1]))
found = index.near("n", SPACE, body=body, vector=vectors[3].tobytes(), limit=5)
print(found is None or found[0][0] == 4)
body = absorb(index, vectors)
print(near(index, body, vectors[3], 5)[0][0])
"""
    ran = python(code, tmp_path, body.version, body.highest, body.rows)
    assert ran.stdout.split() == ["True", "4"], ran.stderr


def test_a_body_with_a_changed_bit_in_its_manifest_is_no_body(tmp_path):
    """Lance would believe it: rows are missing then, or the process ends."""
    vectors = clustered(500)
    body = absorb(LanceIndex(tmp_path), vectors)
    (path,) = (IndexFolder(tmp_path, "n", SPACE).folder / "_versions").glob(
        f"*{2**64 - 1 - body.version}*"
    )
    sound = path.read_bytes()
    for at in range(0, len(sound), 11):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 8]) + sound[at + 1 :])
        assert not LanceIndex(tmp_path).holds("n", SPACE, body)
    path.write_bytes(sound)
    assert LanceIndex(tmp_path).holds("n", SPACE, body)


def test_a_body_of_an_earlier_version_is_read_without_a_note_of_its_manifest(tmp_path):
    vectors = clustered(500)
    body = absorb(LanceIndex(tmp_path), vectors)
    (IndexFolder(tmp_path, "n", SPACE).folder / "manifest.sums").unlink()
    assert LanceIndex(tmp_path).holds("n", SPACE, body)


def test_a_body_without_audiences_answers_for_all_rows_and_is_made_anew(index, tmp_path):
    """Bodies of earlier versions know number and vector alone."""
    import lance

    vectors = clustered(500)
    absorb(index, vectors)
    place = IndexFolder(tmp_path, "n", SPACE)
    whole = lance.dataset(place.uri).to_table(columns=["number", "vector"])
    index.drop("n", SPACE)
    lance.write_dataset(whole, place.uri)
    old = Body(1, 500, 500)
    question = vectors[3].tobytes()
    ask = partial(index.near, "n", SPACE, vector=question, limit=1)
    assert ask(body=old) == [(4, pytest.approx(1.0))]
    assert ask(body=old, audiences=[audience(4)]) is None
    assert not index.holds("n", SPACE, old)
    body = absorb(index, vectors, base=old)
    assert index.holds("n", SPACE, body)
    assert ask(body=body, audiences=[audience(4)]) == [(4, pytest.approx(1.0))]


def test_audiences_in_a_row_are_told_as_a_range():
    assert lance_index.only(None) == ""
    assert lance_index.only([5, 3, 4, 9, 9, 7]) == (
        "audience IN (7, 9) OR (audience >= 3 AND audience <= 5)"
    )
    assert lance_index.only(range(100_000)) == "(audience >= 0 AND audience <= 99999)"
    assert lance_index.only(range(0, 2 * lance_index.MOST_AUDIENCES, 2)) is not None
    assert lance_index.only(range(0, 2 * lance_index.MOST_AUDIENCES + 2, 2)) is None


def damage(path: Path, harm: str) -> None:
    content = path.read_bytes()
    match harm:
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "removed":
            path.unlink()
        case _:
            middle = len(content) // 2
            path.write_bytes(content[:middle] + bytes(64) + content[middle + 64 :])


def test_a_source_is_read_in_the_thread_that_absorbs(index):
    """A SQLite connection belongs to one thread."""
    import threading

    threads = set()
    vectors = clustered(500)

    def rows(number):
        for batch in source(vectors)(number):
            threads.add(threading.get_ident())
            yield batch

    absorb(index, vectors, rows=rows)
    assert threads == {threading.get_ident()}
