"""Memory Lane's numbers, entities and metadata, on worked examples."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from memory_mesh.compat.lane import translate, translate as words
from memory_mesh.model import Fused, Kind, Lens, Memory, Query, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.search.ranking import fusion
from memory_mesh.search.ranking.fusion import rank, similar_enough

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def memory(kind=Kind.DECISION, *, age=DAY, used=None, usefulness=1.0, **more):
    return Memory(
        id="mem_1_000001", text="tea", kind=kind, created=NOW - age, recorded_from=NOW - age,
        last_used=None if used is None else NOW - used, usefulness=usefulness, **more,
    )  # fmt: skip


@pytest.mark.req("R-004-037", "R-004-038", "R-004-039")
@pytest.mark.parametrize(
    ("weight", "kinds"),
    [
        (1.0, ("correction", "decision", "commitment", "preference")),
        (0.7, ("insight", "learning", "confidence")),
        (0.4, ("pattern_seed", "cross_agent", "workflow_note", "gap")),
        (0.5, ("fact", "event", "digest")),
    ],
)
def test_a_type_has_its_weight(weight, kinds):
    for kind in kinds:
        factors = fusion.factors(memory(Kind(kind)), NOW, frozenset())
        assert factors["type_weight"] == weight


@pytest.mark.req("R-004-050", "R-004-051", "R-004-052", "R-004-053", "R-004-054")
@pytest.mark.parametrize(
    ("since", "left"),
    [
        (0 * DAY, 1.0),
        (7 * DAY - SECOND, 1.0),
        (7 * DAY, 0.8),
        (30 * DAY - SECOND, 0.8),
        (30 * DAY, 0.6),
        (90 * DAY - SECOND, 0.6),
        (90 * DAY, 0.4),
        (4_000 * DAY, 0.4),
    ],
)
def test_a_memory_fades_by_its_last_use_and_without_one_by_its_age(since, left):
    assert fusion.decay(memory(age=since), NOW) == left
    assert fusion.decay(memory(age=5_000 * DAY, used=since), NOW) == left


@pytest.mark.req("R-004-054")
def test_what_is_young_has_not_faded_and_use_freshens_what_is_old():
    assert fusion.decay(memory(age=6 * DAY, used=6 * DAY), NOW) == 1.0
    assert fusion.decay(memory(age=100 * DAY), NOW) == 0.4
    assert fusion.decay(memory(age=100 * DAY, used=DAY), NOW) == 1.0


@pytest.mark.req("R-004-047", "R-004-049")
@pytest.mark.parametrize(
    ("question", "cosine", "found", "score"),
    [
        ("tea", 0.8, memory(), 0.8),
        ("what was decided on tea", 0.8, memory(), 0.8 * 1.15),
        ("tea", 0.8, memory(Kind.GAP, age=200 * DAY, used=40 * DAY), 0.8 * 0.4 * 0.6),
        ("tea", 0.5, memory(Kind.INSIGHT, age=8 * DAY, usefulness=1.21), 0.5 * 0.7 * 0.8 * 1.21),
        ("a mistake", 0.9, memory(Kind.GAP, age=91 * DAY, usefulness=0.5),
         0.9 * 0.4 * 0.4 * 0.5 * 1.15),
        ("a mistake", 0.9, memory(Kind.INSIGHT), 0.9 * 0.7),
    ],
)  # fmt: skip
def test_the_score_is_the_product_of_the_seed(question, cosine, found, score):
    query = Query(question, Lens(NOW), profile="lane")
    (ranked,) = rank(query, [(Fused(1, 0.3, {"cosine": cosine, "keyword": 0.1}), found)])
    assert ranked.score == pytest.approx(score, abs=1e-12)
    assert ranked.parts["cosine"] == cosine


@pytest.mark.req("R-004-040", "R-004-048")
def test_a_weightier_type_comes_first_and_the_best_score_is_on_top():
    kinds = (Kind.GAP, Kind.LEARNING, Kind.CORRECTION)
    pairs = [(Fused(n, 0.5, {"cosine": 0.6}), memory(kind)) for n, kind in enumerate(kinds)]
    ranked = rank(Query("tea", Lens(NOW), profile="lane"), pairs)
    assert [fused.version for fused in ranked] == [2, 1, 0]
    assert [fused.score for fused in ranked] == pytest.approx([0.6, 0.42, 0.24])


@pytest.mark.req("R-004-065")
@pytest.mark.parametrize(
    ("cosine", "least", "returned"),
    [(0.2, None, 1), (0.199, None, 0), (0.199, 0.15, 1), (0.15, 0.15, 1), (0.149, 0.15, 0)],
)
def test_the_threshold_is_on_similarity_and_may_be_stated(cosine, least, returned):
    faded = memory(Kind.GAP, age=200 * DAY, usefulness=0.1)  # its product is far below either
    query = Query("tea", Lens(NOW), profile="lane", min_similarity=least)
    ranked = rank(query, [(Fused(1, 0.9, {"cosine": cosine}), faded)])
    assert sum(similar_enough(query, fused) for fused in ranked) == returned


@pytest.mark.req("R-004-067")
@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("What MISTAKE was made?", {"correction", "gap"}),
        ("wrong", {"correction", "gap"}),
        ("any error, ever", {"correction", "gap"}),
        ("who decided", {"decision"}),
        ("the one we chose", {"decision"}),
        ("our choice.", {"decision"}),
        ("usually", {"pattern_seed", "commitment"}),
        ("pattern", {"pattern_seed", "commitment"}),
        ("habit", {"pattern_seed", "commitment"}),
        ("what we learned", {"learning", "insight"}),
        ("realized", {"learning", "insight"}),
        ("decided wrong", {"decision", "correction", "gap"}),
        ("terror, wrongdoing, undecided, unlearned, patterned", set()),
        ("", set()),
    ],
)
def test_intents_are_whole_words_and_may_be_several(question, kinds):
    assert fusion.intents(question) == kinds


@pytest.mark.req("R-004-070")
@pytest.mark.parametrize(
    ("score", "decay", "left"), [(70, 1.0, 70), (70, 0.8, 56), (95, 0.6, 57), (33, 0.4, 13)]
)
def test_confidence_is_what_decay_leaves_of_it(score, decay, left):
    assert translate.effective_confidence(score, decay) == left


@given(st.integers(0, 7), st.integers(0, 3))
def test_the_votes_behind_a_score_are_found_again(helpful, harmful):
    score = 1.1**helpful * 0.5**harmful
    assert translate.votes_behind(score, helpful + harmful) == (helpful, harmful)


def test_a_score_that_no_votes_make_has_none():
    assert translate.votes_behind(1.37, 2) == (0, 0)
    assert translate.votes_behind(1.1, 0) == (0, 0)


@pytest.mark.req("R-004-071")
@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("Ask person:ada about project:mesh-2.", ("person:ada", "project:mesh-2")),
        ("feature:auth, feature:auth and chore:tidy-up", ("feature:auth", "chore:tidy-up")),
        ("see src/features/login/index.ts", ("feature:login",)),
        ("components/UserProfile.tsx broke", ("feature:user-profile",)),
        ("packages/core apps/web services/mail_out", ("project:core", "project:web",
                                                      "project:mail-out")),
        ("docs/setup.md says so", ("other:setup",)),
        ("http://project:8080/x and my-project:x and Project:X", ()),
        ("other:thing, planet:mars, person: ada, project:", ()),
        ("nobody in particular", ()),
    ],
)  # fmt: skip
def test_entities_are_those_that_the_text_names_and_no_others(text, slugs):
    assert words.found(text) == slugs


@pytest.mark.req("R-004-071")
@pytest.mark.parametrize("bad", ["mesh", "project:", "project:Mesh", "planet:mars", "project:a'b"])
def test_what_is_no_slug_is_refused(bad):
    assert words.checked_entities(["other:x", "chore:y", "other:x"]) == ("other:x", "chore:y")
    with pytest.raises(InvalidInput, match="names no entity"):
        words.checked_entities([bad])


@given(st.text(max_size=200))
def test_found_entities_are_slugs_and_keywords_are_always_the_same(text):
    assert words.checked_entities(words.found(text)) == words.found(text)
    assert words.keywords(text) == words.keywords(text)
    assert len(words.keywords(text)) <= words.KEYWORDS


@pytest.mark.req("R-004-068")
def test_keywords_are_the_terms_that_say_most_and_tags_name_entities_and_files():
    text = "The scheduler in services/cron/run.py retries; the scheduler of project:mesh is slow."
    assert words.keywords(text)[0] == "schedul"
    tags = words.auto_tags(text, words.found(text))
    assert tags[:3] == ("project:mesh", "project:cron", "python")
    assert set(tags[3:]) <= set(words.keywords(text))


@pytest.mark.req("R-004-015", "R-004-017", "R-004-018", "R-004-019", "R-004-020", "R-004-021")
@pytest.mark.req("R-004-022", "R-004-023", "R-004-024", "R-004-025", "R-004-026", "R-004-027")
@pytest.mark.req("R-004-029")
def test_metadata_has_the_defaults_of_the_schema():
    assert words.checked({"memory_type": "gap"}) == {
        "lane_version": "1.0.0", "memory_type": "gap", "entity_slugs": [], "entities": [],
        "confidence_score": 70.0, "decay_factor": 1.0, "source_chunk": None, "tags": None,
        "feedback_score": 1.0, "feedback_count": 0, "valid_from": None, "valid_until": None,
        "supersedes": None, "superseded_by": None, "times_observed": 1, "first_observed_at": None,
        "last_observed_at": None, "access_count": 0, "last_accessed_at": None,
    }  # fmt: skip


@pytest.mark.req("R-004-029")
def test_the_count_of_accesses_may_be_null_and_is_then_zero():
    found = words.checked({"memory_type": "gap", "access_count": None})
    assert found["access_count"] == 0
    assert words.checked({"memory_type": "gap", "access_count": 3})["access_count"] == 3
    for uses in (0, 3):
        assert words.metadata(memory(uses=uses), NOW)["access_count"] == uses


@pytest.mark.req("R-004-016", "R-004-031")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lane_version", 4),
        ("memory_type", "fact"),
        ("memory_type", 1),
        ("entity_slugs", "project:x"),
        ("entity_slugs", [1]),
        ("entities", "ada"),
        ("confidence_score", -1),
        ("confidence_score", 100.5),
        ("confidence_score", True),
        ("confidence_score", "high"),
        ("decay_factor", 1.01),
        ("decay_factor", -0.1),
        ("source_chunk", 7),
        ("tags", ["a", None]),
        ("feedback_score", "good"),
        ("feedback_count", -1),
        ("valid_from", "yesterday"),
        ("valid_until", 12),
        ("supersedes", "mem_1"),
        ("superseded_by", ["mem_1"]),
        ("times_observed", -2),
        ("first_observed_at", "once"),
        ("access_count", "often"),
        ("last_accessed_at", "now"),
    ],
)
def test_metadata_that_breaks_the_schema_is_rejected_by_the_name_of_its_field(name, value):
    with pytest.raises(InvalidInput, match=name):
        words.checked({"memory_type": "decision"} | {name: value})


@pytest.mark.req("R-004-016")
def test_the_ten_types_are_taken_and_one_is_needed():
    assert len(words.TYPES) == 10
    for word in words.TYPES:
        assert words.checked({"memory_type": word})["memory_type"] == word
    with pytest.raises(InvalidInput, match="memory_type"):
        words.checked({})


def test_a_caller_cannot_say_what_supersedes_the_memory():
    with pytest.raises(InvalidInput, match="claim"):
        words.details("tea", {"memory_type": "decision", "superseded_by": "mem_1_000001"})


def test_a_row_that_breaks_the_schema_is_no_draft():
    row = {"id": "a", "content": "tea", "created_at": "2026-01-01T00:00:00Z"}
    bad = json.dumps({"memory_type": "decision", "confidence_score": 700})
    with pytest.raises(InvalidInput, match="confidence_score"):
        words.read_row(row | {"metadata": bad})
    with pytest.raises(InvalidInput, match="created"):
        words.read_row(row | {"created_at": None})
    with pytest.raises(InvalidInput, match="id"):
        words.read_row(row | {"id": ""})


def test_a_row_with_an_unknown_type_or_unreadable_metadata_is_kept_as_it_says():
    row = {"id": "a", "content": "tea", "created_at": "2026-01-01T00:00:00Z"}
    odd = words.read_row(row | {"metadata": json.dumps({"memory_type": "hunch"})}).draft
    assert (odd.kind, odd.label) == (Kind.FACT, "hunch")
    broken = words.read_row(row | {"metadata": "{not json"}).draft
    assert broken.extra["unread_metadata"] == "{not json"
    assert (broken.kind, broken.confidence) == (Kind.FACT, 0.7)


@pytest.mark.req("R-004-016", "R-004-037")
@pytest.mark.parametrize(
    ("kind", "label", "word"),
    [
        (Kind.PREFERENCE, None, "commitment"),
        (Kind.GAP, None, "gap"),
        (Kind.FACT, None, "learning"),
        (Kind.FACT, "hunch", "learning"),
    ],
)
def test_a_type_that_is_shown_and_that_goes_out_is_one_of_the_ten(kind, label, word):
    seen = memory(kind, label=label)
    assert words.metadata(seen, NOW)["memory_type"] == word
    assert json.loads(str(words.file_row(seen, NOW)[2]))["memory_type"] == word


def test_the_view_of_a_memory_tells_its_state_today():
    seen = memory(age=40 * DAY, used=8 * DAY, uses=3, confidence=0.9, helpful=2, harmful=1,
                  usefulness=0.605, status=Status.SUPERSEDED, successor="mem_2_000002",
                  tags=("a", "project:x"), extra={"entity_slugs": ["project:x"]})  # fmt: skip
    said = words.metadata(seen, NOW)
    assert said["decay_factor"] == 0.8
    assert (said["confidence_score"], said["feedback_score"], said["feedback_count"]) == (
        90.0, 0.605, 3,
    )  # fmt: skip
    assert (said["tags"], said["entity_slugs"]) == (["a"], ["project:x"])
    assert (said["access_count"], said["superseded_by"]) == (3, "mem_2_000002")
    assert words.checked(said)
