"""Which sentences of a prompt state something that lasts, and whose it is."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.base.word_files import bytes_beside
from memory_mesh.learn.rules import lasting
from memory_mesh.learn.rules.statements import statements, takes_back
from memory_mesh.model import Kind
from tests.corpora.statements import sentences


@pytest.mark.parametrize("sentence", sentences("person"))
def test_a_preference_of_the_person_has_no_project(sentence: str) -> None:
    found = statements(sentence)
    assert [one.personal for one in found] == [True]
    assert found[0].kind is Kind.PREFERENCE


@pytest.mark.parametrize("sentence", sentences("project"))
def test_what_holds_in_the_project_is_kept_for_it(sentence: str) -> None:
    found = statements(sentence, waiting=True)
    assert found
    assert not any(one.personal for one in found)


@pytest.mark.parametrize("sentence", sentences("passing"))
def test_what_passes_is_not_kept(sentence: str) -> None:
    assert statements(sentence) == []


@pytest.mark.parametrize("sentence", ["start a run with batch 64", "open the build with node 22"])
def test_an_order_whose_object_may_be_a_verb_is_no_fact(sentence: str) -> None:
    assert statements(sentence) == []


@pytest.mark.parametrize(
    ("prompt", "text", "kind"),
    [
        ("remember that staging is reset at night", "staging is reset at night", Kind.FACT),
        ("oh and also we settled on zod for input.", "we settled on zod for input.", Kind.DECISION),
        ("no, the api runs on port 9000", "the api runs on port 9000", Kind.CORRECTION),
        ("my bad. we are on django 4.2 now", "we are on django 4.2 now", Kind.CORRECTION),
        ("it was the proxy, not DNS", "it was the proxy, not DNS", Kind.CORRECTION),
        ("I always use tabs", "I always use tabs", Kind.PREFERENCE),
        ("public ids are ulids", "public ids are ulids", Kind.FACT),
    ],
)
def test_the_sentence_is_kept_without_its_opening_words(prompt: str, text: str, kind: Kind) -> None:
    assert [(one.text, one.kind) for one in statements(prompt)] == [(text, kind)]


def test_each_sentence_is_judged_by_itself() -> None:
    prompt = "add a test. we use pytest here, never unittest. why is it red? thanks"
    assert [(one.place, one.text) for one in statements(prompt)] == [
        (1, "we use pytest here, never unittest.")
    ]


def test_a_bare_request_to_remember_means_the_sentence_before() -> None:
    found = statements("the vault lies under infra/vault. remember that")
    assert [one.text for one in found] == ["the vault lies under infra/vault."]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("I never use emojis, fix the last commit", "I never use emojis"),
        ("we use pytest here, so please rewrite the test", "we use pytest here"),
        ("ids are ulids, never serials - add the column", "ids are ulids, never serials"),
        (
            "all mail goes through the outbox, always use it",
            "all mail goes through the outbox, always use it",
        ),
        ("we use tabs, keep it like that", "we use tabs, keep it like that"),
        (
            "our api always uses problem+json, see RFC 7807",
            "our api always uses problem+json, see RFC 7807",
        ),
    ],
)
def test_an_order_for_the_task_is_cut_off_a_statement(prompt: str, text: str) -> None:
    assert [one.text for one in statements(prompt, waiting=True)] == [text]


@pytest.mark.parametrize(
    ("prompt", "waits"),
    [
        ("Mein Schwager meint, man müsse grundsätzlich immer alles zehn Jahre aufheben.", True),
        ("we use pytest here", True),
        ("remember that we use pytest here", False),
        ("no, we use pytest here, not unittest", False),
        ("I always use pytest", False),
        ("ids are ulids, never serials", False),
    ],
)
def test_what_a_rule_knows_and_the_odds_doubt_waits_unless_it_was_asked_for(
    prompt: str, *, waits: bool
) -> None:
    assert [one.waits for one in statements(prompt, waiting=True)] == [waits]


def test_lines_of_a_log_state_nothing() -> None:
    log = "[13:02] mara: node-b always runs on disk\nI, [2026-11-19T10:02:11] INFO -- : mail queued"
    assert statements(log, waiting=True) == []


def test_a_sentence_that_repairs_the_one_before_takes_its_place() -> None:
    found = statements("we deploy from main. no wait, we deploy from release branches")
    assert [one.text for one in found] == ["we deploy from release branches"]


def test_a_list_behind_a_request_to_remember_is_kept() -> None:
    found = statements("remember:\n- node 20 at least\n- pnpm for packages\nnow add the skeleton")
    assert [one.text for one in found] == ["node 20 at least", "pnpm for packages"]


def test_rules_for_a_text_that_is_asked_for_are_its_content() -> None:
    assert statements("write a rules file for cursor. always use const. never use any.") == []


def test_a_secret_is_not_kept_even_if_asked_for() -> None:
    assert statements("remember that the api key is 7f3c9b1de0a84c52b6") == []
    assert statements("please remember: postgres://app:s3cr3t-Moewe@10.0.0.5/shop is prod") == []


def test_words_that_take_something_back_are_known() -> None:
    assert takes_back("scratch that, no redis")
    assert not takes_back('the button says "scratch that"')


def test_of_a_very_long_prompt_both_ends_are_read() -> None:
    prompt = "we use bun here, never npm\n" + "row of a table\n" * 50_000 + "ids are ulids, always"
    assert [one.text for one in statements(prompt)] == [
        "we use bun here, never npm",
        "ids are ulids, always",
    ]


def test_no_more_than_asked_for_are_read() -> None:
    assert len(statements("\n".join(f"we use tool{n} here" for n in range(50)), 7)) == 7


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("receipts are kept for seven years", Kind.FACT),
        ("Commity piszemy po angielsku, w trybie rozkazującym", Kind.FACT),
        ("My daughter is allergic to peanuts", Kind.PREFERENCE),
    ],
)
def test_what_is_very_likely_to_last_is_kept_without_a_rule(sentence: str, kind: Kind) -> None:
    assert [(one.kind, one.personal, one.waits) for one in statements(sentence)] == [
        (kind, kind is Kind.PREFERENCE, False)
    ]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("覚えておいて:ステージング環境は stg にあります。", "ステージング環境は stg にあります。"),
        ("请记住:生产服务器在法兰克福。", "生产服务器在法兰克福。"),
        ("기억해 줘: 배포는 목요일에 합니다.", "배포는 목요일에 합니다."),
        ("Zapamiętaj, że API działa na porcie 8081.", "API działa na porcie 8081."),
        ("Onthoud dat de server op 9001 draait.", "de server op 9001 draait."),
        ("Запомни, что релизы по вторникам.", "релизы по вторникам."),
        ("Kom ihåg att fakturor är i euro.", "fakturor är i euro."),
    ],
)
def test_a_request_to_remember_is_understood_in_other_languages(prompt: str, text: str) -> None:
    assert [one.text for one in statements(prompt)] == [text]


def test_what_probably_lasts_is_given_only_to_who_asks_for_what_waits() -> None:
    sentence = "Все цены у нас хранятся в копейках"
    assert statements(sentence) == []
    assert [(one.text, one.waits) for one in statements(sentence, waiting=True)] == [
        (sentence, True)
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Fais-moi un résumé de ce fichier",
        "このテストを直してください",
        "the tests are red again since this morning",
        "it is kept for seven years",  # what is?
        "I guess receipts are kept for seven years",
    ],
)
def test_what_is_unlikely_to_last_or_guessed_does_not_even_wait(sentence: str) -> None:
    assert statements(sentence, waiting=True) == []


def test_both_sets_of_weights_have_one_for_each_place() -> None:
    for name in ("lasting", "of_person"):
        assert len(bytes_beside(lasting.__file__, f"{name}.bin")) == lasting.PLACES


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    for one in statements(text):
        assert one.text
