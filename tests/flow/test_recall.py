"""The read story, told through the blocking face on a real store."""

import json
from datetime import timedelta

import pytest

from memory_mesh.model import Hit, Memory, Scope, record
from memory_mesh.model.errors import Closed, FilterError, InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh


def contents(hits):
    return [hit.content for hit in hits]


@pytest.mark.req("R-000-112", "R-000-169")
def test_search_returns_the_best_first(mesh):
    mesh.add_many(["tea and cake", "tea", "cake with cream", "coffee"])
    hits = mesh.search("tea cake")
    assert hits[0].content == "tea and cake"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert "coffee" not in contents(hits)
    assert contents(mesh.search("tea cake", limit=1)) == ["tea and cake"]


@pytest.mark.req("R-000-112", "R-000-145")
def test_a_result_is_a_record_with_a_score_between_0_and_1(mesh):
    stored = mesh.add("tea is hot", {"source": "me"})
    mesh.add_many([f"filler {n}" for n in range(20)])
    (hit,) = mesh.search("hot tea")
    assert (hit.id, hit.content, hit.metadata) == (stored.id, "tea is hot", {"source": "me"})
    assert hit.created_at == stored.created_at
    assert 0.5 < hit.score <= 1
    plain = json.loads(json.dumps(record.record(hit)))
    assert {name: plain[name] for name in ("id", "content", "metadata", "created_at", "score")} == {
        "id": stored.id, "content": "tea is hot", "metadata": {"source": "me"},
        "created_at": stored.created_at, "score": hit.score,
    }  # fmt: skip
    assert hit.parts["keyword"] == hit.parts["covered"] == 1  # the best there is, and all of it


def test_a_score_falls_with_what_is_missing_of_the_question(mesh):
    mesh.add("tea is hot")
    mesh.add_many([f"filler {n}" for n in range(20)])
    questions = ["hot tea", "hot tea with milk", "hot tea with milk, honey, lemon and a biscuit"]
    hits = [mesh.search(question)[0] for question in questions]
    assert {hit.content for hit in hits} == {"tea is hot"}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 2 * scores[-1]
    assert mesh.search(questions[0], min_relevance=scores[0])
    assert mesh.search(questions[-1], min_relevance=scores[0]) == []


@pytest.mark.req("R-000-142")
def test_the_default_limit_is_ten(mesh):
    mesh.add_many([f"tea number {n}" for n in range(30)])
    assert len(mesh.search("tea")) == 10
    assert len(mesh.search("tea", limit=30)) == 30


@pytest.mark.parametrize("limit", [0, -1, 1001, 2.5, "5", True])
def test_a_limit_out_of_bounds_is_refused(mesh, limit):
    with pytest.raises(InvalidInput, match="limit"):
        mesh.search("tea", limit=limit)


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", "zzz", '"', "AND OR NOT", "a*", "(", "x" * 50_000]
)
def test_no_query_is_an_error(mesh, query):
    mesh.add("tea is hot")
    assert mesh.search(query) == []


def test_a_namespace_that_does_not_exist_is_empty_and_is_not_made(mesh):
    assert mesh.search("tea") == []
    assert mesh.get_all() == []
    assert mesh.get("mem_1_000000") is None
    assert mesh.stats().memories == 0
    assert mesh.care.verify().ok
    assert mesh.care.namespaces() == []


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("The user prefers dark themes", "preferring a dark theme"),
        ("call getUserName first", "user name"),
        ("call getUserName first", "getUserName"),
        ("we write Go and C# here", "c#"),
        ("we write Go and C# here", "go"),
        ("東京都に住んでいます", "東京"),
        ("서울에 살고 있다", "서울에"),
        ("naïve café", "naive cafe"),
        ("see src/memory_mesh/search/recall.py", "recall.py"),
        ("to be or not to be", "to be or not to be"),
    ],
)
def test_words_are_found_in_the_forms_people_use(mesh, stored, query):
    mesh.add(stored)
    assert contents(mesh.search(query)) == [stored]


@pytest.mark.req("R-000-143", "R-000-259")
def test_a_filter_narrows_and_cannot_widen(mesh):
    mesh.add("tea one", {"source": "a"}, importance=0.9)
    mesh.add("tea two", {"source": "b", "nested": 1}, importance=0.1)
    mesh.add("tea secret", scope=Scope(session="s1"))
    assert contents(mesh.search("tea", filter="importance_score >= 0.5")) == ["tea one"]
    assert contents(mesh.search("tea", filter="source = 'b' AND content LIKE '%two'")) == [
        "tea two"
    ]
    assert len(mesh.search("tea", filter="id != 'x' OR session_id = 's1'")) == 2
    assert contents(mesh.search("tea", filter="nested = 1")) == ["tea two"]
    for attack in ("1=1", "nested.deep = 1", "session_id = 's1') OR (1=1", "source = 'a' --"):
        with pytest.raises(FilterError):
            mesh.search("tea", filter=attack)


