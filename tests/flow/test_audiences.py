"""What is for others does not show in the small print: records, lists, receipts, errors, words."""

import pytest

from memory_mesh.base.typed import replace
from memory_mesh.compat.neolata.memory_graph import create_memory
from memory_mesh.model import Channel, Draft, Origin, Outcome, Scope
from memory_mesh.model.errors import IdempotencyConflict, MeshError, NotFound
from memory_mesh.rules.arguments import user_namespace
from memory_mesh.rules.trust import lens_of
from memory_mesh.search import keyword_plan
from memory_mesh.sync import MemoryMesh
from tests.faults.meaning import Hashed
from tests.receipts import id_of

SHOP, BLOG = Scope(project="shop"), Scope(project="blog")
NOWHERE = "mem_1600000000000_000000"
SKILL = "---\nname: {0}\ndescription: how to {0}\n---\nDo {0}.\n"


def colour(value: str) -> dict[str, str]:
    return {"subject": "door", "predicate": "colour", "value": value}


@pytest.fixture
def shop(mesh):
    return mesh.view(scope=SHOP)


@pytest.fixture
def blog(mesh):
    return mesh.view(scope=BLOG)


def about(blocks):
    return [id_ for block in blocks for id_ in block.entry.memories]


def test_blocks_are_shown_to_those_who_see_what_they_are_about(mesh, shop, blog):
    ours, theirs, all_see = (id_of(view.add("the door is red")) for view in (shop, blog, mesh))
    assert about(shop.care.blocks()) == [ours, all_see]
    assert about(blog.care.blocks()) == [theirs, all_see]
    assert about(mesh.care.blocks(scope=SHOP)) == [ours, all_see]
    assert about(mesh.care.blocks(as_owner=True)) == [ours, theirs, all_see]


def test_a_page_of_blocks_is_filled_with_what_the_reader_sees(shop, blog):
    shop.add("first")
    blog.add_many([f"theirs {number}" for number in range(300)])
    shop.add("second")
    first = shop.care.blocks(limit=1)
    second = shop.care.blocks(limit=1, after_seq=first[-1].seq)
    assert [len(first), len(second)] == [1, 1]
    assert shop.care.blocks(limit=1, after_seq=second[-1].seq) == []


def test_the_blocks_of_one_write_that_a_reader_sees_stay_together(mesh):
    drafts = [{"content": f"tea {n}", "scope": SHOP if n % 2 else BLOG} for n in range(10)]
    mesh.add_many(drafts)
    mesh.add("milk", scope=SHOP)
    assert len(mesh.care.blocks(scope=SHOP, limit=1)) == 5
    assert len(mesh.care.blocks(scope=SHOP, limit=6)) == 6


def test_a_block_from_when_a_memory_was_another_audiences_is_not_shown(mesh, shop):
    """Its wire text has the words of that time."""
    moved = id_of(shop.add("the key is under the mat"))
    shop.update(moved, "the door is locked", scope=Scope())
    (left,) = mesh.care.blocks()
    assert left.entry.memories == (moved,)
    assert "mat" not in str(left)
    shop.update(moved, "the door is open", scope=SHOP)
    assert mesh.care.blocks() == []
    assert len(shop.care.blocks()) == 3


def test_a_block_that_names_what_the_reader_does_not_see_is_left_out(mesh, shop):
    known, hidden = id_of(mesh.add("the door is red")), id_of(shop.add("doors need paint"))
    shop.graph.link(known, hidden)
    assert about(mesh.care.blocks()) == [known]
    assert about(shop.care.blocks()) == [known, hidden, known]


def test_blocks_of_skills_predicates_and_refusals_follow_their_audience(mesh, shop):
    shop.ingest_skill(SKILL.format("paint"))
    shop.add_many(["  "])
    mesh.review.register_predicates({"colour": {"cardinality": "single"}})
    assert about(mesh.care.blocks()) == ["predicate:colour"]
    assert len(shop.care.blocks()) == 3


