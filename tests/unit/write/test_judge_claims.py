"""The verdict on claims: every branch in a table, and what holds for all of them."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    Cardinality,
    Channel,
    Claim,
    ConflictPolicy,
    DedupPolicy,
    Draft,
    Keep,
    Memory,
    Merge,
    Origin,
    Outcome,
    PredicateSchema,
    Refuse,
    Repeat,
    Resolution,
    Scope,
    Seen,
    Source,
    SourceKind,
    Standing,
    Status,
    Wording,
)
from memory_mesh.model.errors import IdempotencyConflict
from memory_mesh.text.recited import fingerprint
from memory_mesh.write.rules.contradictions import contradicted
from memory_mesh.write.rules.judge import judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
USER, TOOL, GUESS = SourceKind.USER_EXPLICIT, SourceKind.TOOL_OUTPUT, SourceKind.INFERENCE
SESSION = Scope(session="s1")
MULTI = PredicateSchema(cardinality=Cardinality.MULTI)
BOTH = PredicateSchema(conflict_policy=ConflictPolicy.KEEP_BOTH)
REVIEW = PredicateSchema(conflict_policy=ConflictPolicy.REQUIRE_REVIEW)
MONEY = PredicateSchema(normalize="currency")
STORE = PredicateSchema(dedup_policy=DedupPolicy.STORE)


def claim(value="5k", **details):
    return Claim(subject="project", predicate="budget", value=value, **details)


def wording(text):
    return Wording(text, sha256(text.encode()).digest(), text, fingerprint(text))


def known(value="5k", by=USER, *, number=1, said=None, **details):
    """A memory that the ledger holds."""
    return Memory(
        id=f"mem_1_{number:06}",
        text=f"known {number}",
        created=NOW,
        recorded_from=NOW,
        source=Source(by),
        claim=said or claim(value),
        **details,
    )


def draft(value="9k", by=USER, *, said=None, text="the newcomer", source=None, **details):
    return Draft(
        text=text,
        source=source or Source(by),
        claim=said or claim(value),
        **details,
    )


def standing(*memories, schema=None, keys=None, tombstoned=None, by_id=()):
    """What the ledger hands to the judge: active ones by what they claim and for whom."""
    claims: dict[tuple[str, str, Scope], tuple[Memory, ...]] = {}
    twins: dict[tuple[bytes, Scope], tuple[Memory, ...]] = {}
    for memory in memories:
        about = (memory.claim.subject, memory.claim.predicate, memory.scope)
        claims[about] = (*claims.get(about, ()), memory)
        same = (wording(memory.text).hash, memory.scope)
        twins[same] = (*twins.get(same, ()), memory)
    return Standing(
        NOW,
        twins,
        keys or {},
        {memory.id: memory for memory in (*memories, *by_id)},
        lambda _: False,
        lambda _: [],
        claims=claims,
        schemas={} if schema is None else {"budget": schema},
        tombstoned=tombstoned,
    )


def verdict(new, *memories, **given):
    return judge(new, wording(new.text), standing(*memories, **given))


def outline(found):
    """A verdict in short: what is stored, what gives way, and what is put on record."""
    if isinstance(found, Merge):
        return f"merge {found.into.id[-1]}"
    if isinstance(found, Refuse):
        return "refuse"
    assert isinstance(found, Keep)
    gone = "".join(memory.id[-1] for memory in found.supersedes)
    record = ",".join(
        f"{rival.memory.id[-1]}:{rival.resolution or 'pending'}" for rival in found.against
    )
    return " ".join(filter(None, [found.status.value, gone and f"-{gone}", record]))


def read(value, **details):
    return claim(value, read=True, **details)


EARLIER = {"valid_from": NOW - 9 * DAY, "valid_until": NOW}
LATER = {"valid_from": NOW, "valid_until": NOW + 9 * DAY}
CASES = {
    # nothing to contradict
    "first of its kind": (draft(), (), None, "active"),
    "another subject": (
        draft(said=Claim(subject="other", predicate="budget", value="9k")),
        (known(),),
        None,
        "active",
    ),
    # 1 cardinality, 2 exclusivity, 3 validity, 4 scope
    "one of many by schema": (draft(), (known(),), MULTI, "active"),
    "the newcomer is not exclusive": (
        draft(said=claim("9k", exclusive=False)),
        (known(),),
        None,
        "active",
    ),
    "the known one is not exclusive": (
        draft(),
        (known(said=claim("5k", exclusive=False)),),
        None,
        "active",
    ),
    "it held before": (draft(**EARLIER), (known(**LATER),), None, "active"),
    "it will hold after": (draft(**LATER), (known(**EARLIER),), None, "active"),
    "the times meet": (
        draft(valid_from=NOW - DAY),
        (known(**EARLIER),),
        None,
        "active -1 1:supersede",
    ),
    "an open end meets": (draft(), (known(**LATER),), None, "active -1 1:supersede"),
    "a session's word beside all": (draft(scope=SESSION), (known(),), None, "active"),
    "everybody's word beside a session's": (draft(), (known(scope=SESSION),), None, "active"),
    "two sessions": (
        draft(scope=Scope(session="s2")),
        (known(scope=SESSION),),
        None,
        "active",
    ),
    "within one session": (
        draft(scope=SESSION),
        (known(scope=SESSION),),
        None,
        "active -1 1:supersede",
    ),
    "another agent's": (draft(scope=Scope(agent="b")), (known(scope=Scope(agent="a")),), None,
                        "active"),
    # 5 dedupe
    "the same value": (draft("5k"), (known(),), None, "merge 1"),
    "the same amount": (draft("$9,000.00"), (known("USD 9000"),), MONEY, "merge 1"),
    "another spelling is another value": (draft("$9,000"), (known("9000 USD"),), None,
                                          "active -1 1:supersede"),
    "the same value of many": (draft("5k"), (known(),), MULTI, "merge 1"),
    "the same value is stored by policy": (draft("5k"), (known(),), STORE, "active"),
    "the same value at another time": (draft("5k", **LATER), (known(),), None, "active"),
    "the same value from a guess": (draft("5k", GUESS), (known(),), None, "merge 1"),
    "a duplicate is allowed": (draft("5k", allow_duplicate=True), (known(),), None, "active"),
    "the same value needs no review": (draft("5k"), (known(),), REVIEW, "merge 1"),
    "the same words, the same claim": (draft("5k", text="known 1"), (known(),), None, "merge 1"),
    "the same words, another claim": (
        draft(text="known 1"),
        (known(),),
        None,
        "active -1 1:supersede",
    ),
    "the same words, stored by policy": (draft("5k", text="known 1"), (known(),), STORE, "active"),
    # 6 policy
    "both are kept": (draft(by=GUESS), (known(),), BOTH, "active 1:keep_both"),
    "review is required": (draft(), (known(by=GUESS),), REVIEW, "quarantined 1:pending"),
    # trust
    "as trusted": (draft(), (known(),), None, "active -1 1:supersede"),
    "more trusted": (draft(), (known(by=GUESS),), None, "active -1 1:supersede"),
    "less trusted": (draft(by=GUESS), (known(),), None, "quarantined 1:pending"),
    "a little less trusted": (draft(by=TOOL), (known(by=SourceKind.SYSTEM),), None,
                              "quarantined 1:pending"),
    "kept active beside the more trusted": (
        draft(by=GUESS, keep_active=True),
        (known(),),
        None,
        "active 1:pending",
    ),
    "keep_active does not hinder the stronger": (
        draft(keep_active=True),
        (known(by=GUESS),),
        None,
        "active -1 1:supersede",
    ),
    "votes count": (draft(by=TOOL), (known(by=TOOL, reinforcements=2),), None,
                    "quarantined 1:pending"),
    # several rivals: all or nothing
    "all are weaker": (
        draft(),
        (known(by=GUESS), known("6k", number=2)),
        None,
        "active -12 1:supersede,2:supersede",
    ),
    "one is stronger": (
        draft(by=TOOL),
        (known(by=GUESS), known("6k", number=2)),
        None,
        "quarantined 1:pending,2:pending",
    ),
    "one is the same, one is not": (draft("5k"), (known("6k", number=2), known()), None, "merge 1"),
    # a writer's own doubt
    "the writer doubts": (draft(quarantine="sounds odd"), (), None, "quarantined"),
    "the writer doubts and contradicts": (draft(quarantine="odd"), (known(),), None, "quarantined"),
    # read from text
    "read against stated": (draft(said=read("9k")), (known(),), None, "active 1:newer_than"),
    "read twice": (draft(said=read("9k")), (known(said=read("5k")),), None,
                   "active 1:newer_than"),
    "read, and the same": (draft(said=read("5k")), (known(),), None, "active"),
    "read, and not certain": (
        draft(said=read("much more", certain=False)),
        (known("very little"),),
        None,
        "active 1:pending",
    ),
    "it says what it replaces": (
        draft(said=read("pnpm", exclusive=False, replaces="npm")),
        (known(said=read("npm", exclusive=False)),),
        None,
        "active 1:newer_than",
    ),
    "it denies one of many": (
        draft(said=read("not tea", exclusive=False)),
        (known(said=read("tea", exclusive=False)),),
        None,
        "active 1:newer_than",
    ),
    "read as one of many": (
        draft(said=read("tea", exclusive=False)),
        (known(said=read("milk", exclusive=False)),),
        None,
        "active",
    ),
    "brought from another store, and older": (
        draft(origin=Origin("mem_old", NOW - 900 * DAY)),
        (known(),),
        None,
        "quarantined 1:pending",
    ),
    "brought from another store, older, and more trusted": (
        draft(origin=Origin("mem_old", NOW - 900 * DAY)),
        (known(by=GUESS),),
        None,
        "active -1 1:supersede",
    ),
    "brought from another store, and newer": (
        draft(origin=Origin("mem_new", NOW)),
        (known(),),
        None,
        "active -1 1:supersede",
    ),
    "unsure beside certain": (
        draft(said=read("much")),
        (known(said=read("little", certain=False)), known("nothing", GUESS, number=2)),
        None,
        "active 2:newer_than,1:pending",
    ),
}  # fmt: skip


@pytest.mark.req(
    "R-003-035", "R-003-036", "R-003-037", "R-003-038", "R-003-039", "R-003-040", "R-003-041",
    "R-003-042", "R-003-043", "R-003-044",
)  # fmt: skip
@pytest.mark.parametrize(("new", "memories", "schema", "expected"), CASES.values(), ids=CASES)
def test_a_claim_is_judged_by_its_rivals(new, memories, schema, expected):
    assert outline(verdict(new, *memories, schema=schema)) == expected


@pytest.mark.req("R-003-050")
def test_an_unregistered_predicate_behaves_as_the_default_schema_says():
    assert PredicateSchema() == PredicateSchema(
        cardinality=Cardinality.SINGLE,
        conflict_policy=ConflictPolicy.SUPERSEDE,
        normalize="none",
        dedup_policy=DedupPolicy.CORROBORATE,
    )
    for new, memories, schema, _ in CASES.values():
        if schema is None and not (new.claim is not None and new.claim.read):
            stated = verdict(new, *memories, schema=PredicateSchema())
            assert verdict(new, *memories) == stated


def test_what_is_derived_is_weighed_by_its_least_trusted_source():
    page = known("x", GUESS, number=7, said=Claim(subject="a", predicate="b", value="c"))
    told = draft(derived_from=(page.id,))
    assert outline(verdict(told, known(), by_id=(page,))) == "quarantined 1:pending"
    assert outline(verdict(draft(), known(), by_id=(page,))) == "active -1 1:supersede"


def test_a_verdict_says_who_is_trusted_how_far_and_why():
    found = verdict(draft(by=GUESS), known())
    assert isinstance(found, Keep)
    (rival,) = found.against
    assert (rival.new_trust, rival.old_trust) == (0.5, 1.0)
    assert rival.reason == "project budget: 9k against 5k"
    assert found.reason == "it contradicts a more trusted memory"


def test_a_year_of_age_lets_a_newcomer_of_the_same_source_in():
    old = known(by=TOOL, reinforcements=1)
    aged = replace(old, created=NOW - 365 * DAY)
    assert outline(verdict(draft(by=TOOL), old)) == "quarantined 1:pending"
    assert outline(verdict(draft(by=TOOL), aged)) == "active -1 1:supersede"


def test_an_echo_is_refused_and_a_key_answers_before_any_rule():
    model = Source(GUESS, Channel.MCP)
    heard = known()
    echo = {fingerprint("the newcomer"): (heard,)}
    scene = standing(heard)
    echoing = Standing(
        NOW, {}, {}, scene.memories, scene.taken, scene.history, claims=scene.claims, echoes=echo
    )
    said = draft(source=model)
    assert isinstance(judge(said, wording(said.text), echoing), Refuse)
    seen = Seen(wording("the newcomer").hash, Outcome.STORED, heard)
    keyed = draft(by=GUESS, key="k")
    again = standing(heard, keys={"k": seen})
    assert judge(keyed, wording(keyed.text), again) == Repeat(seen)
    with pytest.raises(IdempotencyConflict):
        judge(draft(key="k", text="other"), wording("other"), again)


@pytest.mark.parametrize(
    ("memory", "others", "schema", "gone"),
    [
        (known("9k", number=9), (known(),), None, ["1"]),
        (known("9k", GUESS, number=9), (known(), known("6k", number=2)), None, ["1", "2"]),
        (known("5k", number=9), (known(),), None, []),
        (known("9k", number=9), (known(),), BOTH, []),
        (known("9k", number=9), (known(),), MULTI, []),
        (known("9k", number=9), (known(scope=SESSION),), None, []),
        (known("9k", number=9, **EARLIER), (known(**LATER),), None, []),
        (known("9k", number=1), (known("9k"),), None, []),
    ],
)
def test_a_review_finds_what_a_memory_contradicts_now(memory, others, schema, gone):
    found = contradicted(memory, standing(*others, schema=schema))
    assert [each.id[-1] for each in found] == gone


VALUES = st.sampled_from(["5k", "5K", " 5k ", "9k", "$5", "USD 5.00"])
CLAIMS = st.builds(
    Claim,
    subject=st.just("project"),
    predicate=st.just("budget"),
    value=VALUES,
    exclusive=st.booleans(),
    certain=st.booleans(),
    read=st.booleans(),
    replaces=st.none() | VALUES,
)
SCOPES = st.sampled_from([Scope(), SESSION, Scope(agent="a")])
SPANS = st.sampled_from([{}, EARLIER, LATER, {"valid_from": NOW - DAY}])
KINDS = st.sampled_from(SourceKind)
SCHEMAS = st.none() | st.builds(
    PredicateSchema,
    cardinality=st.sampled_from(Cardinality),
    conflict_policy=st.sampled_from(ConflictPolicy),
    normalize=st.sampled_from(["none", "trim", "lowercase", "lowercase_trim", "currency"]),
    dedup_policy=st.sampled_from(DedupPolicy),
)


@st.composite
def memories(drawn):
    each = st.tuples(CLAIMS, KINDS, SCOPES, SPANS, st.integers(0, 5), st.integers(0, 5))
    return [
        known(by=kind, number=number, said=said, scope=scope, reinforcements=up, disputes=down,
              **span)
        for number, (said, kind, scope, span, up, down) in enumerate(
            drawn(st.lists(each, max_size=6))
        )
    ]  # fmt: skip


@st.composite
def drafts(drawn):
    return Draft(
        text=drawn(st.sampled_from(["the newcomer", "known 1", " "])),
        claim=drawn(CLAIMS),
        source=Source(drawn(KINDS)),
        scope=drawn(SCOPES),
        allow_duplicate=drawn(st.booleans()),
        keep_active=drawn(st.booleans()),
        quarantine=drawn(st.none() | st.just("odd")),
        **drawn(SPANS),
    )


@pytest.mark.req("R-003-033")
@given(drafts(), memories(), SCHEMAS)
def test_the_judge_is_total_and_deterministic(new, held, schema):
    found = verdict(new, *held, schema=schema)
    assert found == verdict(new, *held, schema=schema)
    assert isinstance(found, Keep | Merge | Refuse)
    if isinstance(found, Keep):
        assert all(memory in held for memory in found.supersedes)
        assert all(rival.memory.scope == new.scope for rival in found.against)


@given(drafts(), memories(), SCHEMAS)
def test_a_quarantined_newcomer_supersedes_nothing(new, held, schema):
    found = verdict(new, *held, schema=schema)
    if isinstance(found, Keep) and found.status is not Status.ACTIVE:
        assert not found.supersedes
        assert all(rival.resolution is None for rival in found.against)


@given(drafts(), memories(), SCHEMAS)
def test_nothing_supersedes_what_is_trusted_more(new, held, schema):
    found = verdict(new, *held, schema=schema)
    if isinstance(found, Keep):
        for rival in found.against:
            if rival.resolution is Resolution.SUPERSEDE:
                assert rival.new_trust >= rival.old_trust
                assert rival.memory in found.supersedes


@given(drafts(), memories(), SCHEMAS, st.randoms(use_true_random=False))
def test_the_order_of_the_rivals_changes_no_status_and_nothing_that_gives_way(
    new, held, schema, dice
):
    shuffled = list(held)
    dice.shuffle(shuffled)
    one, other = (verdict(new, *some, schema=schema) for some in (held, shuffled))
    assert type(one) is type(other)
    if isinstance(one, Keep) and isinstance(other, Keep):
        assert one.status is other.status
        gone, also = ({memory.id for memory in each.supersedes} for each in (one, other))
        assert gone == also


@pytest.mark.parametrize("schema", [None, MULTI])
def test_the_order_of_arrival_of_what_does_not_conflict_does_not_matter(schema):
    """Distinct subjects, or values of which there may be many: each order ends with all of them."""
    news = [
        draft(
            f"value {number}",
            said=Claim(
                subject="project" if schema else f"project {number}",
                predicate="budget",
                value=f"value {number}",
            ),
            text=f"known {number}",
        )
        for number in range(4)
    ]
    for order in permutations(range(4)):
        held: list[Memory] = []
        for number in order:
            assert outline(verdict(news[number], *held, schema=schema)) == "active"
            held.append(known(number=number, said=news[number].claim))
        assert len(held) == len(news)