def test_across_leaves_out_audience_tests_but_never_the_namespace(mesh, tmp_path, clock):
    mesh.add("tea secret", scope=Scope(session="s1"))
    assert contents(mesh.search("tea", across=["session"])) == ["tea secret"]
    with MemoryMesh(db_dir=tmp_path / "store", namespace="other", clock=clock) as other:
        assert other.search("tea", across=["project", "agent", "session"]) == []
    with pytest.raises(InvalidInput, match="across"):
        mesh.search("tea", across=["namespace"])


def test_an_expired_memory_is_not_returned(mesh, clock):
    mesh.add("tea now", valid_until=clock.now() + timedelta(hours=1))
    mesh.add("tea later", valid_from=clock.now() + timedelta(hours=1))
    assert contents(mesh.search("tea")) == ["tea now"]
    clock.advance(timedelta(hours=1))
    assert contents(mesh.search("tea")) == ["tea later"]
    assert contents(mesh.search("tea", valid_at=clock.now() - timedelta(minutes=1))) == ["tea now"]


def test_the_past_is_answered_as_it_was(mesh, clock):
    stored = mesh.add("tea is hot")
    then = clock.now()
    clock.advance(timedelta(hours=1))
    mesh.update(stored.id, "tea is cold")
    mesh.add("tea is green")
    mesh.delete(stored.id)
    (hit,) = mesh.search("tea", as_of=then)
    assert (hit.content, hit.memory.deleted_since) == ("tea is hot", True)
    assert mesh.get(stored.id, as_of=then).text == "tea is hot"
    assert [memory.text for memory in mesh.get_all(as_of=then)] == ["tea is hot"]
    assert mesh.search("tea", as_of=then - timedelta(microseconds=1)) == []


@pytest.mark.req("R-000-109")
def test_get_returns_the_record_or_none_and_counts_as_use(mesh, clock):
    stored = mesh.add("tea is hot")
    assert isinstance(mesh.get(stored.id), Memory)
    assert mesh.get("mem_1_ffffff") is None
    mesh._opened().ledger.flush("default")  # a use is counted soon, as a search is recorded
    memory = mesh.get(stored.id)
    assert (memory.uses, memory.last_used) == (1, clock.now())
    assert mesh.care.recalls()[0].entry.memories == (stored.id,)


def test_an_answer_about_use_is_never_an_old_one(mesh):
    stored = mesh.add("tea is hot")
    assert mesh.search("tea", filter="access_count >= 1") == []
    mesh.get(stored.id)
    mesh._opened().ledger.flush("default")
    assert len(mesh.search("tea", filter="access_count >= 1")) == 1


def test_a_vote_needs_a_memory_one_can_see(mesh):
    stored = mesh.add("tea is hot", scope=Scope(session="s"))
    with pytest.raises(NotFound):
        mesh.rate(stored.id, helpful=False)
    mesh.rate(stored.id, helpful=True, scope=Scope(session="s"))


@pytest.mark.req("R-004-069")
@pytest.mark.parametrize(
    ("helpful", "steps"),
    [(True, [1.1, 1.21, 1.331, 1.4641, 1.61051, 1.771561, 1.9487171, 2.0, 2.0]),
     (False, [0.5, 0.25, 0.125, 0.1, 0.1])],
)  # fmt: skip
def test_votes_step_exactly_and_stay_within_bounds(mesh, helpful, steps):
    stored = mesh.add("tea is hot")
    found = []
    for _ in steps:
        mesh.rate(stored.id, helpful=helpful)
        found.append(mesh.get(stored.id).usefulness)
    assert found == pytest.approx(steps, abs=1e-12)


def test_search_counts_no_use(mesh):
    stored = mesh.add("tea is hot")
    mesh.search("tea")
    assert mesh.get(stored.id).uses == 0


def test_get_many_keeps_the_order_asked(mesh):
    ids = [receipt.id for receipt in mesh.add_many(["one", "two", "three"])]
    asked = [ids[2], "mem_1_ffffff", ids[0]]
    assert [memory.id for memory in mesh.get_many(asked)] == [ids[2], ids[0]]
    assert mesh.get_many([]) == []


