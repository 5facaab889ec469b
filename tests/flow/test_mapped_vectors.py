"""The vector file of large spaces: exact answers from it, and right ones whatever becomes of it."""

import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from io import FileIO
from pathlib import Path
from random import Random

import numpy as np
import pytest

from memory_mesh import care
from memory_mesh.learn.health import checkup
from memory_mesh.ledgers.shared import exact_scan
from memory_mesh.ledgers.sqlite import file_scan, ledger as sqlite_ledger, vector_file
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model.stats import OUTGROWN
from memory_mesh.testing import FrozenClock
from tests.faults import vector_files as suite
from tests.faults.processes import call
from tests.faults.vector_files import (
    DIMENSION,
    NAMESPACE,
    agree,
    compared,
    database,
    filled,
    near,
    nearest,
    opened,
    vector,
    vector_path,
)

ROOT = Path(__file__).resolve().parents[2]
TEXTS, SUITE_TEXTS = 2_200, 2_100
_READS_ONLY = """
import sys
from pathlib import Path
from tests.faults.vector_files import agree, compared, nearest, vector, vector_path
from tests.read_only import cannot_be_written
folder = Path(sys.argv[1])
asked = vector("read only")
wanted = compared(folder, asked)
cannot_be_written(folder)
assert agree(nearest(folder, asked), wanted)
print(vector_path(folder).exists())
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A store whose vectors are in a file."""
    folder = tmp_path_factory.mktemp("grown") / "store"
    filled(folder, TEXTS)
    nearest(folder, vector("the first search makes the file"))
    assert header(folder).rows == TEXTS
    return folder


@pytest.fixture(scope="module")
def before_a_search(tmp_path_factory):
    """A store as the suite of faults fills one; no file has its vectors yet."""
    folder = tmp_path_factory.mktemp("suite") / "store"
    filled(folder, SUITE_TEXTS)
    return folder


@pytest.fixture
def _filled_once(before_a_search, monkeypatch):
    """The suite gets a copy of one store, not a new one for each of its parts."""

    def copied(folder, texts):
        assert texts == SUITE_TEXTS
        shutil.copytree(before_a_search, folder)
        return database(folder)

    monkeypatch.setattr(suite, "filled", copied)


@pytest.fixture
def store(grown, tmp_path):
    return Path(shutil.copytree(grown, tmp_path / "store"))


def header(folder):
    with FileIO(vector_path(folder)) as file:
        found = vector_file.header_of(file)
    assert found is not None
    return found


def right(folder, what="is it right"):
    asked = vector(what)
    return agree(nearest(folder, asked), compared(folder, asked))


def altered(folder, statement, *values):
    with closing(sqlite3.connect(database(folder))) as db, db:
        db.execute(statement, values)


def test_answers_are_those_of_a_comparison_of_all_vectors(store):
    dice, ledger = Random(11), SqliteLedger(store, FrozenClock())
    with opened(store) as mesh:
        twins = [mesh.add(f"note {number} of the beginning, again") for number in range(5)]
        mesh.delete(twins[0].id or "")
    altered(store, "UPDATE vector SET data = ? WHERE number % 97 = 0", vector("as near as others"))
    vector_path(store).unlink()
    for round_ in range(60):
        asked = vector("as near as others" if round_ % 9 == 0 else f"question {dice.random()}")
        limit = dice.choice((1, 3, 10, 100, 1_000, 5_000))
        found, wanted = near(ledger, asked, limit), compared(store, asked, limit)
        assert [round(cosine, 5) for _, cosine in found] == [round(c, 5) for _, c in wanted]
        assert round_ % 9 == 0 or agree(found, wanted)
    ledger.close()


def test_a_small_store_has_no_file(tmp_path):
    filled(tmp_path / "small", 100)
    assert len(nearest(tmp_path / "small", vector("x"))) == suite.LIMIT
    assert vector_file.files(database(tmp_path / "small")) == []