def test_the_block_of_a_refused_write_is_shown_to_its_audience(mesh, shop, blog):
    shop.add_many(["  "])
    assert [len(view.care.blocks()) for view in (shop, blog, mesh)] == [1, 0, 0]
    assert len(mesh.care.blocks(as_owner=True)) == 1


def test_the_record_of_a_search_belongs_to_its_reader(mesh, shop, blog):
    mesh.add("the door is red")
    for view, question in ((shop, "the shop's door"), (blog, "the blog's door"), (mesh, "a door")):
        view.search(question)
    shop.search("everybody's door", across=["project"])
    mesh.add("flush")
    told = {name: str(view.care.recalls()) for name, view in (("shop", shop), ("blog", blog))}
    assert "shop's" in told["shop"]
    assert "a door" in told["shop"]  # who asked it sees no more than the shop
    assert "shop's" not in told["blog"]
    assert not any("everybody's" in said for said in told.values())
    assert [len(mesh.care.recalls()), len(mesh.care.recalls(as_owner=True))] == [1, 4]


def test_a_reader_of_another_agent_or_session_sees_no_record(mesh):
    one = mesh.view(scope=Scope(agent="one", session="monday"))
    one.add("tea is hot")
    one.search("tea")
    mesh.search("tea", scope=Scope(agent="one", session="monday"))
    mesh.add("flush")
    assert len(one.care.recalls()) == 2
    assert mesh.care.recalls() == []
    assert mesh.view(scope=Scope(agent="one")).care.recalls() == []
    assert mesh.view(scope=Scope(agent="one", session="tuesday")).care.recalls() == []


def test_vectors_of_what_is_not_visible_are_not_given(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Hashed()) as mesh:
        shop = mesh.view(scope=SHOP)
        hidden, skill = id_of(shop.add("the door is red")), shop.ingest_skill(SKILL.format("paint"))
        space = mesh.stats().spaces[0].space
        assert mesh.care.vectors([hidden], space) == {}
        assert mesh.skills.vectors([skill.skill], space) == {}
        for found in (
            mesh.care.vectors([hidden], space, as_owner=True),
            shop.care.vectors([hidden], space),
        ):
            assert found.keys() == {hidden}
        assert mesh.skills.vectors([skill.skill], space, as_owner=True)


def test_lists_of_review_show_the_reader_s_own_and_the_owner_everything(mesh, shop):
    shop.add("the door is red", claim=colour("red"))
    waits = shop.add("the door is blue", claim=colour("blue"), source_kind="inference")
    web = mesh.view(scope=SHOP, channel=Channel.WEB)
    web.ingest_skill(SKILL.format("paint"))
    plain = id_of(shop.add("doors need paint"))
    web.review.propose_update(plain, "doors need oil")
    assert (mesh.review.conflicts(), mesh.review.waiting(), mesh.review.proposals()) == ([], [], [])
    assert [each.id for each in mesh.review.conflicts(as_owner=True)] == list(waits.conflicts)
    assert mesh.review.waiting(as_owner=True) == shop.review.waiting()
    assert len(shop.review.waiting()) == 3
    assert mesh.review.proposals(as_owner=True) == shop.review.proposals() != []


def test_deciding_on_what_is_not_visible_fails_as_on_what_does_not_exist(mesh, shop):
    shop.add("the door is red", claim=colour("red"))
    waits = shop.add("the door is blue", claim=colour("blue"), source_kind="inference")
    told = set()
    for id_ in (waits.conflicts[0], "conflict_1600000000000_000000"):
        with pytest.raises(NotFound) as caught:
            mesh.review.resolve(id_, "keep_both")
        told.add(str(caught.value).replace(id_, "ID"))
    assert len(told) == 1


def test_a_successor_that_is_not_visible_is_not_named(mesh, shop):
    old = id_of(shop.add("the door is red", claim=colour("red")))
    new = id_of(shop.add("the door is blue", claim=colour("blue")))
    assert shop.get(old, include=["superseded"]).successor == new
    shop.update(new, scope=Scope(project="shop", agent="painter"))
    assert shop.get(old, include=["superseded"]).successor is None
    (listed,) = shop.get_all(include=["superseded"])
    assert listed.successor is None
    assert [version.successor for version in shop.history(old)] == [None, None]
    painter = mesh.view(scope=Scope(project="shop", agent="painter"))
    assert painter.get(old, include=["superseded"]).successor == new


