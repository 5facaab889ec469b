"""Procedures that several memories tell in different words."""

from datetime import UTC, datetime

import pytest

from memory_mesh.learn.rules import procedures
from memory_mesh.learn.rules.repeated_procedures import told_alike
from memory_mesh.model import Memory
from tests.effort import effort

AT = datetime(2026, 1, 1, tzinfo=UTC)
ONBOARDING = (
    "Onboarded Lin: created the account, added her to Slack, ordered a laptop, gave repo access.",
    "New colleague Tom. The account exists, he was invited to Slack, laptop ordered, repo granted.",
    "For Aisha I set up the account, Slack invite, laptop order, then repo permissions.",
)


def memories(*texts: str) -> list[Memory]:
    return [
        Memory(id=str(place), text=text, created=AT, recorded_from=AT)
        for place, text in enumerate(texts)
    ]


def test_three_tellings_in_other_words_are_one_procedure() -> None:
    said = memories("The coffee machine is broken.", *ONBOARDING, "Lunch is at noon.")
    found = procedures.recurring(said)
    assert found is not None
    assert set(found.sources) == {"1", "2", "3"}
    assert found.steps == (
        "Create the account",
        "Add her to Slack",
        "Order a laptop",
        "Give repo access",
    )


def test_steps_told_with_arrows_and_by_verbs_of_one_meaning_agree() -> None:
    found = told_alike(
        memories(
            "Invoices: exported hours from Toggl, filled the template, sent the PDFs, booked it.",
            "May: pulled the sheets out of Toggl, made them from the template and mailed them.",
            "June: toggl -> template -> mail -> booking",
        )
    )
    assert found is not None
    assert len(found.steps) >= 3


def test_two_tellings_are_not_enough() -> None:
    assert (
        told_alike(memories(*ONBOARDING[:2], "Lunch is at noon, in the canteen, as ever.")) is None
    )


@pytest.mark.parametrize(
    "texts",
    [
        (
            "Deployed the API, checked the logs, went for lunch.",
            "Deployed the docs: built with hugo, uploaded to S3, cleared the cache.",
            "Deployed nothing, reviewed PRs, wrote tests, updated the roadmap.",
        ),
        (
            "Debugged the login: read the logs, found a typo, fixed it.",
            "Debugged the webhook, tried it with the CLI, wrote a test.",
            "Read the docs of Temporal, tried the sample, wrote a summary.",
        ),
        ("Milk, eggs, bread.", "Passport, charger, shoes.", "Pasta, a film, sleep."),
        (
            "Built the image, tagged the commit, mailed the notes.",
            "Mailed the notes, tagged the commit, built the image.",
            "Tagged the commit, mailed the notes, built the image.",
        ),
    ],
)
def test_what_only_shares_common_words_or_another_order_is_no_procedure(
    texts: tuple[str, ...],
) -> None:
    assert told_alike(memories(*texts)) is None


def test_two_hundred_tellings_are_compared_in_seconds() -> None:
    texts = [
        f"Task {number}: opened case {number}, called customer {number % 7}, wrote report {number}."
        for number in range(200)
    ]
    told = memories(*texts)
    assert effort(lambda: told_alike(told)) < 800