def test_a_small_store_loads_no_module_for_files(tmp_path):
    filled(tmp_path / "small", 100)
    code = (
        "import sys; from pathlib import Path; from tests.faults import vector_files as suite; "
        "[sys.modules.pop(f'memory_mesh.ledgers.sqlite.{name}', None) "
        "for name in ('file_scan', 'vector_file')]; "
        "suite.nearest(Path(sys.argv[1]), suite.vector('x')); "
        "print('memory_mesh.ledgers.sqlite.file_scan' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "small")],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"


def test_what_was_just_written_is_found_before_the_file_has_it(store):
    before = header(store)
    with opened(store) as mesh:
        mesh.add("written a moment ago")
    found = nearest(store, vector("written a moment ago"), 1)
    assert found[0][1] > 0.999
    assert header(store) == before


def test_the_file_is_filled_up_when_it_is_far_behind(store, monkeypatch):
    monkeypatch.setattr(file_scan, "GROWN", 8)
    with opened(store) as mesh:
        mesh.add_many([f"later note {number}" for number in range(20)])
    assert right(store)
    assert header(store).rows == TEXTS + 20
    assert right(store)


def test_a_process_that_asks_often_holds_a_matrix_and_answers_the_same(store):
    ledger = SqliteLedger(store, FrozenClock())
    for number in range(sqlite_ledger.HELD_AFTER + 5):
        asked = vector(f"question {number}")
        assert agree(near(ledger, asked), compared(store, asked))
    assert [tail.rows for tail in ledger._tails._held.values()] == [TEXTS]
    with opened(store) as mesh:
        mesh.add("written after the matrix was loaded")
    assert near(ledger, vector("written after the matrix was loaded"), 1)[0][1] > 0.999
    ledger.close()


def test_two_spaces_have_two_files_and_do_not_mix(store):
    altered(
        store,
        "INSERT INTO space (name, provider, model, revision, dimension, max_tokens, normalised, "
        "query_prefix, text_prefix) VALUES ('other', 'a', 'b', 'c', ?, 9, 1, '', '')",
        DIMENSION,
    )
    altered(
        store,
        "INSERT INTO vector (text, space, part, seq, data) SELECT text, 2, 0, seq, ? FROM vector",
        vector("of another space"),
    )
    assert right(store, "of another space") is False  # `compared` knows one space
    found = nearest(store, vector("of another space"), 1)
    assert found[0][1] < 0.99


def test_vectors_with_odd_values_are_found_as_before(store):
    odd = [np.zeros(DIMENSION), np.full(DIMENSION, 1e-35), np.full(DIMENSION, 3.0)]
    for number, values in enumerate(odd, start=5):
        altered(
            store, "UPDATE vector SET data = ? WHERE number = ?",
            values.astype("<f4").tobytes(), number,
        )  # fmt: skip
    vector_path(store).unlink()
    assert right(store)
    assert right(store, "another question")


def test_the_nearest_among_given_vectors_are_those_of_the_ledger(store):
    ledger, dice = SqliteLedger(store, FrozenClock()), np.random.default_rng(4)
    asked = np.frombuffer(vector("among"), "<f4")
    with ledger._files.reading(NAMESPACE) as db:
        for many in (3, 600, 1_500, TEXTS):
            numbers = np.sort(dice.choice(TEXTS, many, replace=False)) + 1
            found = ledger._tails.among(db, (getattr(db, "life", ""), 1), asked, numbers, 10)
            scores = exact_scan.scored(db, 1, numbers.tolist(), asked).values()
            assert found[:10] == sorted(scores, reverse=True)[:10]
    ledger.close()


@pytest.mark.usefixtures("_filled_once")
def test_many_processes_find_what_they_wrote(tmp_path):
    report = suite.read_your_writes(tmp_path / "s", processes=4, rounds=40, seed=1)
    report.holds()
    assert report.figures["acknowledged"] == 40


@pytest.mark.usefixtures("_filled_once")
def test_a_file_that_is_cut_or_deleted_is_made_anew(tmp_path):
    suite.cut_or_deleted(tmp_path / "s", rounds=10, seed=2).holds()


@pytest.mark.usefixtures("_filled_once")
def test_a_flipped_bit_is_found_and_makes_nothing_wrong(tmp_path):
    suite.flipped(tmp_path / "s", rounds=3, seed=3).holds()


@pytest.mark.usefixtures("_filled_once")
def test_a_kill_while_the_file_is_made_leaves_a_right_one(tmp_path):
    suite.killed_fills(tmp_path / "s", rounds=2, seed=4).holds()


def test_a_forked_child_searches_as_its_parent_does(store):
    ledger = SqliteLedger(store, FrozenClock())
    asked = vector("before and after a fork")
    wanted = compared(store, asked)
    assert agree(near(ledger, asked), wanted)
    assert call(lambda: agree(near(ledger, asked), wanted))
    assert agree(near(ledger, asked), wanted)
    ledger.close()


def test_searches_leave_no_file_open(store):
    ledger = SqliteLedger(store, FrozenClock())
    near(ledger, vector("warm"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        near(ledger, vector(f"question {number}"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    ledger.close()


def test_the_file_of_another_store_is_not_believed(store, before_a_search, tmp_path):
    shutil.copytree(before_a_search, tmp_path / "other")
    nearest(tmp_path / "other", vector("x"))
    shutil.copyfile(vector_path(tmp_path / "other"), vector_path(store))
    assert right(store)
    assert header(store).identity != header(tmp_path / "other").identity


def test_a_file_from_after_a_restored_backup_is_not_believed(store, tmp_path, monkeypatch):
    monkeypatch.setattr(file_scan, "GROWN", 8)
    care.backup(store, tmp_path / "backups")
    with opened(store) as mesh:
        mesh.add_many([f"lost by the restore {number}" for number in range(30)])
    nearest(store, vector("x"))
    later = vector_path(store).read_bytes()
    (backup,) = (tmp_path / "backups").iterdir()
    care.restore(backup, store, replace=True)
    assert not vector_path(store).exists()
    vector_path(store).write_bytes(later)
    with opened(store) as mesh:
        mesh.add_many([f"other words after it {number}" for number in range(30)])
    assert right(store, "other words after it 7")
    assert right(store, "lost by the restore 7")
    assert vector_path(store).read_bytes() != later


def test_an_open_process_notices_a_restore(store, tmp_path):
    care.backup(store, tmp_path / "backups")
    ledger = SqliteLedger(store, FrozenClock())
    with opened(store) as mesh:
        mesh.add("gone with the restore")
    assert near(ledger, vector("gone with the restore"), 1)[0][1] > 0.999
    (backup,) = (tmp_path / "backups").iterdir()
    care.restore(backup, store, replace=True)
    asked = vector("gone with the restore")
    assert agree(near(ledger, asked), compared(store, asked))
    ledger.close()


def test_a_vector_that_left_the_ledger_is_no_answer(store):
    asked = vector("note 99 of the beginning")
    (version, cosine), *_ = nearest(store, asked, 1)
    assert cosine > 0.999
    altered(
        store,
        "DELETE FROM vector WHERE text = (SELECT text FROM version WHERE number = ?)",
        version,
    )
    assert agree(nearest(store, asked), compared(store, asked))


def test_in_a_folder_that_cannot_be_written_the_file_is_read_and_none_is_made(store, tmp_path):
    for kept in (True, False):
        folder = Path(shutil.copytree(store, tmp_path / f"copy {kept}"))
        if not kept:
            vector_path(folder).unlink()
        done = subprocess.run(
            [sys.executable, "-c", _READS_ONLY, str(folder)],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == (f"{kept}\n", 0), done.stderr


def test_a_full_disk_costs_no_answer(store):
    vector_path(store).unlink()
    asked = vector("a full disk")
    wanted = compared(store, asked)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
        ledger = SqliteLedger(store, FrozenClock())
        return [agree(near(ledger, asked), wanted) for _ in range(3)]

    assert call(limited) == [True, True, True]
    assert vector_path(store).stat().st_size <= 256
    assert right(store)


def test_deletion_and_a_move_leave_no_vector_file(store, tmp_path):
    other = Path(shutil.copytree(store, tmp_path / "other"))
    care.delete_namespace(other, NAMESPACE)
    assert not vector_path(other).exists()
    care.move_namespace(store, NAMESPACE, tmp_path / "moved")
    assert not vector_path(store).exists()
    assert right(tmp_path / "moved")


def test_the_file_is_for_its_owner_only_and_counted(store):
    assert vector_path(store).stat().st_mode & 0o077 == 0
    with opened(store) as mesh:
        assert mesh.stats().sizes.vectors == vector_path(store).stat().st_size


def test_a_product_is_that_of_the_whole_matrix():
    dice = np.random.default_rng(1)
    for rows, dimension in ((3, 4), (2_500, 384), (900, 1_536), (1, 500_000)):
        matrix = dice.normal(size=(rows, dimension)).astype("<f4")
        asked = dice.normal(size=dimension).astype("<f4")
        assert np.allclose(exact_scan.product(matrix, asked), matrix @ asked, rtol=1e-3, atol=1e-2)


def test_a_vector_has_the_same_cosine_among_any_others():
    dice = np.random.default_rng(2)
    matrix, asked = dice.normal(size=(300, 384)).astype("<f4"), dice.normal(size=384).astype("<f4")
    alone = [exact_scan.product(matrix[row : row + 1], asked)[0] for row in range(300)]
    for many in (2, 7, 31, 299):
        chosen = dice.choice(300, many, replace=False)
        assert exact_scan.product(matrix[chosen], asked).tolist() == [alone[row] for row in chosen]


def test_a_store_that_outgrew_the_scan_says_so(store, monkeypatch):
    with opened(store) as mesh:
        assert not mesh.search("note").explanation.outgrown
        monkeypatch.setattr("memory_mesh.model.stats.SCANNED_VECTORS", 2_000)
        assert mesh.search("another note").explanation.outgrown
        health = checkup(mesh._access(), mesh._now())
        assert OUTGROWN in [check.detail for check in health.checks if check.name == "vectors"]
        assert any(state.outgrown for state in mesh.stats().spaces)