@pytest.mark.req("R-000-110")
def test_get_all_lists_pages_newest_first(mesh):
    ids = [receipt.id for receipt in mesh.add_many([f"tea {n}" for n in range(5)])]
    first = mesh.get_all(limit=3)
    rest = mesh.get_all(limit=3, cursor=first.cursor)
    assert [memory.id for memory in [*first, *rest]] == ids[::-1]
    assert rest.cursor is None
    for cursor in ("1; DROP TABLE memory", "9" * 30):
        with pytest.raises(InvalidInput, match="cursor"):
            mesh.get_all(cursor=cursor)


@pytest.mark.req("R-000-144", "R-000-126")
def test_an_answer_is_cached_unless_told_otherwise(mesh):
    mesh.add("tea is hot")
    first = mesh.search("tea")
    assert mesh.search("tea") == first
    assert mesh.get_cache_stats().hits == 1
    mesh.search("tea", use_cache=False)
    assert mesh.get_cache_stats().hits == 1


@pytest.mark.req("R-000-125")
def test_clear_cache_empties_it(mesh):
    mesh.add("tea is hot")
    mesh.search("tea")
    assert mesh.get_cache_stats().size == 1
    mesh.clear_cache()
    assert mesh.get_cache_stats().size == 0


@pytest.mark.req("R-000-167")
def test_query_limit_filter_and_all_else_that_matters_are_the_key(mesh, clock):
    mesh.add("tea is hot")
    asked: list[dict[str, object]] = [
        {}, {"limit": 5}, {"filter": "pinned = false"}, {"scope": Scope(project="p")},
        {"across": ["session"]}, {"include": ["deleted"]}, {"as_of": clock.now()},
        {"valid_at": clock.now()},
    ]  # fmt: skip
    for options in asked:
        mesh.search("tea", **options)
    mesh.search("hot")
    stats = mesh.get_cache_stats()
    assert (stats.size, stats.hits) == (len(asked) + 1, 0)


def test_a_write_anywhere_makes_the_answer_new(mesh, tmp_path, clock):
    mesh.add("tea is hot")
    assert len(mesh.search("tea")) == 1
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock) as elsewhere:
        stored = elsewhere.add("tea is cold")
        assert len(mesh.search("tea")) == 2
        elsewhere.rate(stored.id or "", helpful=True)
        assert max(hit.memory.helpful for hit in mesh.search("tea")) == 1


def test_two_namespaces_share_no_answer(mesh, tmp_path, clock):
    mesh.add("tea is hot")
    with MemoryMesh(db_dir=tmp_path / "store", namespace="b", clock=clock) as other:
        other.add("tea is cold")
        assert contents(mesh.search("tea")) == ["tea is hot"]
        assert contents(other.search("tea")) == ["tea is cold"]
        assert other.care.namespaces() == ["b", "default"]


def test_an_unknown_profile_is_named(mesh):
    with pytest.raises(InvalidInput, match="profile"):
        mesh.search("tea", profile="magic")


def test_common_words_do_not_hide_a_rare_one(mesh):
    mesh.add_many([f"the common word {n}" for n in range(300)])
    stored = mesh.add("the common word zebra")
    assert mesh.search("common word zebra")[0].id == stored.id


@pytest.mark.req("R-000-127")
def test_results_are_formatted_for_a_prompt(mesh):
    stored = mesh.add("tea is hot", {"type": "fact", "source": "me"}, importance=0.9)
    plain = mesh.add("milk is cold")
    read = mesh.add("rye bread takes an hour", source_ref="Bread.md")
    hits = [Hit(mesh.get(one.id), 0.876, {}) for one in (stored, plain, read)]
    assert mesh.format_results(hits) == (
        "[ATTENTION DIRECTIVE]\n"
        "- ALIGN attention to entries with [IMPORTANCE >= 0.8]\n"
        "- TREAT entries with [IMPORTANCE <= 0.4] as auxiliary\n"
        "\n"
        "[MEMORY CONTEXT]\n"
        f"--- MEMORY 1: {stored.id} [IMPORTANCE: 0.90] ---\n"
        "Type: fact | Source: me (trust: inference)\n"
        "tea is hot\n"
        f"--- MEMORY 2: {plain.id} [IMPORTANCE: 0.50] ---\n"
        "Type: global | Source: unknown (trust: user_implicit)\n"
        "milk is cold\n"
        f"--- MEMORY 3: {read.id} [IMPORTANCE: 0.50] ---\n"
        "Type: global | Source: Bread.md (trust: document)\n"
        "rye bread takes an hour"
    )


def test_a_closed_mesh_says_so(mesh):
    mesh.close()
    mesh.close()
    with pytest.raises(Closed):
        mesh.search("tea")
