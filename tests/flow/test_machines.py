"""Machines of one person in step through a shared folder: what travels, what is refused."""

import os
import shutil
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.machines import exchange, machine, records, segments
from memory_mesh.machines.fold import fold
from memory_mesh.machines.records import PutChange, Record, RecordHeader
from memory_mesh.model import InvalidInput, NotAllowed, Scope, SourceKind, Status, StoreError
from tests.faults.syncing_stores import Site, own_keys, paired

pytest.importorskip("nacl")


@pytest.fixture
def pair(tmp_path):
    with own_keys(tmp_path):
        yield paired(tmp_path, ("laptop", "desktop"))


def both(*sites: Site) -> None:
    for site in (*sites, *sites):
        site.sync()


def files(site: Site) -> list[Path]:
    return sorted(site.shared.glob("*.segment"))


def findings(site: Site) -> dict[str, str]:
    return dict(each.split(": ", 1) for each in site.sync().findings)


def test_what_a_memory_states_arrives_with_its_fields_and_its_past_stays_here(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        told = mesh.add(
            "The office moves to Oslo",
            tags=["move"],
            importance=0.8,
            occurred_at="2026-03-01T09:00:00Z",
            metadata={"team": "core"},
            claim={"subject": "office", "predicate": "located in", "value": "Oslo"},
            scope=Scope(project="relocation"),
        )
        mesh.add("The draft of the lease is old")
    both(laptop, desktop)
    with desktop.open() as mesh:
        (found,) = [m for m in mesh.get_all(across=["project"]) if m.id == told.id]
        assert (found.text, found.tags, found.importance) == (
            "The office moves to Oslo",
            ("move",),
            0.8,
        )
        assert found.extra["team"] == "core"
        assert found.scope.project == "relocation"
        assert found.claim is not None
        assert found.claim.value == "Oslo"
        assert found.occurred_at is not None
        assert found.source.kind is SourceKind.USER_IMPLICIT
    both(laptop, desktop)
    assert laptop.sync().sent == desktop.sync().sent == 0, "nothing comes back as news"


def test_an_edit_a_way_back_and_a_delete_travel(pair):
    laptop, desktop = pair
    (id_, (first, _)), *_ = desktop.state().items()
    for text in ("changed", first):  # back to what it said before is a change, too
        with desktop.open() as mesh:
            mesh.update(id_, text)
        both(desktop, laptop)
        assert laptop.state()[id_] == (text, "active")
    with laptop.open() as mesh:
        mesh.delete(id_)
    both(laptop, desktop)
    assert id_ not in desktop.state()
    with desktop.open() as mesh:
        mesh.restore(id_)
    both(desktop, laptop)
    assert laptop.state() == desktop.state()
    assert laptop.state()[id_] == (first, "active")


def test_concurrent_edits_wait_for_review_on_both_and_a_decision_counts_on_both(pair):
    laptop, desktop = pair
    id_ = next(iter(laptop.state()))
    for site in pair:
        with site.open() as mesh:
            mesh.update(id_, f"as edited on the {site.name}")
    both(*pair)
    state = laptop.state()
    assert state == desktop.state()
    (copy,) = (each for each, (_, status) in state.items() if status == "quarantined")
    assert {state[id_][0], state[copy][0]} == {
        "as edited on the laptop",
        "as edited on the desktop",
    }
    for site in pair:
        with site.open() as mesh:
            (conflict,) = mesh.review.conflicts()
            assert (conflict.new, conflict.existing) == (copy, id_)
    with desktop.open() as mesh:
        mesh.review.decide(copy, approve=False)
    both(desktop, laptop)
    assert laptop.state() == desktop.state()
    assert laptop.state()[copy][1] == "archived"
    with laptop.open() as mesh:
        assert not mesh.review.conflicts()


def test_a_delete_wins_over_an_edit_that_did_not_know_of_it(pair):
    laptop, desktop = pair
    id_ = next(iter(laptop.state()))
    with laptop.open() as mesh:
        mesh.update(id_, "an edit that comes later")
        mesh.update(id_, "and one more")
    with desktop.open() as mesh:
        mesh.delete(id_)
    both(laptop, desktop)
    assert laptop.state() == desktop.state()
    assert id_ not in laptop.state()


def test_what_one_machine_erased_the_other_erases_and_refuses_and_no_file_holds_it(pair):
    laptop, desktop = pair
    words = "The passport is in the blue folder"
    with laptop.open() as mesh:
        told = mesh.add(words)
    both(*pair)
    with desktop.open() as mesh:
        mesh.erase(str(told.id))
        mesh.add("a memory that is stored while the other is away")
    assert words in laptop.bodies(), "the other machine was away until now"
    both(desktop, laptop)
    for site in pair:
        assert words not in site.bodies()
        assert told.id not in site.state()
        with site.open() as mesh:
            assert mesh.add(words).outcome == "refused"
    assert not laptop.sync().findings


def test_words_that_were_erased_here_are_erased_where_they_were_stored_meanwhile(pair):
    laptop, desktop = pair
    words = "My locker has the number forty"
    with laptop.open() as mesh:
        mesh.erase(str(mesh.add(words).id))
    with desktop.open() as mesh:
        told = mesh.add(words)
    both(*pair, *pair)
    assert told.id not in desktop.state()
    assert told.id not in laptop.state()
    assert words not in desktop.bodies()


def test_words_that_one_machine_let_in_again_stay_there_and_wait_on_the_other(pair):
    laptop, desktop = pair
    words = "The printer is on floor two"
    with desktop.open() as mesh:
        erased = str(mesh.add(words).id)
    both(*pair)
    with desktop.open() as mesh:
        mesh.erase(erased)
    both(desktop, laptop)
    assert erased not in laptop.state()
    with laptop.open() as mesh:
        assert mesh.unforget(words)
        told = str(mesh.add(words).id)
    laptop.sync()
    first = desktop.sync()
    assert (first.refused, first.sent) == (1, 0), "it is kept out, and nothing is said against it"
    (line,) = desktop.sync().findings
    assert line.startswith(f"{told} is kept out: ")
    assert "erase --unforget" in line
    assert words not in (desktop.store / "sync" / "state.json").read_text()
    laptop.sync()
    assert laptop.state()[told] == (words, "active")
    assert told not in desktop.state()
    with desktop.open() as mesh:
        assert mesh.unforget(words)
    assert desktop.sync().findings == ()
    assert laptop.state() == desktop.state()
    with desktop.open() as mesh:
        mesh.erase(told)
    both(desktop, laptop)
    assert told not in laptop.state(), "an erasure of that very memory counts on both"


def test_words_that_were_let_in_stay_so_when_the_store_goes_on_under_a_new_origin(pair, tmp_path):
    laptop, desktop = pair
    words = "The printer is on floor two"
    with desktop.open() as mesh:
        mesh.erase(str(mesh.add(words).id))
    both(*pair)
    with laptop.open() as mesh:
        mesh.unforget(words)
        told = str(mesh.add(words).id)
    both(*pair)
    (laptop.store / "sync" / "state.json").unlink()
    both(*pair)
    assert laptop.state()[told] == (words, "active")
    with laptop.open() as mesh:
        assert mesh.add(words).outcome != "refused"


def test_the_same_words_on_two_machines_become_one_memory(pair):
    stored = []
    for site in pair:
        with site.open() as mesh:
            stored.append(str(mesh.add("The printer is on the third floor").id))
    both(*pair, *pair)
    for site in pair:
        assert [site.state()[id_][1] for id_ in stored] == ["active", "superseded"]


def _altered(path: Path, _: Site) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def _cut(path: Path, _: Site) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def _unsigned(path: Path, by: Site) -> None:
    """Somebody who can read it signs another change with a key of their own."""
    with by.open() as mesh:
        key = segments.MachineKey((os.urandom(32),))
        name = segments.NAMED.fullmatch(path.name)
        assert name is not None
        header = RecordHeader(name[1], int(name[2]), "", 9, key.public, {}, ())
        put = PutChange("default", "mem_1_aaaaaa", "2026-01-01T00:00:00+00:00", "active", {})
        made = segments.made(key, header, [])
        assert put.place
        readers = [exchange.status(mesh.care._sync_site()).key]
        public = [segments.read_key_text(each)[1] for each in readers]
    path.write_bytes(segments.sealed(made, public))


def _another(path: Path, by: Site) -> None:
    """A record under the name of one that follows it."""
    first = next(each for each in files(by) if each.name[:16] == path.name[:16])
    shutil.copy(first, path)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (_altered, "it was altered"),
        (_cut, "it was altered, or is only a part"),
        (_unsigned, "not paired"),
        (_another, "under another name"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused_and_named_until_it_is_whole(pair, fault, said):
    laptop, desktop = pair
    with laptop.open() as mesh:
        mesh.add("what is on its way")
    before = set(files(laptop))
    laptop.sync()
    (new,) = set(files(laptop)) - before
    whole = new.read_bytes()
    fault(new, laptop if fault is _another else desktop)
    assert said in findings(desktop)[new.name]
    assert "what is on its way" not in {text for text, _ in desktop.state().values()}
    new.write_bytes(whole)
    assert findings(desktop) == {}
    assert "what is on its way" in {text for text, _ in desktop.state().values()}


def test_an_altered_file_is_counted_at_every_sync_though_it_was_taken_in_before(pair):
    laptop, desktop = pair
    both(*pair)
    path = files(laptop)[0]
    whole = path.read_bytes()
    _altered(path, laptop)
    for _ in range(2):
        report = desktop.sync()
        assert report.altered == 1
        assert any(path.name in each for each in report.findings)
    path.write_bytes(whole)
    assert desktop.sync().altered == 0


def test_records_in_another_order_wait_and_what_is_missing_is_named(pair, tmp_path):
    laptop, desktop = pair
    before = set(files(laptop))
    for text in ("first", "second"):
        with laptop.open() as mesh:
            mesh.add(text)
        laptop.sync()
    first, second = sorted(set(files(laptop)) - before)
    first.rename(tmp_path / "late")
    assert findings(desktop)[second.name] == f"it waits for {first.name}"
    shutil.copy(second, first)  # the second in the place of the first
    assert "under another name" in findings(desktop)[first.name]
    (tmp_path / "late").replace(first)
    assert findings(desktop) == {}
    assert laptop.state() == desktop.state()


def test_an_old_file_that_comes_back_changes_nothing_and_is_mended(pair):
    laptop, _ = pair
    with laptop.open() as mesh:
        told = mesh.add("to be erased soon")
    both(*pair)
    kept = {path: path.read_bytes() for path in files(laptop)}
    with laptop.open() as mesh:
        mesh.erase(str(told.id))
    both(*pair)
    for path, data in kept.items():
        path.write_bytes(data)
    both(*pair)
    for site in pair:
        assert "to be erased soon" not in site.bodies()
        assert told.id not in site.state()


def test_garbage_of_who_syncs_the_folder_is_ignored_and_named(pair):
    laptop, _ = pair
    conflicted = files(laptop)[0].with_name(f"{files(laptop)[0].stem} (conflicted copy).segment")
    shutil.copy(files(laptop)[0], conflicted)
    (laptop.shared / ".syncing.tmp").write_text("half")
    assert findings(laptop) == {conflicted.name: "it is no file of a machine, and is ignored"}


def test_a_machine_that_was_not_paired_reads_nothing_and_writes_nothing_here(pair, tmp_path):
    laptop, _ = pair
    stranger = Site("stranger", tmp_path / "stranger", laptop.shared)
    with stranger.open() as mesh:
        mesh.add("let me in")
        exchange.pair(mesh.care._sync_site(), laptop.shared, "stranger", [])
    said = findings(stranger)
    assert set(said.values()) >= {"it is not sealed for this machine yet"}
    assert len(stranger.state()) == 1
    unknown = [why for name, why in findings(laptop).items()]
    assert unknown == ["it is not sealed for this machine yet"]
    assert "let me in" not in str(laptop.state())


def test_a_revoked_machine_keeps_what_it_said_before_and_nothing_after(pair):
    laptop, desktop = pair
    with desktop.open() as mesh:
        mesh.add("said in time")
    both(*pair)
    with laptop.open() as mesh:
        exchange.revoke(mesh.care._sync_site(), "desktop")
    with desktop.open() as mesh:
        mesh.add("said too late")
    with pytest.raises(NotAllowed, match="revoked"):
        desktop.sync()
    laptop.sync()
    said = {text for text, _ in laptop.state().values()}
    assert "said in time" in said
    assert "said too late" not in said


def test_a_key_is_replaced_by_its_own_machine_and_the_other_goes_on(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        old = exchange.status(mesh.care._sync_site()).key
        exchange.revoke(mesh.care._sync_site(), "laptop")
        mesh.add("under the new key")
        assert exchange.status(mesh.care._sync_site()).key != old
    both(*pair)
    assert laptop.state() == desktop.state()
    assert "under the new key" in {text for text, _ in desktop.state().values()}


def test_files_of_a_key_that_is_not_paired_are_one_line_with_the_way_out(pair, tmp_path):
    laptop, desktop = pair
    third = Site("third", tmp_path / "third", laptop.shared)
    with third.open() as mesh:
        mine = exchange.pair(mesh.care._sync_site(), laptop.shared, "third", []).text
    for text in ("one", "two", "three"):
        with laptop.open() as mesh:
            mesh.add(text)
            exchange.pair(mesh.care._sync_site(), laptop.shared, None, [mine])
        laptop.sync()
    both(laptop, desktop)
    lines = third.sync().findings
    assert len(lines) == 2 < len(files(third)), "one for each machine"
    assert any("-* (" in line for line in lines)
    for line in lines:
        assert ": its machine is not paired with this one; " in line
        assert "sync join FOLDER --key KEY" in line
        assert "remove" in line


def test_a_file_of_a_key_that_is_known_to_be_revoked_is_not_to_be_paired(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        mesh.add("said by the laptop")
    laptop.sync()
    site = files(laptop)[0]
    with desktop.open() as mesh:
        own = machine.read(desktop.store, mesh.care._sync_site().environment)
    segment = segments.opened(site.read_bytes(), own.key)
    key = segment.record().header.key
    with pytest.raises(segments.KeyRevoked, match="revoked before"):
        segments.check_signature(segment, {}, {key})


def test_a_key_with_a_wrong_letter_and_a_short_code_are_refused(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        key = exchange.status(mesh.care._sync_site()).key
    wrong = key[:-5] + ("b" if key[-5] == "a" else "a") + key[-4:]
    with desktop.open() as mesh:
        for text in (wrong, "mm1-laptop-1234", "4711", key[:-1]):
            with pytest.raises(InvalidInput, match="not a whole key"):
                exchange.pair(mesh.care._sync_site(), desktop.shared, None, [text])
    assert segments.read_key_text(key.upper()) == segments.read_key_text(key), (
        "QR texts are capital"
    )


def test_a_folder_that_is_away_stops_a_sync_and_no_upkeep(pair):
    laptop, _ = pair
    shutil.move(laptop.shared, laptop.shared.with_name("away"))
    with pytest.raises(StoreError, match="is not there"):
        laptop.sync()
    with laptop.open() as mesh:
        mesh.add("stored all the same")
        mesh.care.upkeep()


def test_upkeep_syncs_and_does_nothing_where_nothing_is_new(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        mesh.add("by upkeep")
        mesh.care.upkeep()
    with desktop.open() as mesh:
        mesh.care.upkeep()
        assert "by upkeep" in {memory.text for memory in mesh.get_all()}
    before = {path: path.stat().st_mtime_ns for path in laptop.shared.iterdir()}
    for site in (*pair, *pair):
        with site.open() as mesh:
            mesh.care.upkeep()
    assert before == {path: path.stat().st_mtime_ns for path in laptop.shared.iterdir()}


def test_a_copy_and_a_restored_store_never_use_a_number_twice(pair, tmp_path):
    laptop, desktop = pair
    copy = Site("laptop", tmp_path / "copy", laptop.shared)
    shutil.copytree(laptop.store, copy.store)
    for site, text in ((laptop, "of the first"), (copy, "of the copy")):
        with site.open() as mesh:
            mesh.add(text)
    both(laptop, copy, desktop)
    assert laptop.state() == copy.state() == desktop.state()
    assert {"of the first", "of the copy"} <= {text for text, _ in laptop.state().values()}
    assert len({path.name[:25] for path in files(laptop)}) == 3, "three origins"


def test_a_record_holds_no_vector_and_no_word_in_clear(pair):
    laptop, _ = pair
    with laptop.open() as mesh:
        mesh.add("The secret garden is behind the mill")
    laptop.sync()
    assert "secret garden" in laptop.bodies()
    raw = b"".join(path.read_bytes() for path in files(laptop))
    assert b"garden" not in raw
    assert "vector" not in laptop.bodies()


def test_the_fold_of_records_knows_no_order():
    def put(seq: int, text: str, after: tuple[str, int, int] | None) -> Record:
        header = RecordHeader("aaaa", seq, "", seq, "k", {}, ("", ""))
        change = PutChange(
            "", "mem_1_a", "2026-01-01T00:00:00+00:00", "active", {"text": text}, after
        )
        return Record(header, (change,))

    made = [put(1, "one", None), put(2, "two", ("aaaa", 1, 0)), put(3, "three", ("aaaa", 1, 0))]
    assert fold(made) == fold(made[::-1])
    said = {each.put.said["text"]: each.put.status for each in fold(made).memories.values()}
    assert said == {"three": Status.ACTIVE, "two": Status.QUARANTINED}
    assert records.latest_clock(made) == 3


def test_a_user_that_is_deleted_on_one_machine_is_erased_on_the_other(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        mesh.for_user("ada").add("Ada likes trains")
    both(*pair)
    with desktop.open() as mesh:
        assert [each.text for each in mesh.for_user("ada").get_all()] == ["Ada likes trains"]
        mesh.delete_user("ada")
    both(desktop, laptop)
    for site in pair:
        with site.open() as mesh:
            assert not mesh.for_user("ada").get_all()
        assert "Ada likes trains" not in site.bodies()


def test_claims_that_contradict_each_other_wait_as_a_conflict_and_both_stay(pair):
    for site, city in zip(pair, ("Bern", "Rome"), strict=True):
        with site.open() as mesh:
            claim = {"subject": "head office", "predicate": "located in", "value": city}
            mesh.add(f"The head office is in {city}", claim=claim)
    both(*pair)
    for site in pair:
        assert {text for text, status in site.state().values() if status == "active"} >= {
            "The head office is in Bern",
            "The head office is in Rome",
        }
        with site.open() as mesh:
            assert len(mesh.review.conflicts()) == 1


def test_words_erased_under_a_key_that_was_rotated_since_are_refused_on_the_other(pair):
    laptop, desktop = pair
    with laptop.open() as mesh:
        mesh.erase(str(mesh.add("The alarm code is on the fridge").id))
    care.rotate_key(laptop.store)
    both(*pair)
    with desktop.open() as mesh:
        assert mesh.add("The alarm code is on the fridge").outcome == "refused"
    in_use = [keys.keys[-1] for keys in (care.key_state(site.store) for site in pair)]
    assert in_use[0] != in_use[1], "a key of another machine is asked for, not used"


def test_a_backup_that_is_restored_shows_what_is_newer_and_brings_nothing_back(pair, tmp_path):
    laptop, desktop = pair
    with laptop.open() as mesh:
        old = [str(mesh.add(f"thing {number}").id) for number in range(3)]
    both(*pair)
    kept = care.backup(laptop.store, tmp_path / "backups").folder
    with desktop.open() as mesh:
        mesh.update(old[0], "thing 0 as it is today")
        mesh.delete(old[1])
        mesh.erase(old[2])
    both(*pair)
    care.restore(kept, laptop.store, replace=True)
    with laptop.open() as mesh:
        mesh.add("added after the restore")
    both(*pair)
    assert laptop.state() == desktop.state()
    assert laptop.state()[old[0]] == ("thing 0 as it is today", "active")
    assert not {old[1], old[2]} & laptop.state().keys()
    assert "added after the restore" in {text for text, _ in desktop.state().values()}
