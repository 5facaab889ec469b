"""A user's rules are checked when they are read, and then tried before ours."""

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.privacy import NamespaceRedactor, PrivacyRule, user_rules
from tests.effort import effort

TICKET = {"name": "ticket", "pattern": r"ACME-\d{4,8}"}


def redactor(*rules):
    return NamespaceRedactor(b"k" * 32, "default", rules)


def test_a_rule_of_a_user_is_applied():
    (rule,) = user_rules([TICKET])
    text = redactor(rule).text("用户在ACME-12345里写了bob@example.com")
    assert text.startswith("用户在[TICKET_")
    assert "里写了[EMAIL_" in text
    assert redactor(rule).text(text) == text


def test_a_table_from_name_to_pattern_is_the_short_form():
    assert user_rules({"ticket": TICKET["pattern"]})[0].label == "TICKET"


def test_a_label_can_be_chosen():
    (rule,) = user_rules([TICKET | {"label": "CASE"}])
    assert redactor(rule).text("see ACME-12345").startswith("see [CASE_")


def test_a_rule_of_a_user_goes_first():
    (rule,) = user_rules({"boss": r"boss@example\.com"})
    assert redactor(rule).find("boss@example.com bob@example.com")[0].kind == "boss"


@pytest.mark.parametrize(
    "table",
    [
        TICKET | {"pattern": "("},
        TICKET | {"pattern": r"(?=a)b"},  # RE2 has no lookahead
        TICKET | {"pattern": ""},
        TICKET | {"pattern": "a*"},
        {"name": "ticket"},
        TICKET | {"label": "not a label"},
        TICKET | {"pattern": 5},
        TICKET | {"color": "red"},
    ],
)
def test_a_bad_rule_is_an_error_that_names_it(table):
    with pytest.raises(InvalidInput, match="ticket"):
        user_rules([table])


@pytest.mark.parametrize("name", [None, "", "Ticket", "a b", 3])
def test_a_rule_needs_a_name(name):
    with pytest.raises(InvalidInput, match="name"):
        user_rules([TICKET | {"name": name}])


def test_a_greedy_pattern_takes_linear_time():
    (rule,) = user_rules({"greedy": r"(a+)+b"})
    assert effort(lambda: redactor(rule).text("a" * 50_000)) < 100


def test_a_rule_may_find_by_other_means_than_a_pattern():
    class Place:
        def span(self):
            return 4, 9

    class Names:
        def finditer(self, text, /):
            return [Place()] if text[4:9] == "Alice" else []

    rule = PrivacyRule(name="name", label="NAME", pattern=Names(), why="a name")
    assert redactor(rule).text("ask Alice now").startswith("ask [NAME_")