def test_to_be_derived_from_the_unseen_is_to_be_derived_from_nothing(mesh, shop):
    hidden = id_of(shop.add("the door is red", source_kind="inference"))
    told = {
        str(receipt.reasons).replace(id_, "ID")
        for id_ in (hidden, NOWHERE)
        for receipt in [mesh.add(f"from {id_[-3:]}", derived_from=[id_])]
    }
    assert len(told) == 1
    assert "there is no such memory here" in told.pop()
    assert shop.graph.links(hidden) == []
    seen = shop.add("seen", derived_from=[hidden])
    assert [link.source for link in shop.graph.links(hidden)] == [seen.id]


def test_an_imported_id_of_others_tells_nothing_of_their_text(mesh, shop):
    hidden = id_of(shop.add("the door is red"))
    kept = shop.get(hidden)
    told = {
        (receipt.outcome, receipt.reasons)
        for text in ("the door is red", "the door is blue")
        for receipt in mesh.add_many([Draft(text=text, origin=Origin(hidden, kept.created))])
    }
    assert len(told) == 1
    assert {outcome for outcome, _ in told} == {Outcome.REFUSED}


def test_an_equal_claim_of_another_audience_is_not_revealed(mesh, shop, blog):
    shop.add("the door is red", claim=colour("red"))
    told = [
        replace(blog.add(text, claim=claim), id=None, block_id=None, created=None)
        for text, claim in (("the door is red", colour("red")),)
    ]
    fresh = mesh.view(namespace="fresh", scope=BLOG)
    alone = fresh.add("the door is red", claim=colour("red"))
    assert told == [replace(alone, id=None, block_id=None, created=None)]


@pytest.mark.parametrize("many", [1, 20])
def test_words_that_only_others_stored_are_not_known(mesh, shop, many):
    """Else a misspelt word is not read as the one that the reader stored."""
    mesh.add("the harbour opens at six")
    shop.add_many([f"harbouw number {number}" for number in range(many)])
    (hit,) = mesh.search("harbouw")
    assert hit.content == "the harbour opens at six"


def test_words_of_others_take_no_place_among_the_readings(mesh, shop):
    mesh.add("migrating birds fly south")
    forms = ("migratia", "migratib", "migratic", "migratid", "migratie", "migratif", "migratig",
             "migratih", "migratii", "migratij")  # fmt: skip
    shop.add_many([f"{form} of others" for form in forms])
    assert [hit.content for hit in mesh.search("migratix")] == ["migrating birds fly south"]


def test_respelt_words_of_others_take_no_place_among_the_readings(mesh, shop):
    mesh.add("the printer stands in the hall")
    shop.add_many([f"p{letter}irnter of others" for letter in "abcdefgh"])
    assert [hit.content for hit in mesh.search("pirnter")] == ["the printer stands in the hall"]


def test_a_word_is_read_as_no_other_name_that_only_others_use(mesh, shop):
    mesh.add("k8s is down")
    shop.add("kubernetes is up")
    for view, others in ((mesh, {}), (shop, {"k8s": ("kubernet",)})):
        with view._read() as snapshot:
            lens = lens_of(view._now(), view._reader(None))
            found = keyword_plan.match(snapshot, ["k8s"], lens, 10)
        assert found.read_as == others


def test_a_name_is_a_speaker_s_however_much_others_of_that_name_said(mesh, shop):
    mesh.add("tea is hot", speaker="Anna B", role="user")
    shop.add_many([
        {"content": f"milk {number}", "speaker": "Anna Z", "role": "user"}
        for number in range(1_001)
    ])  # fmt: skip
    with mesh._read() as snapshot:
        lens = lens_of(mesh._now(), mesh._reader(None))
        assert snapshot.speakers(["Anna"], lens) == {"Anna"}
        assert snapshot.speakers(["Zoe"], lens) == set()


