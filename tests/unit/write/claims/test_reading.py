"""What is read from a statement, and what is not."""

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text.claim_keys import MAX_KEY
from memory_mesh.write.claims import Claim, compare, read
from tests.effort import effort

CERTAIN = [
    ("The default branch is now main", "default branch", "is", "main"),
    ("the default branch is `main`.", "default branch", "is", "main"),
    ("default_branch: main", "default branch", "is", "main"),
    ("Our default branch is main", "default branch", "is", "main"),
    ("deploy day: Friday", "deploy day", "is", "Friday"),
    ("MAX_RETRIES=5", "max retries", "is", "5"),
    ("Update: the staging port is 9090", "staging port", "is", "9090"),
    ("The capital of Peru is Lima", "peru", "capital", "Lima"),
    ("Peru's capital is Lima", "peru", "capital", "Lima"),
    ("Lima is the capital of Peru", "peru", "capital", "Lima"),
    ("The timeout of the gateway is 30 s", "gateway", "timeout", "30 s"),
    ("My manager is Ida", "user", "manager", "Ida"),
    ("I live in Porto", "user", "live in", "Porto"),
    ("I'm based in Porto", "user", "live in", "Porto"),
    ("Ana lives in Porto", "ana", "live in", "Porto"),
    ("Bo works for SAP", "bo", "work for", "SAP"),
    ("Bo is employed by SAP", "bo", "work for", "SAP"),
    ("Maria is married to Paul", "maria", "married to", "Paul"),
    ("Jorge was born in Quito", "jorge", "born in", "Quito"),
    ("Jorge was born in the city of Quito", "jorge", "born in", "Quito"),
    ("Acme was founded by Jane Roe", "acme", "founded by", "Jane Roe"),
    ("We use Valkey for the cache", "we", "use for cache", "Valkey"),
    ("The motto is “carpe diem”", "motto", "is", "carpe diem"),
    ("Albert, Prince Consort is married to Vi", "albert prince consort", "married to", "Vi"),
    ("A Day in the Life was performed by Ana", "a day in life", "performed by", "Ana"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "subject", "predicate", "value"), CERTAIN)
def test_a_plain_statement_gives_its_claim(text, subject, predicate, value):
    claim = read(text)
    assert claim is not None
    wanted = subject.removeprefix("a ")  # an article is no part of a key
    assert (claim.subject, claim.predicate, claim.value) == (wanted, predicate, value)
    assert claim.exclusive
    assert claim.certain
    assert claim.read


@pytest.mark.parametrize(
    ("text", "predicate", "value", "old"),
    [
        ("Use pnpm instead of npm", "use", "pnpm", "npm"),
        ("Use pnpm instead of npm for installs", "use for installs", "pnpm", "npm"),
        ("We moved from MySQL to Postgres", "use", "Postgres", "MySQL"),
        ("We switched from Trello to Linear for planning", "use for planning", "Linear", "Trello"),
        ("We have migrated from REST to gRPC", "use", "gRPC", "REST"),
        ("We replaced Moment with Luxon", "use", "Luxon", "Moment"),
        ("I moved from Kiel to Bonn", "live in", "Bonn", "Kiel"),
        ("The cache backend is now Valkey, not Redis", "is", "Valkey", "Redis"),
        ("We changed the port from 80 to 81", "is", "81", "80"),
    ],
)
def test_a_change_names_what_it_replaces(text, predicate, value, old):
    claim = read(text)
    assert claim is not None
    assert (claim.predicate, claim.value, claim.replaces) == (predicate, value, old)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Is the port 8080?",
        "If the port is 8080, use nginx",
        "Ana said the port is 8080",
        "The port would be 8080",
        "The port should be 8080",
        "Maybe the deadline is Friday",
        "When the mode is fast, the limit is 10",
        "For example, the port is 80",
        "The port was 3000 in 2019",
        "Ana used to live in Kiel",
        "I live in Porto. My dog is called Rex.",
        "The port is 80\nThe host is db1",
        "The port is 80; the host is db1",
        "She lives in Rome",
        "It is 8080",
        "step 3 done",
        "Fixed bug #112",
        "ERROR: connection refused",
        "Note: ask Ben about the invoice",
        "Ana: yes, let us do that",
        "user: hello",
        "token = os.environ['TOKEN']",
        "    type: string",
        "- **Price**: $120",
        '"The port is 80"',
        "Bo knows that the port is 80",
        "My name is Budi, and I live in Jakarta",
        "The port is 80 " + "x" * 400,
    ],
)
def test_what_states_nothing_gives_no_claim(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "My dog is called Rex",
        "My phone number is 555-0142",
        "My hobby is climbing",
        "Ruth's child is Samuel",
        "My sister lives in Leeds",
        "I speak German",
        "I like hiking",
        "I have a meeting with Priya on Tuesday",
        "One of our offices is in Dublin",
        "A client of ours is Acme",
        "Another option is LMDB",
        "We also use Grafana",
        "We use Redis",
        "Jonas is a nurse",
        "The project depends on numpy",
    ],
)
def test_what_one_can_have_many_of_is_not_exclusive(text):
    claim = read(text)
    assert claim is not None
    assert not claim.exclusive


