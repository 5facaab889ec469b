"""One question to several views: each under its own walls, merged by score."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memory_mesh import MemoryMesh as AsyncMesh
from memory_mesh.formats import yamo
from memory_mesh.model import Scope, Status, record
from memory_mesh.model.errors import Closed, InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh

OFFICE = "When does the office close?"


def contents(hits):
    return [hit.content for hit in hits]


def asked_in(block):
    return dict(yamo.parse(block.entry.wire or "").context)["query"]


@pytest.fixture
def team(mesh):
    made = mesh.view(namespace="team")
    made.add("The office closes at six")
    return made


@pytest.fixture
def alice(mesh):
    made = mesh.for_user("alice@example.com")
    made.add("I leave the office at four")
    return made


def test_hits_of_all_views_are_merged_by_score_and_say_where_they_come_from(alice, team):
    hits = alice.search(OFFICE, also=[team])
    assert contents(hits) == ["The office closes at six", "I leave the office at four"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [(hit.view.namespace, hit.view.user) for hit in hits if hit.view] == [
        ("team", None), (alice.config.namespace, "alice@example.com"),
    ]  # fmt: skip
    assert [str(hit.view) for hit in hits] == ["namespace team", "user alice@example.com"]
    told = record.record(hits[0])["view"]
    assert isinstance(told, dict)
    assert (told["namespace"], told["user"]) == ("team", None)
    assert {hit.view for hit in alice.search(OFFICE)} == {None}


def test_of_equal_scores_the_asking_view_comes_first_then_the_order_given(mesh):
    views = [mesh.for_user(name) for name in ("a", "b", "c")]
    for view in views:
        view.add("tea")
    first, second, third = views
    for one, *others in ([first, second, third], [third, first, second], [second, third, first]):
        hits = one.search("tea", also=others)
        assert len({hit.score for hit in hits}) == 1
        names = [view.config.namespace for view in (one, *others)]
        assert [hit.view.namespace for hit in hits if hit.view] == names


def test_the_limit_is_that_of_the_merged_answer(mesh):
    one, other = mesh.for_user("one"), mesh.for_user("other")
    for view in (one, other):
        view.add_many([f"tea number {number}" for number in range(8)])
    assert len(one.search("tea", also=[other])) == 10
    assert len(one.search("tea", also=[other], limit=3)) == 3


def test_a_memory_that_two_views_see_appears_once(mesh, tmp_path):
    shop, blog = (mesh.view(scope=Scope(project=name)) for name in ("shop", "blog"))
    mesh.add("The editor is vim")
    shop.add("The editor of the shop is emacs")
    blog.add("The editor of the blog is nano")
    hits = shop.search("editor", also=[blog, shop, shop])
    assert sorted(contents(hits)) == [
        "The editor is vim", "The editor of the blog is nano", "The editor of the shop is emacs",
    ]  # fmt: skip
    by_text = {hit.content: hit.view.project for hit in hits if hit.view}
    assert by_text["The editor is vim"] == "shop"
    assert by_text["The editor of the blog is nano"] == "blog"
    # shop was asked once, and so was blog
    assert (len(shop.care.recalls()), len(mesh.care.recalls(as_owner=True))) == (1, 2)
    with MemoryMesh(db_dir=tmp_path / "store") as again:  # the same folder, opened twice
        assert contents(mesh.search("vim", also=[again])) == ["The editor is vim"]


def test_a_view_of_another_store_may_be_asked(mesh, team, tmp_path):
    mesh.add("The office has a garden")
    with MemoryMesh(db_dir=tmp_path / "elsewhere") as elsewhere:
        elsewhere.add("The office is closed on Sunday")
        hits = mesh.search("office", also=[elsewhere, team])
        folders = {hit.content: hit.view.folder for hit in hits if hit.view}
    assert folders == {
        "The office has a garden": str(tmp_path / "store"),
        "The office closes at six": str(tmp_path / "store"),
        "The office is closed on Sunday": str(tmp_path / "elsewhere"),
    }


def test_a_view_shows_nothing_that_its_own_lens_forbids(mesh, alice):
    team = mesh.view(namespace="team", scope=Scope(project="shop"))
    team.add("The office of the shop closes at six")
    team.view(scope=Scope(project="blog")).add("The office of the blog closes at five")
    team.add("The office closes at four today", scope=Scope(session="s1"))
    team.add("The office closes never", quarantine="looks odd")
    gone = team.add("The office closes at noon").id
    team.delete(gone)
    every = {"across": ["project", "session"], "include": list(Status)}
    for options in ({}, every, {"scope": Scope(project="blog", session="s1")}):
        hits = alice.search(OFFICE, also=[team], **options)
        of_team = [hit.content for hit in hits if hit.view and hit.view.namespace == "team"]
        assert of_team == ["The office of the shop closes at six"]
        assert sorted(contents(team.search(OFFICE))) == of_team


def test_what_widens_the_asking_view_stays_with_it(mesh, team):
    mesh.add("The office of the shop", scope=Scope(project="shop"))
    mesh.add("The office is haunted", quarantine="looks odd")
    assert contents(mesh.search("office", also=[team])) == ["The office closes at six"]
    wide = mesh.search("office", also=[team], across=["project"], include=["quarantined"])
    assert len(wide) == 3


def test_filter_and_times_hold_for_every_view(clock, alice, team):
    before = clock.now()
    clock.advance(timedelta(days=1))
    alice.add("The office of Jo", speaker="jo@example.com")
    team.add("The office of Jo, too", speaker="jo@example.com")
    named = alice.search("office", also=[team], filter="speaker = 'jo@example.com'")
    assert sorted(contents(named)) == ["The office of Jo", "The office of Jo, too"]
    earlier = alice.search("office", also=[team], as_of=before)
    assert sorted(contents(earlier)) == ["I leave the office at four", "The office closes at six"]


def test_each_view_records_what_was_shown_of_it(alice, team):
    alice.add("mail jo@example.com about the office", key="k")
    hits = alice.search("office jo@example.com", also=[team], limit=2)
    for view in (alice, team):
        view.add("something else")  # writes what is buffered
        (block,) = view.care.recalls()
        own = [hit.id for hit in hits if hit.view and hit.view.namespace == view.config.namespace]
        assert block.entry.memories == tuple(own)
    asked = [asked_in(view.care.recalls()[0]) for view in (alice, team)]
    assert "jo@example.com" not in "".join(asked)
    assert asked[0] != asked[1]  # the placeholders of a namespace are its own


def test_a_vote_goes_to_the_view_that_owns_the_hit(mesh, alice, team):
    hit = alice.search(OFFICE, also=[team])[0]
    seqs = alice.stats().seq, team.stats().seq
    with pytest.raises(NotFound):
        alice.rate(hit.id, helpful=True)
    mesh.view(namespace=hit.view.namespace).rate(hit.id, helpful=True)
    assert (alice.stats().seq, team.stats().seq) == (seqs[0], seqs[1] + 1)
    assert team.get(hit.id).helpful == 1


def test_a_newer_statement_stays_above_the_older_one_of_its_view(mesh, team):
    older = team.add("My favourite editor is vim").id
    newer = team.add("My favourite editor is now emacs").id
    mesh.add("My favourite editor is nano")
    found = {hit.id: at for at, hit in enumerate(mesh.search("favourite editor vim", also=[team]))}
    assert found[newer] < found[older]
    assert len(found) == 3


def test_the_threshold_is_that_of_the_merged_answer(alice, team):
    every = alice.search(OFFICE, also=[team])
    best, second = (hit.score for hit in every)
    some = alice.search(OFFICE, also=[team], min_relevance=best)
    assert contents(some) == contents(every[:1])
    assert (some.explanation.below, some.explanation.best_below) == (1, second)
    none = alice.search(OFFICE, also=[team], min_relevance=1.0, limit=1)
    assert (none.explanation.below, none.explanation.best_below) == (1, best)


def test_the_explanation_sums_up_and_keeps_that_of_each_view(alice, team):
    how = alice.search(OFFICE, also=[team]).explanation
    assert [str(part.view) for part in how.views] == ["user alice@example.com", "namespace team"]
    assert how.found_by_keyword == sum(part.found_by_keyword for part in how.views) == 2
    plain = record.explanation_json(how)
    assert isinstance(plain["views"], list)
    assert len(plain["views"]) == 2


def test_what_waits_in_a_namespace_counts_once(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea " * 2_000)  # too long to be embedded during a search
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        hits = mesh.search("tea", also=[mesh.view(scope=Scope(project="p"))])
        assert [part.pending for part in hits.explanation.views] == [1, 1]
        assert hits.explanation.pending == 1


def test_each_view_uses_the_cache_of_its_store(mesh, alice, team):
    first = alice.search(OFFICE, also=[team])
    again = alice.search(OFFICE, also=[team])
    assert mesh.get_cache_stats().hits == 2
    assert (again, again.explanation) == (first, first.explanation)
    assert [hit.view for hit in team.search(OFFICE)] == [None]


def test_a_question_is_embedded_once_for_views_with_the_same_embedder(tmp_path, real_embedder):
    counted = Counted(real_embedder)
    stores = [MemoryMesh(db_dir=tmp_path / name, custom_embedder=counted) for name in "ab"]
    one, other = stores
    views = [other, one.for_user("alice"), other.for_user("bob")]
    for view in (one, *views):
        view.add("The office closes at six")
    hits = one.search("when is the workplace shut", also=views)
    assert counted.questions == ["when is the workplace shut"]
    assert len(hits) == 4
    assert hits.explanation.space
    assert hits.explanation.found_by_vector == 4
    one.search("ask jo@example.com", also=views[1:2])  # two namespaces, two placeholders
    assert len(set(counted.questions)) == 3
    for store in stores:
        store.close()


class Counted:
    """The real embedder, and the questions it was asked."""

    def __init__(self, embedder):
        self._embedder = embedder
        self.questions = []

    def embed(self, texts, *, query=False):
        self.questions += texts if query else []
        return self._embedder.embed(texts, query=query)

    def close(self):
        pass


@pytest.mark.parametrize("profile", ["rrf", "composite", "lane"])
def test_profiles_whose_scores_cannot_be_compared_are_refused(alice, team, profile):
    with pytest.raises(InvalidInput, match=f"{profile}.*cannot be compared.*'mesh'"):
        alice.search(OFFICE, also=[team], profile=profile)
    with pytest.raises(InvalidInput, match="no profile 'best'"):
        alice.search(OFFICE, also=[team], profile="best")


def test_what_is_no_view_is_refused(mesh, alice, team):
    for wrong in ("team", 5, team):
        with pytest.raises(
            InvalidInput, match=r"also takes a list of views, such as also=\[team\]"
        ):
            alice.search(OFFICE, also=wrong)
    for wrong in ("team", None, Scope(project="p")):
        with pytest.raises(InvalidInput, match="also takes views, such as"):
            alice.search(OFFICE, also=[wrong])


def test_a_blocking_search_asks_async_views_too(mesh, alice, team):
    twin = AsyncMesh(db_dir=mesh.folder, namespace="team")
    views = [str(hit.view) for hit in alice.search(OFFICE, also=[twin])]
    assert views == [str(hit.view) for hit in alice.search(OFFICE, also=[team])]
    asyncio.run(twin.close())


def test_a_closed_view_ends_the_search_before_anything_is_recorded(alice, team):
    team.close()
    with pytest.raises(Closed):
        alice.search(OFFICE, also=[team])
    alice.add("something else")
    assert alice.care.recalls() == []


def refused(view) -> list[tuple[Any, str]]:
    """What an async search does not take as `also`, and what it says."""
    return [
        (view, "also takes a list of views"),
        ("team", "also takes a list of views"),
        ([None], "also takes views"),
    ]


def test_async_views_are_asked_in_the_same_way(tmp_path):
    async def story():
        async with (
            AsyncMesh(db_dir=tmp_path / "one") as mesh,
            AsyncMesh(db_dir=tmp_path / "two") as elsewhere,
        ):
            alice, team = mesh.for_user("alice"), mesh.view(namespace="team")
            await alice.add("I leave the office at four")
            await team.add("The office closes at six")
            await elsewhere.add("The office has a garden")
            hits = await alice.search(OFFICE, also=[team, elsewhere])
            for wrong, message in refused(team):
                with pytest.raises(InvalidInput, match=message):
                    await alice.search(OFFICE, also=wrong)
            return [(hit.content, str(hit.view)) for hit in hits]

    assert sorted(asyncio.run(story())) == [
        ("I leave the office at four", "user alice"),
        ("The office closes at six", "namespace team"),
        ("The office has a garden", "namespace default"),
    ]
