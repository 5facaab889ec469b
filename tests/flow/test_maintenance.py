"""The upkeep of memories: duplicates, contradictions, corroboration, digests, decay."""

import math
import threading
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bench.year import simulate
from memory_mesh.compat.neolata import hooks, memory_graph, memory_storage
from memory_mesh.learn.jobs import lifecycle as job
from memory_mesh.learn.rules import retention as lifecycle
from memory_mesh.model import Embedding, Kind, Memory, Source, SourceKind, Space, Standing, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.learning import LessonContext
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock, ScriptedLLM
from memory_mesh.write.rules.contradictions import contradicted
from tests.receipts import id_of

JOB = ["consolidate-memories"]
USER, AGENT = {"source": "user_explicit"}, {"source": "inference"}
MONTHS = timedelta(days=90)
BUDGET = {"subject": "project x", "predicate": "budget"}
Graph = memory_graph.MemoryGraph
State = list[tuple[object, ...]]
WORDS = Space("test", "words", "1", 128, 256)


class Words:
    """An embedder by words: two texts are similar as far as they share them."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One vector for each text."""
        return Embedding(WORDS, tuple((_vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""


def _vector(text: str) -> bytes:
    found = array("f", [0.0] * WORDS.dimension)
    for word in text.lower().replace(":", "").replace("!", "").split():
        found[zlib.crc32(word.encode()) % WORDS.dimension] += 1.0
    length = math.hypot(*found) or 1.0
    return array("f", [each / length for each in found]).tobytes()


def opened(folder: Path, clock: FrozenClock, **options: Any) -> Graph:
    return memory_graph.create_memory(
        db_dir=folder, clock=clock, custom_embedder=Words(), **options
    )


@pytest.fixture
def graph(tmp_path: Path, clock: FrozenClock) -> Iterator[Graph]:
    with opened(tmp_path / "graph", clock) as made:
        yield made


def fill(graph: Graph, clock: FrozenClock) -> dict[str, str]:
    """Something for each step to do, three months ago; ids by name."""
    mesh = graph._mesh
    mesh.review.register_predicates({"budget": {"cardinality": "multi"}})
    stored = {
        "blue": graph.store("kuro", "The staging cluster is called blue", tags=["a"],
                            provenance=AGENT | {"sourceId": "one"}),
        "again": graph.store("kuro", "The staging cluster is called: blue!", tags=["b"],
                             provenance=AGENT | {"sourceId": "two"}),
        "longer": graph.store("kuro", "The big staging cluster is called blue",
                              provenance=AGENT | {"sourceId": "three"}),
        "5k": graph.store("kuro", "budget 5k", claim=BUDGET | {"value": "5k"}, provenance=AGENT),
        "6k": graph.store("kuro", "budget 6k", claim=BUDGET | {"value": "6k"}, provenance=AGENT),
        "faint": graph.store("kuro", "a lamp stood there", importance="low", provenance=AGENT),
        "name": graph.store("kuro", "my name is Ann", importance="low", provenance=USER),
    }  # fmt: skip
    for zone in range(4):
        text = f"The deploy of the shop uses terraform in zone {zone}"
        stored[f"zone {zone}"] = graph.store("kuro", text, provenance=AGENT)
    mesh.review.register_predicates({"budget": {"cardinality": "single"}})
    clock.advance(MONTHS)
    return {name: id_of(receipt) for name, receipt in stored.items()}


def everything(graph: Graph) -> dict[str, Memory]:
    with graph._mesh._read() as snapshot:
        return {memory.id: memory for memory in snapshot.page(graph._whole(), 1_000, None)}


def state(graph: Graph) -> State:
    """All memories by what they say, without their ids and times."""
    found = everything(graph)
    return sorted(
        (
            memory.text,
            memory.status.value,
            memory.tags,
            memory.origins,
            memory.kind.value,
            found[memory.successor].text if memory.successor else None,
        )
        for memory in found.values()
    )


@pytest.mark.req("R-003-112")
@pytest.mark.req("R-003-031")
@pytest.mark.req("R-003-032")
def test_consolidate_makes_five_steps_in_the_order_of_the_document(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    done = graph.consolidate()
    assert [step.ids for step in done.deduplicated] == [(ids["again"],)]
    assert [step.ids for step in done.contradictions] == [(ids["5k"],)]
    assert [step.evidence for step in done.corroborated] == [(ids["longer"],)]
    assert [digest.source_ids for digest in done.compressed] == [
        tuple(ids[f"zone {zone}"] for zone in range(4))
    ]
    assert ids["faint"] in {step.ids[0] for step in done.pruned}
    assert lifecycle.STEPS == ("dedupe", "contradictions", "corroboration", "digest", "prune")
    report = graph._mesh._kept_up(
        lifecycle.Lifecycle(asked=True), graph._whole(), dry_run=True
    )  # the job runner's report tells the order of what is left to do: nothing
    assert report.steps == ()
    assert graph._mesh.care.verify().findings == ()


def test_the_steps_of_one_run_come_in_that_order(graph: Graph, clock: FrozenClock) -> None:
    fill(graph, clock)
    steps = graph._kept_up(lifecycle.Lifecycle(asked=True), None, dry_run=True)
    order = [lifecycle.STEPS.index(step.action) for step in steps]
    assert order == sorted(order)
    assert {*order} == {0, 1, 2, 3, 4}


def test_what_is_said_twice_gives_way_and_leaves_its_tags_and_origins(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    graph.consolidate()
    found = everything(graph)
    kept, gone = found[ids["blue"]], found[ids["again"]]
    assert (kept.tags, kept.origins, kept.status) == (("a", "b"), 3, Status.ACTIVE)
    assert (gone.status, gone.successor) == (Status.SUPERSEDED, kept.id)
    chain = graph.explain_supersession(kept.id).chain
    assert {memory.id for memory in chain} == {kept.id, gone.id}


@pytest.mark.parametrize(
    "other",
    [
        "The staging cluster is called red",
        "The staging cluster is not called blue",
        "The staging cluster 2 is called blue",
        "The production cluster is called blue",
    ],
)
def test_another_number_name_or_negation_is_no_duplicate_and_no_confirmation(
    graph: Graph, other: str
) -> None:
    graph.store("kuro", "The staging cluster is called blue", provenance={"sourceId": "one"})
    graph.store("kuro", other, provenance={"sourceId": "two"})
    done = graph.consolidate()
    assert done.deduplicated == done.corroborated == ()


def test_what_other_agents_say_is_never_merged(graph: Graph) -> None:
    graph.store("kuro", "The staging cluster is called blue")
    graph.store("maki", "The staging cluster is called: blue!")
    assert graph.consolidate().deduplicated == ()
    graph.store("kuro", "The staging cluster is called: blue!")
    assert graph.consolidate(agent="maki").deduplicated == ()
    assert len(graph.consolidate(agent="kuro").deduplicated) == 1


@pytest.mark.req("R-003-028")
def test_a_dry_run_reports_what_the_run_reports_and_changes_nothing(
    graph: Graph, clock: FrozenClock
) -> None:
    fill(graph, clock)
    before = state(graph)
    seq = graph._mesh.stats().seq
    weak = graph.decay(dry_run=True)
    planned = graph.consolidate(dry_run=True)
    assert state(graph) == before
    assert (weak, planned) == (graph.decay(dry_run=True), graph.consolidate(dry_run=True))
    assert graph._mesh.stats().seq - seq <= 1  # links that were waiting
    assert graph.consolidate() == planned
    assert state(graph) != before


@pytest.mark.req("R-003-028")
def test_decay_reports_the_same_dry(graph: Graph, clock: FrozenClock) -> None:
    ids = fill(graph, clock)
    planned = graph.decay(dry_run=True)
    assert ids["faint"] in planned.archived
    assert graph.decay() == planned
    assert graph.decay().archived == ()


def test_twice_is_once(graph: Graph, clock: FrozenClock) -> None:
    fill(graph, clock)
    graph.consolidate()
    graph._mesh.graph.clusters()  # the links of the digest are made
    once, seq = state(graph), graph._mesh.stats().seq
    again = graph.consolidate()
    assert again == type(again)((), (), (), (), ())
    assert graph.decay().archived == ()
    assert state(graph) == once
    assert graph._mesh.stats().seq == seq


class _Stopped(Exception):
    """Whoever runs the upkeep has something else to do."""


@pytest.mark.parametrize("slices", [1, 2, 3, 5, 7])
def test_stopped_after_any_slice_it_ends_the_same(
    tmp_path: Path, clock: FrozenClock, slices: int
) -> None:
    made = []
    for name in ("whole", "stopped"):
        own = FrozenClock(clock.now())
        with opened(tmp_path / name, own) as graph:
            fill(graph, own)
            mesh = graph._mesh
            mesh.care.upkeep(between=lambda: None)
            if name == "whole":
                mesh.care.run_jobs(JOB)
            else:
                stop = iter([*[False] * (slices - 1), True])
                with suppress(_Stopped):
                    mesh.care.run_jobs(JOB, progress=_stopping(stop))
                for _ in range(20):
                    (report,) = mesh.care.run_jobs(JOB, max_slices=1)
                    if report.complete:
                        break
                assert report.complete
            made.append(state(graph))
            assert mesh.care.verify().findings == ()
    assert made[0] == made[1]


def _stopping(stop: Iterator[bool]) -> Callable[[str, int], None]:
    def progress(_job: str, _steps: int) -> None:
        if next(stop, False):
            raise _Stopped

    return progress


@pytest.mark.req("R-002-008")
@pytest.mark.req("R-003-027")
@pytest.mark.req("R-003-115")
def test_decay_archives_what_is_weak_and_it_can_be_restored(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    report = graph.decay()
    assert report.deleted == ()
    assert report.reasons[ids["faint"]].startswith("strength 0.0")
    assert everything(graph)[ids["faint"]].status is Status.ARCHIVED
    assert ids["faint"] not in {hit.id for hit in graph.search("kuro", "a lamp")}
    mesh = graph._mesh
    assert mesh.restore(ids["faint"], scope=graph._reader(ids["faint"])).status is Status.ACTIVE
    assert ids["faint"] not in graph.decay().archived  # somebody brought it back


@pytest.mark.req("R-003-027")
def test_decay_counts_the_links_that_are_not_shown_any_more(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    graph._mesh.graph.link(ids["faint"], ids["name"], scope=graph._reader(ids["faint"]))
    assert [link.memory.id for link in graph.links(ids["name"])] == [ids["faint"]]
    report = graph.decay()
    assert (ids["faint"] in report.archived, report.broken_links) == (True, 1)
    assert graph.traverse(ids["name"]) == []


def test_what_has_faded_is_archived_in_the_callers_storage(clock: FrozenClock) -> None:
    storage = memory_storage()
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        gone = id_of(graph.store("kuro", "a lamp stood there", importance="low"))
        clock.advance(MONTHS)
        assert graph.decay().archived == (gone,)
        kept = storage.load("kuro")
        assert kept is not None
        assert kept["memories"] == []


def aged(**said: Any) -> Memory:
    now = FrozenClock().now()
    return Memory(id="mem_1_abcdef", text="a lamp", created=now, recorded_from=now, **said)


@pytest.mark.req("R-003-115")
@pytest.mark.parametrize(
    ("days", "said", "links", "expected"),
    [
        (0, {"importance": 1.0}, 0, 1.0),
        (30, {"importance": 0.8}, 0, 0.8 * 0.5 * 0.5**0.5),
        (60, {"importance": 0.8}, 0, 0.8 * 0.25 * 0.5),
        (3_650, {"importance": 1.0}, 0, 0.01),
        (3_650, {"importance": 1.0}, 2, 0.11),
        (3_650, {"importance": 1.0}, 100, 0.31),
        (3_650, {"importance": 1.0, "uses": 100}, 100, 0.51),
        (60, {"importance": 0.5, "kind": Kind.PREFERENCE}, 0, 0.5 * 0.25 * 0.5 * 1.4),
        (0, {}, 0, 0.7),
    ],
)
def test_strength_is_computed_as_stated(
    days: int, said: dict[str, Any], links: int, expected: float
) -> None:
    now = FrozenClock().now() + timedelta(days=days)
    assert lifecycle.strength(aged(**said), now, links) == pytest.approx(expected, abs=1e-5)


@given(
    days=st.integers(0, 4_000),
    weight=st.floats(0, 0.9),
    uses=st.integers(0, 20),
    links=st.integers(0, 20),
)
def test_a_vote_a_use_and_a_link_never_weaken(
    days: int, weight: float, uses: int, links: int
) -> None:
    now = FrozenClock().now() + timedelta(days=days)
    plain = aged(importance=weight, uses=uses)
    then = lifecycle.strength(plain, now, links)
    assert lifecycle.strength(aged(importance=weight + 0.1, uses=uses), now, links) >= then
    assert lifecycle.strength(aged(importance=weight, uses=uses + 1), now, links) >= then
    assert lifecycle.strength(plain, now, links + 1) >= then


TEXTS = (
    "the lamp is green",
    "The lamp is: green!",
    "the lamp is green",
    "we say the lamp is green",
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(TEXTS),
        st.booleans(),
        st.sampled_from(["user_explicit", "user_implicit", "inference", "document"]),
        st.sampled_from(["fact", "lesson", "preference"]),
        st.sampled_from([None, "5k", "6k"]),
    ),
    min_size=2,
    max_size=7,
)


@given(rows=ROWS)
def test_what_is_protected_is_never_touched(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    clock = FrozenClock()
    folder = tmp_path_factory.mktemp("graph")
    with opened(folder, clock) as graph:
        mesh = graph._mesh
        mesh.review.register_predicates({"budget": {"cardinality": "multi"}})
        for text, pinned, source, kind, value in rows:
            said = None if value is None else BUDGET | {"value": value}
            mesh.add(
                text, pinned=pinned, source_kind=source, kind=kind, claim=said, importance="low",
                allow_duplicate=True, source_ref=f"{source} {text}",
            )  # fmt: skip
            clock.advance(timedelta(minutes=1))
        mesh.review.register_predicates({"budget": {"cardinality": "single"}})
        clock.advance(timedelta(days=200))
        held = [each for each in everything(graph).values() if lifecycle.why_protected(each)]
        before = {memory.id: (memory, mesh.history(memory.id)) for memory in held}
        graph.consolidate(archive_originals=True)
        graph.auto_compress(archive_originals=True, min_cluster_size=2)
        graph.decay()
        after = everything(graph)
        for id_, (memory, versions) in before.items():
            assert after[id_] == memory
            assert mesh.history(id_) == versions


def test_a_lesson_and_what_a_person_let_in_stay(mesh: MemoryMesh, clock: FrozenClock) -> None:
    lesson = mesh.distill_lesson(
        LessonContext(
            situation="deploy",
            error_pattern="lock",
            oversight="none",
            fix="wait",
            preventative_rule="Wait for the lock",
            severity="high",
            applicable_scope="deploys",
        )
    )
    over = clock.now() + timedelta(days=7)
    waited = id_of(
        mesh.add("the lamp is green", source_kind="inference", quarantine="look", valid_until=over)
    )
    mesh.review.decide(waited, approve=True)
    clock.advance(timedelta(days=400))
    mesh.care.run_jobs(JOB)
    assert mesh.history(str(lesson.memory_id))[-1].status is Status.ACTIVE
    assert mesh.history(waited)[-1].status is Status.ACTIVE


def test_unasked_only_what_something_speaks_against_is_archived(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    old = id_of(mesh.add("a lamp stood there", source_kind="inference", importance="low"))
    over = id_of(
        mesh.add(
            "the sale ends soon",
            source_kind="inference",
            importance="low",
            valid_until=clock.now() + timedelta(days=7),
        )
    )
    clock.advance(timedelta(days=400))
    report = mesh.care.upkeep().jobs[-1]
    assert [(step.action, step.ids) for step in report.steps] == [("prune", (over,))]
    assert report.steps[0].about == "strength 0.00; it holds no more"
    assert mesh.history(old)[-1].status is Status.ACTIVE


@pytest.mark.req("R-003-077")
def test_upkeep_does_it_at_most_four_times_a_day(mesh: MemoryMesh, clock: FrozenClock) -> None:
    ran = []
    for hour in range(48):
        mesh.add(f"note {hour}")
        ran.append(mesh.care.upkeep().jobs[-1].ran)
        clock.advance(timedelta(hours=1))
    assert ran[:6] == [False] * 6
    assert sum(ran[:24]) <= 4
    assert sum(ran[24:]) == 4


@pytest.mark.req("R-003-072")
@pytest.mark.req("R-003-075")
def test_the_library_alone_schedules_nothing(graph: Graph, clock: FrozenClock) -> None:
    running = set(threading.enumerate())
    fill(graph, clock)
    before = state(graph)
    clock.advance(timedelta(days=30))
    graph.search("kuro", "staging cluster")
    assert [row[:4] for row in state(graph)] == [row[:4] for row in before]
    graph.consolidate()
    graph.decay()
    assert set(threading.enumerate()) <= running  # nothing waits for the next time


@pytest.mark.req("R-003-029")
@pytest.mark.req("R-003-030")
def test_compress_is_extractive_and_keeps_and_links_its_sources(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    (digest,) = graph.auto_compress(min_cluster_size=4)
    assert digest.category == "digest"
    assert set(digest.memory.replace(".", "").split()) <= set(
        " ".join(memory.text for memory in everything(graph).values()).split()
    )
    sources = {link.memory.id for link in graph.links(digest.id) if link.type == "derived_from"}
    assert sources == {ids[f"zone {zone}"] for zone in range(4)}
    assert {everything(graph)[id_].status for id_ in sources} == {Status.ACTIVE}
    assert everything(graph)[digest.id].extra["method"] == "extractive"
    assert graph.auto_compress(min_cluster_size=4) == []


@pytest.mark.req("R-003-029")
def test_compress_archives_originals_where_asked_but_not_protected_ones(
    graph: Graph, clock: FrozenClock
) -> None:
    ids = fill(graph, clock)
    graph._mesh.pin(ids["zone 0"], scope=graph._reader(ids["zone 0"]))
    assert graph.auto_compress(max_digests=1, min_cluster_size=4, archive_originals=True)
    found = everything(graph)
    gone = {zone for zone in range(4) if found[ids[f"zone {zone}"]].status is Status.ARCHIVED}
    assert gone == {1, 2, 3}


@pytest.mark.req("R-003-029")
def test_compress_and_consolidate_take_the_same_options(graph: Graph, clock: FrozenClock) -> None:
    ids = fill(graph, clock)
    for verb in (graph.auto_compress, graph.consolidate):
        for wrong in ({"max_digests": 0}, {"min_cluster_size": 0}, {"method": "guess"}):
            with pytest.raises(InvalidInput):
                verb(**wrong)
        verb(min_cluster_size=99)  # no cluster is as large
    zones = {ids[f"zone {zone}"] for zone in range(4)}
    assert {everything(graph)[id_].status for id_ in zones} == {Status.ACTIVE}
    assert graph.auto_compress(max_digests=1, archive_originals=True) != []
    assert {everything(graph)[id_].status for id_ in zones} == {Status.ARCHIVED}


def test_compress_by_the_model_and_without_one(tmp_path: Path, clock: FrozenClock) -> None:
    llm = ScriptedLLM(["The shop is deployed with terraform in four zones."])
    with opened(tmp_path / "one", clock, custom_llm=llm) as graph:
        fill(graph, clock)
        digests = graph.auto_compress(method="llm", min_cluster_size=4)
        assert [each.memory for each in digests] == [
            "The shop is deployed with terraform in four zones."
        ]
        assert digests[0].provenance.source is SourceKind.INFERENCE
        with pytest.raises(InvalidInput, match="extractive or llm"):
            graph.auto_compress(method="magic")
    with (
        opened(tmp_path / "two", clock) as graph,
        pytest.raises(InvalidInput, match="needs a language model"),
    ):
        graph.consolidate(method="llm")


@pytest.mark.req("R-003-100")
def test_decay_compress_and_consolidate_are_events(graph: Graph, clock: FrozenClock) -> None:
    ids = fill(graph, clock)
    heard: list[tuple[str, str]] = []
    for event in hooks.EVENTS:
        graph.on(event, lambda told: heard.append((told.event, told.memory.id)))
    graph.consolidate(dry_run=True)
    assert graph.wait_for_hooks()
    assert heard == []
    graph.consolidate()
    assert graph.wait_for_hooks()
    assert ("supersede", ids["again"]) in heard
    assert ("supersede", ids["5k"]) in heard
    assert ("consolidate", ids["blue"]) in heard
    assert ("decay", ids["faint"]) in heard
    assert [event for event, _ in heard].count("compress") == 1


def test_each_step_is_undone(graph: Graph, clock: FrozenClock) -> None:
    ids = fill(graph, clock)
    done = graph.consolidate()
    mesh = graph._mesh
    for step in done.pruned:
        mesh.restore(step.ids[0], scope=graph._reader(step.ids[0]))
    for name in ("again", "5k"):
        mesh.review.undo(ids[name], scope=graph._reader(ids[name]))
    found = everything(graph)
    assert {found[id_].status for id_ in ids.values()} == {Status.ACTIVE}
    again = graph.consolidate()
    assert (again.deduplicated, again.contradictions, again.pruned) == ((), (), ())


def test_a_less_trusted_newcomer_waits_for_review(graph: Graph, clock: FrozenClock) -> None:
    graph._mesh.review.register_predicates({"budget": {"cardinality": "multi"}})
    old = graph.store("kuro", "budget 5k", claim=BUDGET | {"value": "5k"}, provenance=USER)
    new = graph.store("kuro", "budget 6k", claim=BUDGET | {"value": "6k"}, provenance=AGENT)
    graph._mesh.review.register_predicates({"budget": {"cardinality": "single"}})
    (step,) = graph.consolidate().contradictions
    assert step.ids == (id_of(new),)
    assert [each.id for each in graph.list_quarantined()] == [id_of(new)]
    assert [each.existing for each in graph.pending_conflicts()] == [id_of(old)]


def test_the_users_own_words_are_only_put_on_the_review_list(graph: Graph) -> None:
    graph._mesh.review.register_predicates({"budget": {"cardinality": "multi"}})
    for value in ("5k", "6k"):
        graph.store("kuro", f"budget {value}", claim=BUDGET | {"value": value}, provenance=USER)
    graph._mesh.review.register_predicates({"budget": {"cardinality": "single"}})
    (step,) = graph.consolidate().contradictions
    assert step.ids == ()
    assert len(graph.pending_conflicts()) == 1
    assert graph.consolidate().contradictions == ()


def test_a_repeat_with_new_tags_by_another_origin_counts_it(mesh: MemoryMesh) -> None:
    first = mesh.add("A lamp is lit", source_agent="one")
    mesh.add("A lamp is lit", source_agent="two", tags=["light"])
    found = mesh.get(id_of(first))
    assert found is not None
    assert (found.origins, found.tags) == (2, ("light",))


def test_a_source_that_the_user_did_not_say_can_be_changed() -> None:
    kinds = {kind for kind in SourceKind if not lifecycle.why_protected(aged(source=Source(kind)))}
    assert kinds == {
        SourceKind.SYSTEM,
        SourceKind.TOOL_OUTPUT,
        SourceKind.DOCUMENT,
        SourceKind.INFERENCE,
    }


def test_claims_that_the_last_run_compared_are_not_compared_again(tmp_path, clock, monkeypatch):
    compared: list[int] = []

    def counted(newer: Memory, standing: Standing) -> list[Memory]:
        compared.append(len(next(iter(standing.claims.values()))))
        return contradicted(newer, standing)

    monkeypatch.setattr(job, "contradicted", counted)
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        for number in range(12):
            mesh.add(f"The parser uses library{number}", {"source": "inference"})
        made: list[int] = []
        for _ in range(3):
            compared.clear()
            clock.advance(timedelta(hours=7))
            mesh.care.upkeep()
            made.append(sum(compared))
            mesh.add(f"The parser uses mailer{len(made)}", {"source": "inference"})
        assert made[0] == 12 * 12
        assert made[1:] == [13 + 12, 14 + 13]  # the new one with each, and each with the new one


def test_what_was_planted_is_found_after_a_year_and_the_store_stays_bounded(tmp_path):
    days = 365 if settings().max_examples > 100 else 9
    months = list(simulate(tmp_path, days, per_day=20 if days > 100 else 6))
    print(*months, sep="\n")
    last = months[-1]
    assert last.found >= 0.9
    assert last.kept >= 0.9
    assert last.active <= last.written
    assert last.bytes <= 20_000 * last.written + 2_000_000
