"""How a newcomer stands to what is known: every row of the table, and what always holds."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model.errors import InvalidInput
from memory_mesh.write.claims import (
    NORMALIZERS,
    Claim,
    ClaimRelation,
    compare,
    keyed,
    normalised,
    read,
    stated,
)

SAME, CONFLICT, BESIDE, UNSURE = ClaimRelation


def told(
    value: str, *, exclusive: bool = True, certain: bool = True, replaces: str | None = None
) -> Claim:
    return Claim(
        subject="s",
        predicate="p",
        value=value,
        exclusive=exclusive,
        certain=certain,
        replaces=replaces,
        read=True,
    )


def of_caller(value: str, *, exclusive: bool = True) -> Claim:
    return stated("s", "p", value, exclusive=exclusive)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (of_caller("9k"), of_caller("9k"), SAME),
        (of_caller("9k"), of_caller("5k"), CONFLICT),
        (of_caller("9K"), of_caller("9k"), CONFLICT),  # a caller's value is compared as it is
        (of_caller("9k", exclusive=False), of_caller("5k"), BESIDE),
        (of_caller("9k"), of_caller("5k", exclusive=False), BESIDE),
        (of_caller("9k", exclusive=False), of_caller("9k"), SAME),
        (told("Fridays"), of_caller("fridays"), SAME),
        (told("the cloud"), told("Cloud"), SAME),
        (told("AB3"), told("aB3"), CONFLICT),  # a code means its capitals
        (told("-5"), told("5"), CONFLICT),
        (told("not Friday"), told("Friday"), CONFLICT),
        (told("Friday"), told("not Friday"), CONFLICT),
        (told("not Friday", certain=False), told("Friday"), CONFLICT),
        (told("not Friday"), told("not friday"), SAME),
        (told("not Friday"), told("Monday"), BESIDE),
        (told("not Windows", exclusive=False), told("Windows", exclusive=False), CONFLICT),
        (told("not Windows"), of_caller("Windows", exclusive=False), BESIDE),
        (told("tabs", exclusive=False), told("quotes", exclusive=False), BESIDE),
        (told("dark"), told("light", exclusive=False), UNSURE),
        (told("light", exclusive=False), told("dark"), BESIDE),
        (told("a.py", certain=False), told("b.py"), UNSURE),
        (told("a.py"), told("b.py", certain=False), UNSURE),
        (told("Postgres"), told("Postgres 16"), UNSURE),  # vaguer: nothing is known to have changed
        (told("Postgres 16"), told("Postgres"), CONFLICT),
        (told("pnpm", exclusive=False, replaces="npm"), told("npm", exclusive=False), CONFLICT),
        (told("pnpm", exclusive=False, replaces="npm"), told("yarn", exclusive=False), BESIDE),
        (told("pnpm", replaces="npm"), told("not npm"), BESIDE),
        (told("pnpm", replaces="npm"), told("npm", certain=False), CONFLICT),
    ],
)  # fmt: skip
def test_two_claims_compare_by_the_table(new, old, expected):
    assert compare(new, old) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The default branch is master", "The default branch is now main", CONFLICT),
        ("The capital of Elbonia is Mud", "Elbonia's capital is Clay", CONFLICT),
        ("Kofi is the CTO of Acme", "The CTO of Acme is Ida", CONFLICT),
        ("deploy day: Friday", "The deploy day is Monday", CONFLICT),
        ("We use npm", "Use pnpm instead of npm", CONFLICT),
        ("We use tabs", "Use pnpm instead of npm", BESIDE),
        ("I live in Kiel", "I moved from Kiel to Bonn", CONFLICT),
        ("Feature X is enabled", "Feature X is disabled", CONFLICT),
        ("The API is public", "The API is not public", CONFLICT),
        ("Deploys happen on Fridays", "Deploys never happen on Fridays", CONFLICT),
        ("Deploys never happen on Fridays", "Deploys happen on Mondays", BESIDE),
        ("Deploys happen on Fridays", "Deploys happen on Tuesdays", UNSURE),
        ("The user prefers light mode", "The user now prefers dark mode", UNSURE),
        ("My cat is called Miso", "My cat is called Tofu", BESIDE),
        ("I like hiking", "I like sailing", BESIDE),
        ("The port of db1 is 5432", "The port of db1 is 5432.", SAME),
    ],
)
def test_two_statements_compare_by_rule_not_by_likeness(old, new, expected):
    before, after = read(old), read(new)
    assert before is not None
    assert after is not None
    assert (before.subject, before.predicate) == (after.subject, after.predicate)
    assert compare(after, before) is expected


CLAIMS = st.builds(
    Claim,
    subject=st.just("s"),
    predicate=st.just("p"),
    value=st.sampled_from(["a", "A", "b", "a b", "not a", "not b", "5", "-5"])
    | st.text(min_size=1),
    exclusive=st.booleans(),
    certain=st.booleans(),
    replaces=st.none() | st.sampled_from(["a", "b"]),
    read=st.booleans(),
)


@given(CLAIMS, CLAIMS, st.sampled_from(sorted(NORMALIZERS)))
def test_comparing_is_total_and_sameness_and_denial_know_no_order(one, two, how):
    there, back = compare(one, two, normalize=how), compare(two, one, normalize=how)
    assert there in ClaimRelation
    assert compare(one, two, normalize=how) is there
    assert (there is SAME) == (back is SAME)
    if one.replaces is None and two.replaces is None and one.exclusive == two.exclusive:
        undecided = {there, back} - {SAME, BESIDE}
        assert len({there, back}) == 1 or undecided == {CONFLICT, UNSURE}  # one may be vaguer


@given(CLAIMS)
def test_a_claim_is_the_same_as_itself(claim):
    assert compare(claim, claim) is SAME


@pytest.mark.req("R-003-048")
@pytest.mark.parametrize(
    ("how", "value", "expected"),
    [
        ("none", "  A b ", "  A b "),
        ("trim", "  A b ", "A b"),
        ("lowercase", " A b ", " a b "),
        ("lowercase_trim", " A b ", "a b"),
        ("currency", "$1,234.50", "USD 1234.5"),
        ("currency", "1234.5 USD", "USD 1234.5"),
        ("currency", "usd 1,234.50", "USD 1234.5"),
        ("currency", "US$ 5", "USD 5"),
        ("currency", "€1.234,50", "EUR 1234.5"),
        ("currency", "1 234 euros", "EUR 1234"),
        ("currency", "£99.00", "GBP 99"),
        ("currency", "¥1,000,000", "JPY 1000000"),
        ("currency", "C$ 12", "CAD 12"),
        ("currency", "20 AUD", "AUD 20"),
        ("currency", "₹0.50", "INR 0.5"),
        ("currency", "$9k", "USD 9000"),
        ("currency", "1.25 million dollars", "USD 1250000"),
        ("currency", "-$5", "USD -5"),
        ("currency", " about five ", "about five"),
        ("currency", "1234.50", "1234.50"),
        ("currency", "$", "$"),
    ],
)
def test_a_value_is_normalised_as_named(how, value, expected):
    assert normalised(value, how) == expected


def test_an_unknown_normalizer_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="lowercase_trim, currency"):
        normalised("x", "money")


@given(st.text(), st.sampled_from(sorted(NORMALIZERS)))
def test_normalising_is_total_and_done_twice_changes_nothing(value, how):
    once = normalised(value, how)
    if how != "lowercase":  # a few capitals have a lowercase of two signs
        assert normalised(once, how) == once


def test_spellings_of_one_amount_are_the_same():
    assert compare(of_caller("$5,000"), of_caller("5000 USD"), normalize="currency") is SAME
    assert compare(of_caller("$5,000"), of_caller("9000 USD"), normalize="currency") is CONFLICT


@pytest.mark.parametrize(
    ("subject", "predicate", "value", "fault"),
    [
        ("", "p", "v", "needs a subject"),
        ("s", " ", "v", "needs a predicate"),
        ("s", "p", "", "needs a value"),
        ("s" * 101, "p", "v", "subject of a claim is too long; the limit is 100 "),
        ("s", "p" * 101, "v", "predicate of a claim is too long; the limit is 100 "),
        ("s", "p", "v" * 1001, "value of a claim is too long; the limit is 1000 "),
    ],
)
def test_a_caller_s_claim_is_checked(subject, predicate, value, fault):
    with pytest.raises(InvalidInput, match=fault):
        stated(subject, predicate, value)


def test_a_caller_s_claim_meets_what_was_read():
    claim = keyed(stated("Peru", "Capital", "Lima"))
    assert (claim.subject, claim.predicate, claim.read) == ("peru", "capital", False)
    said = read("The capital of Peru is Lima")
    assert said is not None
    assert compare(said, claim) is SAME
    assert keyed(stated("!", "?", "v")).subject == "!"
    assert stated("Peru", "Capital", "Lima").subject == "Peru"  # redacted before it is folded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Retries are capped at five in project:mesh", "Retries are capped at 3 in project:other"),
        ("Retries are capped at five", "Retries are capped at three for the mobile app"),
        ("The timeout is 30 seconds on staging", "The timeout is 60 seconds on production"),
        ("The timeout is 30 seconds (staging)", "The timeout is 60 seconds (production)"),
        ("The port is 3000 locally", "The port is 8080 in Docker"),
        ("The deploy day is Friday for the web team", "The deploy day is Monday for the app team"),
        ("Backups are stored in S3 for production", "Backups are stored in GCS for staging"),
        ("The service is deployed on Nomad in US", "The service is deployed on Kubernetes in EU"),
        ("Node version: 20 for frontend", "Node version: 18 for lambda"),
        ("Ana lives in Porto", "Ana lives in Lisbon during the week"),
        ("My doctor is Dr. Silva", "My doctor is Dr. Costa for the knees"),
    ],
)
def test_what_holds_elsewhere_is_another_question(old, new):
    one, other = read(old), read(new)
    assert one is not None
    assert other is not None
    assert (one.subject, one.predicate) != (other.subject, other.predicate)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The timeout is 30 seconds on staging", "The timeout is 1 minute on staging", CONFLICT),
        ("The retry limit is 5", "The retry limit is 7 for now", CONFLICT),
        ("Ana lives in Porto in Portugal", "Ana lives in Lyon in France", CONFLICT),
        ("Uploads are limited to 10 MB", "Uploads are limited to 1 GB", CONFLICT),
        ("Uploads are limited to 10 MB", "Uploads are limited to 5 files per request", UNSURE),
        ("Free accounts are limited to 3 users", "Free accounts are limited to 9 apps", UNSURE),
        ("Passwords are stored in Vault", "Passwords are stored in hashed form", BESIDE),
        ("My address is 12 Elm Street", "My address is 9 Oak Avenue", CONFLICT),
        ("The error code is 500", "The error code is 404", UNSURE),
        ("The author of the PR is Ana", "The author of the PR is Ben", UNSURE),
        ("The ticket's priority is high", "The ticket's priority is low", BESIDE),
        ("commit: abc123", "commit: def456", UNSURE),
        ("Deadline: Friday", "Deadline: Monday", UNSURE),
        ("line number: 12", "line number: 40", UNSURE),
    ],
)
def test_values_of_one_question(old, new, expected):
    one, other = read(old), read(new)
    assert one is not None
    assert other is not None
    assert (one.subject, one.predicate) == (other.subject, other.predicate)
    assert compare(other, one) is expected
