"""What a prompt's writer wrote, and what was pasted into it."""

import pytest

from memory_mesh.learn.rules.own_words import own_sentences, without_quotes

RULE = "we always use tabs"


@pytest.mark.parametrize(
    "prompt",
    [
        f"explain\n```python\n# {RULE}\n```",
        f"explain\n~~~\n{RULE}\n~~~",
        f"> {RULE}\nis this so?",
        f"Traceback (most recent call last):\n  File 'a.py', line 1\n{RULE}",
        f"2024-05-03 02:31:09,870 WARN importer {RULE}",
        f"[INFO] {RULE}",
        f"ERROR: {RULE}",
        f"RuntimeError: {RULE}",
        f"error: {RULE}",
        f"// {RULE}",
        f"    x = {{}}  # {RULE}",
        f"+// {RULE}",
        f"$ echo {RULE}",
        f"| {RULE} |",
        f"<log>\n{RULE}\n</log>",
        f"<system-reminder>{RULE}</system-reminder>",
        f"summarize this page for me:\n{RULE}",
        f"translate the following:\n\n{RULE}",
        f"here's the mail from ops:\n\n{RULE}",
        f"proofread this paragraph\n{RULE}",
        f"Subject: rules\nFrom: Kim\n\n{RULE}",
        f"/remember {RULE}",
        f"!echo {RULE}",
        f'I paste it: "Hi all, it is Monday again. {RULE} from now on. See you, Tom" ok?',
        "x" * 9_000 + RULE,
    ],
)
def test_what_was_pasted_is_left_out(prompt: str) -> None:
    assert not any(RULE in sentence for sentence in own_sentences(prompt))


@pytest.mark.parametrize(
    "prompt",
    [
        RULE,
        f"look\n```\ncode\n```\n{RULE}",
        f"the import crashed\n\nERROR importer row 1\n\n{RULE}",
        f"- {RULE}\n- and small functions",
        f"1. {RULE}",
        f"some context: it is old.\n{RULE}",
        f"{RULE} and sign as 'Dr. L. Berg'",
    ],
)
def test_what_the_writer_says_beside_it_is_kept(prompt: str) -> None:
    assert any(RULE in sentence for sentence in own_sentences(prompt))


def test_a_pasted_part_ends_at_an_empty_line_and_a_pasted_text_does_not() -> None:
    answer = "here is the response of the api:\nwe never do it\n\namounts are in cents"
    assert own_sentences(answer)[1:] == ["amounts are in cents"]
    mail = "here is the mail:\nwe never do it\n\namounts are in cents"
    assert own_sentences(mail)[1:] == []


def test_sentences_end_in_lower_case_too() -> None:
    assert own_sentences("usage is below 0.3%. so drop it, e.g. now. ok") == [
        "usage is below 0.3%.",
        "so drop it, e.g. now.",
        "ok",
    ]


def test_a_wrapped_line_goes_on_and_a_short_one_ends() -> None:
    first = "The supplier files use the german number format, with a comma as"
    assert own_sentences(f"{first}\nthe decimal separator.\nthanks") == [
        f"{first} the decimal separator.",
        "thanks",
    ]


def test_quotations_and_code_are_blanked() -> None:
    assert without_quotes("commit with \"always x\" and 'never y' in `z`") == (
        'commit with "" and "" in `x`'
    )
    assert without_quotes("the comment says: never do it") == 'the comment says: ""'
    assert without_quotes("don't touch it, it's old") == "don't touch it, it's old"


@pytest.mark.parametrize(
    "chat",
    [
        "User: We decided to use Oslo.\nAssistant: Good.",
        "User: hello\nWe decided to use Oslo.",
        "Human: We decided to use Oslo.\n\nAssistant: Good. We decided to use Oslo.",
        "**User:** We decided to use Oslo.\n**Assistant:** Good.",
        "**User**: We decided to use Oslo.",
        "[user]: We decided to use Oslo.",
        "- User: We decided to use Oslo.",
        "  USER (10:32): We decided to use Oslo.",
        "### User\nWe decided to use Oslo.\n### Assistant\nGood.",
        "user> We decided to use Oslo.",
        "You said:\nWe decided to use Oslo.\nChatGPT said:\nWe decided to use Oslo.",
    ],
)
def test_a_copied_chat_with_a_model_is_not_its_writers_own(chat: str) -> None:
    assert own_sentences(chat) == []
    assert own_sentences(f"We keep the logs for a week.\n\n{chat}\n\nWe decided to use Rome.") == [
        "We keep the logs for a week."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The user: it decided everything.",
        "User stories are kept in Linear.",
        "Users: see the wiki.",
        "Decision: we use Oslo.",
        "We call it Assistant: it helps.",
        "Claude, remember that we use Oslo.",
    ],
)
def test_a_sentence_about_users_and_assistants_stays_its_writers_own(text: str) -> None:
    assert own_sentences(text) == [text]


def test_a_label_within_code_ends_nothing() -> None:
    said = "Use this file:\n```\nUser: postgres\n```\nWe decided to use Oslo."
    assert "We decided to use Oslo." in own_sentences(said)