def test_a_neighbour_is_found_behind_any_number_of_turns_of_others(mesh):
    mine, theirs = Scope(session="s"), Scope(agent="painter", session="s")
    mesh.add("first", scope=mine, order=1)
    mesh.add_many([
        {"content": f"theirs {number}", "scope": theirs, "order": 2} for number in range(65)
    ])  # fmt: skip
    mesh.add("last", scope=mine, order=3)
    with mesh._read() as snapshot:
        lens = lens_of(mesh._now(), mesh._reader(mine))
        versions = list(
            snapshot.numbers([hit.id for hit in mesh.get_all(scope=mine)], lens).values()
        )
        places = snapshot.around(versions, lens, None).values()
    assert sum(place.before is not None for place in places) == 1


def test_skills_of_others_give_no_cursor_and_are_not_counted(mesh, shop):
    mesh.ingest_skill(SKILL.format("cook"))
    hidden = shop.ingest_skill(SKILL.format("paint")).skill.id
    assert mesh.list_skills(before=hidden) == mesh.list_skills(before="skill_1_000000") == []
    assert (mesh.prune_skills().kept, shop.prune_skills().kept) == (1, 2)


def test_projects_of_others_are_named_to_the_owner_alone(mesh):
    mesh.traces.record("paint the door", scope=SHOP)
    for as_owner in (False, True):
        with pytest.raises(NotFound) as caught:
            mesh.care.archive_project("shoop", as_owner=as_owner)
        assert ("projects with traces: shop" in str(caught.value)) is as_owner


def test_a_key_is_its_writer_s_own_audience_channel_and_agent(mesh):
    views = [
        mesh.view(scope=SHOP), mesh.view(scope=BLOG), mesh.view(scope=Scope(session="s")),
        mesh.view(scope=Scope(agent="painter")), mesh.view(channel=Channel.TOOL), mesh,
    ]  # fmt: skip
    receipts = [view.add(f"text {n}", key="k") for n, view in enumerate(views)]
    assert len({receipt.id for receipt in receipts}) == len(views)
    for number, view in enumerate(views):
        assert view.add(f"text {number}", key="k").id == receipts[number].id
        with pytest.raises(IdempotencyConflict):
            view.add("another text", key="k")


def test_a_graph_with_an_agent_of_its_own_reads_as_that_agent(tmp_path, clock):
    with create_memory(db_dir=tmp_path, clock=clock) as host:
        mine = id_of(host.store("kuro", "the door is red"))
        theirs = id_of(host.store("shiro", "the door is blue"))
        host.store("shiro", "the gate is blue", claim=colour("blue"), quarantine=True)
        assert host.explain_memory(theirs).memory.id == theirs
    with create_memory(db_dir=tmp_path, clock=clock, agent_id="kuro") as graph:
        assert graph.explain_memory(mine).memory.id == mine
        told = set()
        for ask in (graph.explain_memory, graph.links, graph.traverse, graph.explain_supersession):
            for id_ in (theirs, NOWHERE):
                with pytest.raises(MeshError) as caught:
                    ask(id_)
                told.add(str(caught.value).replace(id_, "ID"))
            assert ask(theirs, as_owner=True) is not None
        assert len(told) == 1
        assert graph.list_quarantined() == []
        assert len(graph.list_quarantined(as_owner=True)) == 1
        assert [hit.id for hit in graph.search(None, "door")] == [mine]


def test_a_graph_of_a_session_does_not_reach_another_session(tmp_path, clock):
    with create_memory(db_dir=tmp_path, clock=clock, session="monday") as graph:
        hidden = id_of(graph.store("kuro", "the door is red"))
    with create_memory(db_dir=tmp_path, clock=clock, session="tuesday") as graph:
        with pytest.raises(NotFound):
            graph.links(hidden)
        assert graph.links(hidden, as_owner=True) == []


def test_an_owner_sees_one_namespace_and_no_other(mesh):
    other = mesh.for_user("ann")
    other.add("the door is red", claim=colour("red"))
    assert other.config.namespace == user_namespace("ann")
    assert mesh.care.blocks(as_owner=True) == []
    assert mesh.review.waiting(as_owner=True) == []