@pytest.mark.parametrize(
    "text",
    [
        "Deploys happen on Fridays",
        "The file is a.py",
        "The song was written by Ana",
        "The meeting is on Monday",
        "The error is E101",
        "name: Ana",
        "We use Jenkins for CI",
    ],
)
def test_what_may_be_meant_otherwise_is_not_certain(text):
    claim = read(text)
    assert claim is not None
    assert not claim.certain


def test_the_first_person_is_the_speaker():
    claim = read("My manager is Ida", speaker="Ana Silva")
    assert claim is not None
    assert claim.subject == "ana silva"
    assert read("Ana Silva's manager is Ida") == claim


def test_a_denial_keeps_the_key_and_turns_the_value():
    said, denied = read("Deploys happen on Fridays"), read("Deploys never happen on Fridays")
    assert said is not None
    assert denied is not None
    assert (said.subject, said.predicate) == (denied.subject, denied.predicate)
    assert denied.value == f"not {said.value}"


def test_a_town_and_its_country_are_not_two_values_of_one_thing():
    town, country = read("I live in Berlin"), read("I live in Germany")
    assert town is not None
    assert country is not None
    assert town.predicate != country.predicate


SMALL = """
    the a my our port of is are not never now was born in Ana lives use for instead from to moved
    Rome , : = 's I we uses with that city no longer 8080
"""
WORDS = st.sampled_from(SMALL.split())


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=14).map(" ".join)))
def test_any_text_is_read_the_same_way_each_time_and_never_raises(text):
    claim = read(text)
    assert claim == read(text)
    if claim is not None:
        assert claim.read
        assert 0 < len(claim.subject) <= MAX_KEY
        assert 0 < len(claim.predicate) <= MAX_KEY
        assert claim.value
        assert compare(claim, claim).value == "same"


@pytest.mark.parametrize(
    "unit", ["a ", "is ", "'s ", "of ", "x: ", "and runs ", "no longer ", "\n", "="]
)
def test_a_hostile_text_costs_no_time(unit):
    texts = [(unit * size)[:size] for size in (400, 100_000)]
    assert effort(lambda: [read(text) for text in texts]) < 20  # a quadratic pattern takes minutes


def test_claims_are_plain_values():
    assert read("The staging port is 9090") == Claim(
        subject="staging port", predicate="is", value="9090", read=True
    )


def test_the_words_are_loaded_with_the_first_text_not_before():
    code = (
        "import sys; from memory_mesh.write import claims\n"
        "assert 'memory_mesh.write.claims.word_lists' not in sys.modules\n"
        "assert claims.read('deploy day: Friday')\n"
        "assert 'memory_mesh.write.claims.word_lists' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
