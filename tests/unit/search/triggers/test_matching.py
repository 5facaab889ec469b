"""Patterns and texts: the forms of a pattern, and how well it meets a text."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model.trigger import Form, MatchContext, Strength
from memory_mesh.search.triggers import patterns
from memory_mesh.search.triggers.patterns import match, match_any, situation

EXAMPLES = [
    pytest.param("auth|login|security", "add login page", "add user page",
                 marks=pytest.mark.req("R-001-072", "R-001-014")),
    pytest.param("implement.*auth", "implement authentication", "auth module",
                 marks=pytest.mark.req("R-001-073")),
    pytest.param("When implementing security", "security features task", "database task",
                 marks=pytest.mark.req("R-001-074", "R-001-071")),
    pytest.param("exploring|navigate|find.*file", "find the config file", "write the config file",
                 marks=pytest.mark.req("R-001-075")),
]  # fmt: skip


def met(triggers, task="", agent="", plan=None):
    return match_any(triggers, situation(MatchContext(task, agent, plan)))


@pytest.mark.parametrize(("pattern", "meets", "misses"), EXAMPLES)
def test_the_example_table(pattern, meets, misses):
    assert match(pattern, meets)
    assert match(pattern, misses) is None


@pytest.mark.req("R-001-013")
def test_any_pattern_of_a_list_suffices():
    assert met(["kitchen", "auth|login"], "add login page")
    assert met(["kitchen", "garden"], "add login page") is None


@pytest.mark.req("R-001-015")
@pytest.mark.parametrize("task", ["fix authentication", "Fix the auth bug", "authn is broken"])
def test_natural_language_is_found_by_its_key_words(task):
    found = match("When task mentions authentication", task)
    assert found
    assert found.form is Form.WORDS
    assert match("When task mentions authentication", "a task that mentions cats") is None


@pytest.mark.req("R-001-068")
@pytest.mark.parametrize("pattern", ["  LOGIN ", "Auth|LogIn", " LOG.*Page\n", r"\bLOGIN\b"])
def test_a_pattern_is_lowercased_and_trimmed(pattern):
    assert match(pattern, "Add the Login page")


@pytest.mark.parametrize(("pattern", "text"), [(r"\S+@acme", "mail bob@acme"), (r"x\Dy", "xzy")])
def test_an_escape_keeps_its_case(pattern, text):
    assert match(pattern, text)
    assert match(pattern, text.replace("z", "1").replace("bob", "")) is None


@pytest.mark.req("R-001-069")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("cache| redis |memcached", "Move redis to another host"),
        ("auth|login", "OAuth"),
        ("(sign|log) ?in|session", "Users log in twice"),
        ("c++|rust", "port it to C++"),
    ],
)
def test_any_alternative_found_in_the_text_suffices(pattern, text):
    assert match(pattern, text)


def test_an_empty_alternative_meets_nothing():
    assert match("auth||", "feed the cat") is None
    assert match("|", "feed the cat") is None
    assert match("", "feed the cat") is None


@pytest.mark.req("R-001-070")
@pytest.mark.parametrize(
    ("pattern", "meets", "misses"),
    [
        ("implement *auth", "IMPLEMENT the Auth", "auth it, then implement"),
        ("docker*compose", "docker and compose", "compose docker"),
        ("find.*file", "find a\nfile", "file a find"),
        (r"v\d+\.\d+", "release v2.14 now", "release v2 now"),
        (r"gr[ae]y", "a grey button", "a groy button"),
        ("colou?r", "the color", "the colr"),
        ("te?t", "a test", "a toast"),
        ("(foo)*bar", "foofoobar", "ba"),
        (r"\w*Service", "the UserService", "the User"),
    ],
)
def test_a_star_and_other_signs_make_a_regular_expression(pattern, meets, misses):
    assert match(pattern, meets)
    assert match(pattern, misses) is None


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("implement.*auth", "implement.*auth"),
        ("auth*", "auth.*"),
        ("a**b", "a.*b"),
        (r"\w*x", r"\w*x"),
        ("[ab]*", "[ab]*"),
    ],
)
def test_only_a_bare_star_stands_for_anything(pattern, source):
    assert patterns.source_of(pattern) == source


@pytest.mark.req("R-001-071")
def test_any_other_pattern_is_a_substring():
    assert match("user.profile page", "open the user profile page")
    found = match("payment code", "Refactor the payment code")
    assert found
    assert (found.form, found.strength) == (Form.PLAIN, Strength.EXACT)


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(", "[a-", "a{2,1}", "x{1001}"])
def test_what_re2_refuses_is_read_as_plain_text(pattern):
    assert match(pattern, f"look at {pattern} there")
    assert match(pattern, "nothing of it") is None


@pytest.mark.parametrize(
    ("pattern", "text", "strength"),
    [
        ("login", "add login page", Strength.EXACT),
        ("logins", "add login page", Strength.EXACT),
        ("auth", "implement authenticity", Strength.MODERATE),
        ("auth", "add OAuth", Strength.LOOSE),
        ("auth", "oauth and auth", Strength.EXACT),
        ("登录", "实现登录页面", Strength.EXACT),
        ("before renaming the public API", "rename the public thing", Strength.CLOSE),
        ("*", "anything at all", Strength.LOOSE),
        (".*", "anything at all", Strength.LOOSE),
    ],
)
def test_how_well_a_pattern_meets_a_text(pattern, text, strength):
    found = match(pattern, text)
    assert found
    assert found.strength is strength


def test_half_of_the_key_words_is_not_enough():
    assert match("When changing the database schema", "Validate the JSON schema") is None


@pytest.mark.req("R-001-047", "R-001-049")
def test_a_context_has_task_agent_and_plan_and_each_may_meet_a_trigger():
    by_task = met(["review"], "review the code", "developer")
    by_agent = met(["reviewer"], "look at the code", "reviewer")
    by_plan = met(["kafka"], "fix it", "developer", "1. stop kafka 2. wait")
    assert [found and found.strength for found in (by_task, by_agent, by_plan)] == [
        Strength.EXACT,
        Strength.MODERATE,
        Strength.LOOSE,
    ]
    assert met(["kafka"], "fix it", "developer") is None


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("implement.*auth", "implement"),
        ("colou?.?r", "colo"),
        ("(abc|de)fg", "fg"),
        (r"\bui\b", "ui"),
        ("[abc]d{2}e", "e"),
        ("a*", ""),
        (r"\p{Greek}x+yz", "yz"),
    ],
)
def test_the_letters_that_every_match_holds(source, needed):
    assert patterns.needed(source) == needed


@given(
    st.text(alphabet="ab.*+?|()[]{}\\^$ -01", max_size=12), st.text(alphabet="ab 01", max_size=12)
)
def test_no_match_is_lost_by_looking_for_its_letters_first(pattern, text):
    for part in patterns.read(pattern):
        if part.source is not None and any(True for _ in patterns.spans(part.source, text)):
            assert part.needed in text


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_breaks_the_matching(pattern, text):
    match(pattern, text)


@given(st.text(alphabet="abc |", min_size=1, max_size=10))
def test_a_plain_alternative_is_found_in_a_text_that_holds_it(pattern):
    parts = patterns.read(pattern)
    assert all(match(pattern, f"see {part.text} here") for part in parts)
