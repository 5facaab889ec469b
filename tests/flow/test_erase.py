"""Erase: what goes with a word, a subject or a user, what stays out, and what the receipt says."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_mesh import care
from memory_mesh.care import erase
from memory_mesh.model import Outcome, Status, Wanted
from memory_mesh.model.care import ErasureState
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.audit_entries import Change, decided, turned
from tests.flow.executions import learnings, record_login


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as opened:
        yield opened


def added(mesh, *texts):
    return [mesh.add(text).id for text in texts]


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("私は東京で働いています", "私は 東京で　働いて います。"),
        ("我在柏林的办公室工作", "我 在 柏林 的 办公室 工作"),
        ("ที่ทำงานปิดหกโมง", "ที่ทำงาน ปิด หกโมง"),
        ("我在 Berlin 工作", "我在Berlin工作"),
        ("The code of the door is ABC 123", "the code of the door is ＡＢＣ　１２３"),
        ("We write C++ here", "«we WRITE  c ++ here»!"),
        ("The rebate is 5% now", "The rebate is 5 % now"),
        ("The tank holds 1,000 kg of oil", "the tank holds 1,000kg of oil"),
        ("The office closes at six", "> **The office** closes, at `six`"),
        ("The office closes at six", "# The office closes at six?!"),
    ],
)
def test_erased_words_stay_out_in_another_case_spacing_and_punctuation(mesh, text, again):
    mesh.erase(*added(mesh, text))
    assert [mesh.add(each).outcome for each in (text, again)] == [Outcome.REFUSED] * 2
    assert mesh.unforget(again)
    assert mesh.add(text).outcome is Outcome.STORED


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("We write C++ here", ["We write C# here", "We write C here"]),
        ("We use .NET here", ["We use NET here"]),
        ("The freezer is at -5 degrees", ["The freezer is at 5 degrees"]),
        ("The version is 3.5", ["The version is 35", "The version is 3 5"]),
        ("The rebate is 50% now", ["The rebate is 50 now"]),
        ("私は東京で働いています", ["私は京都で働いています"]),
    ],
)
def test_words_that_differ_by_a_sign_that_is_part_of_them_are_others(mesh, text, others):
    first, *rest = added(mesh, text, *others)
    assert mesh.erase(first).ids == (first,)
    assert [memory.id for memory in mesh.get_all()] == rest[::-1]
    assert all(mesh.add(f"{other} too").outcome is Outcome.STORED for other in others)
    mesh.delete(rest[0])
    assert mesh.add(others[0]).outcome is not Outcome.REFUSED


def test_a_subject_is_known_by_longer_names_and_as_what_a_claim_says(mesh):
    about = added(
        mesh, "Dagny likes tea", "Dagny Berg works in Oslo", "Bob reports to Dagny",
        "Carol reports to Dagny Berg",
    )  # fmt: skip
    added(mesh, "Dagobert works in Oslo", "The dagny server is slow", "We told Dagny the code")
    planned = mesh.erase(subject="Dagny", dry_run=True)
    assert (planned.state, sorted(planned.memories)) == (ErasureState.PLANNED, sorted(about))
    assert sorted(mesh.erase(subject="dagny").ids) == sorted(about)
    left = {memory.text for memory in mesh.get_all()}
    assert left == {"Dagobert works in Oslo", "The dagny server is slow", "We told Dagny the code"}


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_user_that_there_is_not_is_not_found(mesh, dry_run):
    with pytest.raises(NotFound, match="nobody"):
        mesh.erase(user="nobody", dry_run=dry_run)


def test_the_receipt_for_a_user_says_how_many_bytes_were_searched(mesh, tmp_path):
    added(mesh.for_user("ada"), "The canary zqcanary1234567890 sings in the shed")
    added(mesh, "Tea is served at four")
    other = tmp_path / "store" / "agents" / "sessions" / "someone.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text('{"notice": "The canary zqcanary1234567890 sings in the shed"}\n')
    done = mesh.erase(user="ada")
    assert (done.state, done.searched > 0) == (ErasureState.DONE, True)
    assert any(str(other) in left for left in done.left)
    holding = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert [path for path in holding if b"zqcanary" in path.read_bytes()] == [other]


def test_a_learning_is_made_anew_of_the_traces_that_are_left(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        ids = record_login(mesh, 6)
        mesh.care.run_jobs(["consolidate-traces"])
        (before,) = mesh.get_all(filter="label = 'learning'")
        gone = mesh.erase(ids[0])
        assert gone.derived == (before.id,)
        assert not learnings(mesh)
        (report,) = mesh.care.run_jobs(["consolidate-traces"])
        assert [step.action for step in report.steps].count("learn") == 1
        (again,) = mesh.get_all(filter="label = 'learning'")
        assert {link.target for link in mesh.graph.links(again.id)} == set(ids[1:])
        assert ids[0] not in again.text
        assert mesh.care.verify().ok


def test_originals_of_a_digest_are_back_when_it_goes_with_one_of_them(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        ids = [mesh.add(f"Lamp {n} of the harbour is lit").id or "" for n in range(3)]
        digest = mesh.add("Lamps of the harbour are lit", kind="digest", derived_from=ids).id
        with mesh._opened().ledger.read("default") as snapshot:
            held = snapshot.standing(Wanted(ids=tuple(ids)))
        archive(mesh, held)
        assert [memory.id for memory in mesh.get_all()] == [digest]
        assert mesh.erase(ids[0]).derived == (digest,)
        assert {memory.id for memory in mesh.get_all()} == set(ids[1:])
        assert mesh.care.verify().ok


def archive(mesh, held):
    """Archives memories as the job does that makes a digest of them."""
    why = Change("archive", "a digest says it in fewer words")

    def decide(standing):
        changed = [
            (turned(each, Status.ARCHIVED, standing), why) for each in held.memories.values()
        ]
        return decided(mesh._access(), standing, changed)

    mesh._opened().ledger.commit("default", Wanted(), decide)


def test_a_link_in_the_place_of_a_needles_file_is_not_followed(mesh, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("what somebody keeps")
    (ids,) = [added(mesh, "Tea is served at four")]
    link = tmp_path / "store" / "namespaces" / f"default{erase.NEEDLES}erase_1_abcdef"
    link.symlink_to(mine)
    assert mesh.erase(ids[0]).done
    assert mine.read_text() == "what somebody keeps"
    assert not link.is_symlink()


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir], ids=["a pipe", "a folder"])
def test_an_erasure_file_that_is_none_is_named_and_nobody_waits(mesh, tmp_path, made):
    mesh.erase(added(mesh, "Tea is served at four")[0])
    added(mesh, "Soup is served at noon")
    path = tmp_path / "store" / "erasures"
    path.unlink()
    made(path)
    with pytest.raises(StoreError, match="it is no file"):
        care.backup(tmp_path / "store", tmp_path / "backups")
    assert mesh.search("soup")


def test_erasures_at_the_same_time_each_have_their_receipt(tmp_path):
    """One may end what another one has hidden; each says what it took."""
    with MemoryMesh(tmp_path, embedder="none") as one, MemoryMesh(tmp_path, embedder="none") as two:
        ids = [one.add(f"The colour of door {number} is kept here").id or "" for number in range(8)]
        with ThreadPoolExecutor(2) as pool:
            calls = [
                pool.submit(mesh.erase, id_) for id_, mesh in zip(ids, (one, two) * 4, strict=True)
            ]
        receipts = [call.result() for call in calls]
    assert [told.memories for told in receipts] == [(id_,) for id_ in ids]
    assert len({told.id for told in receipts} - {""}) == len(ids)


def test_all_that_came_from_a_file_is_let_in_again_at_once(mesh, tmp_path):
    rows = tmp_path / "rows.jsonl"
    texts = ["The roof leaks over the stairs", "The gate needs a code"]
    rows.write_text("\n".join(f'{{"content": "{text}"}}' for text in texts))
    mesh.import_(rows)
    mesh.erase(source="rows.jsonl")
    refused = mesh.import_(rows)
    assert refused.outcomes == {"refused": 2}
    assert "memory-mesh erase --source rows.jsonl --unforget" in refused.reasons[0]
    with pytest.raises(NotFound, match=r"nothing was erased from the source 'others\.jsonl'"):
        mesh.unforget(source="others.jsonl")
    assert mesh.unforget(source="rows.jsonl")
    assert mesh.import_(rows).outcomes == {"stored": 2, "refused": 0}
    assert not mesh.unforget(source="rows.jsonl")


def test_what_one_erasure_of_an_id_took_is_let_in_by_its_source_and_by_nothing_else(mesh):
    kept = mesh.add("The shed is green", source_ref="a.md").id
    gone = mesh.add("The shed is blue", source_ref="b.md").id
    mesh.erase(gone)
    mesh.erase(kept)
    assert mesh.unforget(source="b.md")
    found = [mesh.add(text).outcome for text in ("The shed is blue", "The shed is green")]
    assert found == [Outcome.STORED, Outcome.REFUSED]


def test_words_and_a_source_are_not_given_together(mesh):
    for given in ({}, {"content": "tea", "source": "a.md"}):
        with pytest.raises(InvalidInput, match="the words, or the source"):
            mesh.unforget(**given)


def test_a_folder_of_notes_is_undone_and_let_in_as_a_whole(mesh, tmp_path):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "trips").mkdir()
    (vault / "trips" / "Lisbon.md").write_text("The tram stops at the old town.")
    (vault / "Bread.md").write_text("Bake the rye bread for 50 minutes.")
    mesh.import_(vault)
    other = mesh.add("The vaults are open", source_ref="vaults/x.md").id
    planned = mesh.erase(source="vault/trips", dry_run=True)
    assert len(planned.memories) == 1
    assert len(mesh.erase(source="vault").memories) == 2
    assert mesh.get(other) is not None
    reason = mesh.import_(vault).reasons[0]
    assert "memory-mesh erase --source vault/Bread.md --unforget" in reason
    assert mesh.unforget(source="vault/Bread.md")
    assert mesh.import_(vault).outcomes == {"stored": 1, "refused": 1}
    assert mesh.unforget(source="vault")
    assert mesh.import_(vault).outcomes["stored"] == 1


@pytest.mark.parametrize(
    ("erased", "let_in", "left"),
    [
        ("vault", "vault/trips/a.md", {"vault/trips/b.md", "vault/c.md"}),
        ("vault", "vault/trips", {"vault/c.md"}),
        ("vault/trips", "vault", set()),
        ("vault/trips/a.md", "vault/trips", set()),
    ],
)
def test_a_name_lets_in_what_was_taken_of_it_by_whatever_name(mesh, erased, let_in, left):
    refs = ("vault/trips/a.md", "vault/trips/b.md", "vault/c.md")
    said = [{"content": f"The words of {ref}", "source_ref": ref} for ref in refs]
    mesh.add_many(said)
    mesh.erase(source=erased)
    assert mesh.unforget(source=let_in)
    assert not mesh.unforget(source=let_in)
    with pytest.raises(NotFound, match="nothing was erased from the source 'vault/trip'"):
        mesh.unforget(source="vault/trip")
    again = zip(refs, mesh.add_many(said), strict=True)
    assert {ref for ref, receipt in again if receipt.outcome is Outcome.REFUSED} == left
