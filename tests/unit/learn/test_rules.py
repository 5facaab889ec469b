"""Rules that notes state, rules that follow from the fixes they tell of, and notes without one."""

from functools import partial

import pytest
from hypothesis import given, strategies as st

from memory_mesh.learn.rules.instructions import base, past_base
from memory_mesh.learn.rules.rules import read_rule
from tests.effort import effort


def rule_of(text: str, *, failed: bool = True) -> str | None:
    found = read_rule(text, failed=failed)
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "TypeError: Cannot read properties of undefined (reading 'map'). The API returns "
                "null without orders. Always default list props to []."
            ),
            "Always default list props to [].",
        ),
        (
            "The cron ran twice. Schedule jobs in UTC, not local time.",
            "Schedule jobs in UTC, not local time.",
        ),
        (
            "Deleted the wrong prefix. Lesson learned: list the keys before any recursive delete.",
            "List the keys before any recursive delete.",
        ),
        (
            "git rebase ate my stash. You want to commit before a rebase, not stash.",
            "Commit before a rebase, not stash.",
        ),
        (
            "Locked the table for 9 minutes. next time add the column nullable and backfill",
            "Add the column nullable and backfill.",
        ),
        (
            "The job read yesterday's file. I should have checked the date in the name first.",
            "Check the date in the name first.",
        ),
        (
            "Redis ran out of memory. Every cache key gets a TTL from now on.",
            "Make sure that every cache key gets a TTL.",
        ),
        (
            "Prices were stale. API paths must not be cached.",
            "API paths must not be cached.",
        ),
        (
            "The upgrade broke. Before a major upgrade compare the extensions of both servers.",
            "Before a major upgrade compare the extensions of both servers.",
        ),
        (
            "Lost a day to floats, use Decimal for money everywhere",
            "Use Decimal for money everywhere. Why: Lost a day to floats.",
        ),
        (
            "It pays to read the plan. It's a must to update SPF before switching senders.",
            "Read the plan. Update SPF before switching senders.",
        ),
        (
            "It broke v1 clients. Fields get added, never renamed.",
            "Make sure that fields get added, never renamed. Why: It broke v1 clients.",
        ),
        (
            "The state got corrupted. State locking via a table is a must.",
            "Use state locking via a table. Why: The state got corrupted.",
        ),
        ("Make sure the port is free. It was not.", "Make sure the port is free."),
        ("We never set a limit; don't start a pod without one.", "Don't start a pod without one."),
    ],
)
def test_a_stated_rule_is_read_as_an_instruction(text: str, expected: str) -> None:
    found = rule_of(text)
    assert found is not None
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "Too many open files. The scraper never closed its responses; wrapped them in a "
                "with block and it ran over night."
            ),
            "Wrap them in a with block. Why: The scraper never closed its responses.",
        ),
        (
            "Build broke on Windows: path too long. Solved by enabling long paths in git config.",
            "Enable long paths in git config. Why: Build broke on Windows: path too long.",
        ),
        (
            "Preflights failed. They were hitting the auth layer. Moved cors before auth. Fixed.",
            "Move cors before auth. Why: They were hitting the auth layer.",
        ),
        (
            "The import died. Null bytes in the CSV. We strip them before COPY now, clean so far.",
            "Strip them before COPY. Why: Null bytes in the CSV.",
        ),
        (
            (
                "Spinner forever, the effect refetched on each render. Adding the dependency array "
                "stopped it."
            ),
            "Add the dependency array. Why: Spinner forever, the effect refetched on each render.",
        ),
        (
            "Two workers took one job. FOR UPDATE SKIP LOCKED solved it.",
            "Use FOR UPDATE SKIP LOCKED. Why: Two workers took one job.",
        ),
        (
            "It could not open the file. The WORKDIR was /src. Fixed the WORKDIR.",
            "Make sure that the WORKDIR is right. Why: The WORKDIR was /src.",
        ),
        (
            "Requests died at each deploy. A sleep before the stop, zero errors since.",
            "Use a sleep before the stop. Why: Requests died at each deploy.",
        ),
        (
            "Deploy failed, assets missing. Forgot to run collectstatic on the host.",
            "Do not forget to run collectstatic on the host.",
        ),
        (
            "Root cause was a stale lock file. Fixed by deleting it in the entrypoint.",
            "Delete it in the entrypoint. Why: Root cause was a stale lock file.",
        ),
    ],
)
def test_a_fix_that_helped_gives_the_rule_that_follows(text: str, expected: str) -> None:
    assert rule_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Don't worry about it.",
        "Never mind, it works now.",
        "Restarted the pod and it came back. No idea what happened.",
        "Timeout talking to the LDAP server. Retried, worked.",
        "Jan thinks we should rewrite it in Rust. We won't.",
        "Should we always retry uploads? The job failed after 3.",
        "Someone proposed that we never deploy on Fridays. The team voted it down.",
        "Checkout 500s during the sale. Rolled back to 4.11, opened INC-331.",
        "fatal: Could not read from remote repository.\n\nPlease make sure you have the rights.",
        "npm ERR! code ERESOLVE\nnpm ERR! Fix the conflict, or retry with --force",
        "Error: ENOSPC: no space left on device. Cleaned up /tmp, continuing.",
        "Never saw the alert. The page was red all night.",
        "Changed the pool size, still fails.",
        "We should look into it tomorrow.",
        "You don't need to restart the server after a change.",
        "I should have known.",
        "",
    ],
)
def test_these_are_no_rules_even_in_a_failure(text: str) -> None:
    assert rule_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Always nice when the tests pass the first time.",
        "Thanks for never giving up on that bug, Lena!",
        "Make sure you try the new ramen place.",
        "Never deploy on Fridays.",
        "The old rule was wrong.",
        "I always have coffee before standup.",
        "Moved to the new office and all is fine.",
    ],
)
def test_a_note_that_is_not_marked_must_tell_of_a_failure(text: str) -> None:
    assert rule_of(text, failed=False) is None


def test_an_unmarked_note_with_a_failure_and_its_rule_is_read() -> None:
    text = "Never trust curl without --fail. The 404 page was saved as our binary."
    assert rule_of(text, failed=False) == "Never trust curl without --fail."


def test_of_a_stored_exchange_only_the_user_is_read() -> None:
    assert rule_of("[USER] It failed.\n\n[ASSISTANT] Always retry uploads with backoff.") is None


@pytest.mark.parametrize(
    ("form", "verb"),
    [
        ("pointed", "point"),
        ("swapped", "swap"),
        ("copied", "copy"),
        ("committed", "commit"),
        ("opened", "open"),
        ("wrote", "write"),
        ("hardcoded", "hardcode"),
        ("templated", "template"),
        ("shimmed", "shim"),
        ("need", ""),
        ("red", ""),
    ],
)
def test_the_base_of_a_verb_in_the_past(form: str, verb: str) -> None:
    assert past_base(form) == verb


def test_other_forms_of_known_verbs() -> None:
    assert [base(form) for form in ("moving", "pushes", "retries", "table")] == [
        "move",
        "push",
        "retry",
        "",
    ]


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for failed in (True, False):
        found = read_rule(text, failed=failed)
        assert found is None or found.text.strip()


def test_long_lines_without_an_end_cost_no_more_than_words() -> None:
    for piece in ("so we ", "a, ", "and moved ", "if x ", "x `", "now ", "fixed by ", '"', "- "):
        assert effort(partial(read_rule, piece * 20_000, failed=True)) < 2000
