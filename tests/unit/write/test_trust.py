"""How far a source is believed, on worked numbers."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.compat.neolata import compute_trust
from memory_mesh.model import Channel, SourceKind
from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.trust import allowed_importance, is_unsupported, lowered, lowest, trust

KINDS = st.sampled_from(SourceKind)
VOTES = st.integers(0, 200)
DAYS = st.floats(0, 4_000)


@pytest.mark.req("R-003-052", "R-003-053", "R-003-054", "R-003-055", "R-003-113")
def test_the_source_decides_most():
    assert [trust(kind) for kind in SourceKind] == [1.0, 0.95, 0.85, 0.7, 0.6, 0.5]
    assert max(SourceKind, key=trust) is SourceKind.USER_EXPLICIT
    assert min(SourceKind, key=trust) is SourceKind.INFERENCE


@pytest.mark.req("R-003-056", "R-003-057", "R-003-058", "R-003-113")
@pytest.mark.parametrize(
    ("kind", "circumstances", "expected"),
    [
        ("document", {"origins": 2}, 0.65),
        ("document", {"origins": 5}, 0.8),
        ("document", {"origins": 500}, 0.8),
        ("document", {"origins": 0}, 0.6),
        ("document", {"reinforcements": 1}, 0.675),
        ("document", {"reinforcements": 3}, 0.7125),
        ("document", {"disputes": 1}, 0.525),
        ("document", {"disputes": 3}, 0.4875),
        ("document", {"reinforcements": 2, "disputes": 2}, 0.6),
        ("document", {"reinforcements": 3, "disputes": 1}, 0.66),
        ("document", {"age_days": 182.5}, 0.55),
        ("document", {"age_days": 365}, 0.5),
        ("document", {"age_days": 3_650}, 0.5),
        ("document", {"age_days": -10}, 0.6),
        ("user_explicit", {"origins": 9, "reinforcements": 9}, 1.0),
        ("user_explicit", {"disputes": 50}, 0.852941),
        ("inference", {"disputes": 50, "age_days": 400}, 0.252941),
    ],
)
def test_origins_votes_and_age_move_it(kind, circumstances, expected):
    assert trust(SourceKind(kind), **circumstances) == pytest.approx(expected, abs=1e-6)


@given(KINDS, st.integers(0, 50), VOTES, VOTES, DAYS)
def test_trust_stays_between_0_and_1_and_moves_one_way(kind, origins, up, down, days):
    def at(**changed: float) -> float:
        said = {"origins": origins, "reinforcements": up, "disputes": down, "age_days": days}
        return trust(kind, **(said | changed))

    assert 0 <= at() <= 1
    assert at(origins=origins + 1) >= at()
    assert at(reinforcements=up + 1) >= at()
    assert at(disputes=down + 1) <= at()
    assert at(age_days=days + 30) <= at()


@given(st.integers(1, 1_000))
def test_no_number_of_votes_or_origins_lifts_an_inference_over_the_user(times):
    lifted = trust(SourceKind.INFERENCE, origins=times, reinforcements=times)
    assert lifted < trust(SourceKind.USER_EXPLICIT, age_days=365)


@pytest.mark.req("R-003-117")
@pytest.mark.parametrize(("up", "down", "sent"), [(0, 3, True), (0, 2, False), (1, 9, False)])
def test_three_disputes_that_nobody_contradicts_send_to_review(up, down, sent):
    assert is_unsupported(up, down) is sent


@given(KINDS, st.sampled_from(Channel))
def test_a_channel_lowers_what_is_stated_and_never_raises_it(kind, channel):
    kept = lowered(kind, channel)
    assert trust(kept) <= trust(kind)
    assert lowered(kept, channel) is kept
    assert trust(lowest((kind, kept))) <= trust(kind)


@pytest.mark.parametrize(
    ("kind", "stated", "kept"),
    [
        ("user_explicit", 0.9, 0.9),
        ("system", 1.0, 1.0),
        ("document", 0.9, 0.5),
        ("document", 0.2, 0.2),
        ("inference", None, None),
    ],
)
def test_importance_from_others_than_user_and_system_is_at_most_medium(kind, stated, kept):
    assert allowed_importance(SourceKind(kind), stated) == kept


@pytest.mark.req("R-003-051")
@pytest.mark.parametrize(
    ("provenance", "votes", "expected"),
    [
        ({"source": "user_explicit"}, (), 1.0),
        ({"source": "tool_output", "corroboration": 3}, (), 0.95),
        ({"source": "document", "sourceId": "a.md"}, (1, 0, 0), 0.675),
        ({"source": "document"}, (0, 1, 365), 0.425),
        ({"source": "hearsay"}, (), 0.5),
        ({"source": "document", "trust": 1.0}, (), 0.6),
        (None, (), 0.5),
    ],
)
def test_compute_trust_speaks_neolatas_words(provenance, votes, expected):
    assert compute_trust(provenance, *votes) == pytest.approx(expected)


@pytest.mark.parametrize("wrong", ["user_explicit", {"mood": 1}, {"corroboration": "many"}])
def test_compute_trust_names_what_is_wrong(wrong):
    with pytest.raises(InvalidInput):
        compute_trust(wrong)
