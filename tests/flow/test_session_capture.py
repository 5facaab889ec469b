"""What a hook stores of a session: the user's word, corrections, failures; and what never."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from memory_mesh.agents.hook.capture import MOST_OF_PROMPT, Captured, captured
from memory_mesh.agents.hook.capture.heard import MOST, MUCH
from memory_mesh.agents.sessions import Session
from memory_mesh.model import Channel, Kind, Memory, Outcome, SourceKind, Status
from memory_mesh.model.ports import Embedder
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock, ScriptedLLM

BUSY = "Error: listen EADDRINUSE: address already in use :::3000"
FIXED = "An old grafana container was bound to 3000. I stopped it and npm start works."


class Host:
    """A host's session and its store."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self.mesh, self.count = mesh, 0
        self.session = Session.of(mesh.folder, "claude-code", "s-1")

    def tell(self, event: str, **given: object) -> Captured:
        self.count += 1
        return self.again(event, **given)

    def again(self, event: str, **given: object) -> Captured:
        told: Mapping[str, object] = {"event": event, **given}
        return captured(self.mesh, self.session, told, key=f"request-{self.count}")

    def prompt(self, text: str) -> Captured:
        return self.tell("UserPromptSubmit", prompt=text)

    def fails(self, command: str, error: str) -> Captured:
        return self.tell(
            "PostToolUseFailure", tool_name="Bash", tool_input={"command": command}, error=error
        )

    def answers(self, text: str) -> Captured:
        return self.tell("Stop", last_assistant_message=text)

    def held(self) -> list[Memory]:
        return list(self.mesh.get_all(include=[Status.QUARANTINED], limit=1000))[::-1]

    def texts(self) -> list[str]:
        return [memory.text for memory in self.held()]


@pytest.fixture
def host(tmp_path: Path, clock: FrozenClock) -> Iterator[Host]:
    with MemoryMesh(
        db_dir=tmp_path / "store", clock=clock, project="shop", session="s-1", channel=Channel.HOOK
    ) as mesh:
        yield Host(mesh)


def test_the_sentence_is_stored_as_the_users_word_for_the_project(host: Host) -> None:
    done = host.prompt(
        "add a test for it. public ids are ulids, never expose the serial id. thanks"
    )
    (memory,) = host.held()
    assert memory.text == "public ids are ulids, never expose the serial id."
    assert memory.source.kind is SourceKind.USER_EXPLICIT
    assert memory.source.channel is Channel.HOOK
    assert (memory.scope.project, memory.scope.session) == ("shop", None)
    assert [receipt.id for receipt in done.receipts] == [memory.id]
    assert done.line is None


def test_a_preference_of_the_person_is_stored_without_a_project_and_the_line_says_so(
    host: Host,
) -> None:
    done = host.prompt("also fyi I always use tabs, never spaces")
    (memory,) = host.held()
    assert memory.scope.project is None
    assert memory.kind is Kind.PREFERENCE
    assert done.for_person == 1
    assert done.line == "stored for all your projects: 1"


@pytest.mark.parametrize(
    ("first", "then", "kept", "kind"),
    [
        (
            "we're on django 3.2 so no async orm",
            "oh right. my bad, we are on django 4.2 now. async orm is fine to use",
            "we are on django 4.2 now.",
            Kind.CORRECTION,
        ),
        (
            "lets go with redis for the session store",
            "change of plans: we're not going with redis, sessions stay in postgres.",
            "we're not going with redis, sessions stay in postgres.",
            Kind.DECISION,
        ),
        (
            "the dev server runs on port 8080 here, not on 3000",
            "the dev server runs on port 9090 here, not on 3000",
            "the dev server runs on port 9090 here, not on 3000",
            Kind.CORRECTION,
        ),
        (
            "let's go with graphql for the public api",
            "hmm on second thought, we stay with rest. clients know it",
            "we stay with rest.",
            Kind.DECISION,
        ),
        (
            "the timeout in the gateway is 30s",
            "ok you're right, it's 60s in the gateway",
            "it's 60s in the gateway",
            Kind.CORRECTION,
        ),
        (
            "I always use tabs",
            "no, i was wrong, I always use spaces in all my projects, not tabs",
            "I always use spaces in all my projects, not tabs",
            Kind.PREFERENCE,
        ),
    ],
)
def test_what_is_corrected_in_the_session_is_stored_as_corrected(
    host: Host, first: str, then: str, kept: str, kind: Kind
) -> None:
    host.prompt(first)
    (before,) = host.held()
    host.answers("Done.")
    done = host.prompt(then)
    memory = next(one for one in host.held() if one.id == before.id)
    assert (memory.text, memory.kind) == (kept, kind)
    assert first not in host.texts()
    assert [one.text for one in host.mesh.history(memory.id)] == [first, kept]
    assert done.receipts[0].id == memory.id


def test_what_may_hold_for_the_moment_only_waits_and_replaces_nothing(host: Host) -> None:
    done = host.prompt("Все цены у нас хранятся в копейках")
    (memory,) = host.held()
    assert memory.status is Status.QUARANTINED
    assert [receipt.outcome for receipt in done.receipts] == [Outcome.QUARANTINED]
    assert (memory.scope.project, done.line) == ("shop", None)
    assert host.mesh.context("в чём хранятся цены?").items == ()
    host.prompt("Все цены у нас хранятся в копейках")
    assert len(host.held()) == 1


def test_what_is_taken_back_is_deleted(host: Host) -> None:
    host.prompt("we use kafka here, never sqs")
    host.prompt("ids are ulids, always")
    host.prompt("forget that, do the other thing first")
    assert len(host.held()) == 2
    host.prompt("scratch that about kafka")
    assert host.texts() == ["ids are ulids, always"]


def test_another_statement_leaves_the_first_alone(host: Host) -> None:
    host.prompt("the api uses postgres 15")
    host.prompt("no, the worker runs on python 3.9, so no match statements")
    assert host.texts() == [
        "the api uses postgres 15",
        "the worker runs on python 3.9, so no match statements",
    ]


def test_a_guess_and_a_claim_of_the_assistant_are_never_stored(host: Host) -> None:
    host.prompt("the flaky test is a race in the lock manager, i am pretty sure")
    host.answers("Emails are sent from app/mailer.py through SMTP.")
    host.prompt("thats dead code. all mail goes through the outbox table")
    host.tell("SessionEnd")
    assert host.texts() == ["all mail goes through the outbox table"]


def test_a_repeated_statement_is_stored_once(host: Host) -> None:
    host.prompt("public ids are ulids, never expose the serial id")
    assert host.prompt("public ids are ulids, never expose the serial id").receipts == ()
    assert len(host.held()) == 1


def test_a_capture_that_runs_twice_doubles_nothing(host: Host) -> None:
    said = "we use bun here, never npm. the api runs on port 9000. I always use tabs"
    host.prompt(said)
    before = host.held()
    host.again("UserPromptSubmit", prompt=said)
    host.fails("npm start", BUSY)
    host.again(
        "PostToolUseFailure", tool_name="Bash", tool_input={"command": "npm start"}, error=BUSY
    )
    host.prompt("no, the api runs on port 9001")
    host.again("UserPromptSubmit", prompt="no, the api runs on port 9001")
    host.answers(FIXED)
    host.again("Stop", last_assistant_message=FIXED)
    host.tell("SessionEnd")
    host.again("SessionEnd")
    assert len(host.held()) == len(before) + 1


def test_a_failure_waits_and_becomes_a_lesson_with_its_fix(host: Host) -> None:
    host.fails("npm start", BUSY)
    (waiting,) = host.held()
    assert waiting.status is Status.QUARANTINED
    assert waiting.source.kind is SourceKind.TOOL_OUTPUT
    assert "#lesson_learned_candidate" in waiting.tags
    assert list(host.mesh.search("EADDRINUSE")) == []
    host.fails("PORT=3000 npm start", BUSY)
    host.answers(FIXED)
    host.tell("SessionEnd")
    (lesson,) = host.held()
    assert lesson.kind is Kind.LESSON
    assert lesson.status is Status.QUARANTINED
    assert lesson.source.kind is SourceKind.INFERENCE
    assert lesson.lesson is not None
    assert lesson.lesson.fix == FIXED
    assert "EADDRINUSE" in lesson.text
    assert [one.id for one in host.mesh.review.waiting()] == [lesson.id]
    host.mesh.review(lesson.id, approve=True)
    assert [block.memory_id for block in host.mesh.query_lessons()] == [lesson.id]


def test_a_failure_without_a_fix_stays_a_candidate(host: Host) -> None:
    host.fails("npm start", BUSY)
    host.answers("I could not start it.")
    host.tell("PreCompact")
    host.tell("SessionEnd")
    (waiting,) = host.held()
    assert (waiting.status, waiting.kind) == (Status.QUARANTINED, Kind.LEARNING)


@pytest.mark.parametrize("how", ["the user denies it", "it fails again"])
def test_a_fix_that_was_none_is_not_kept(host: Host, how: str) -> None:
    host.fails("yarn build", "Error: error:0308010C:digital envelope routines::unsupported")
    host.answers("The cache was corrupt. I cleared it and the build works.")
    if how == "the user denies it":
        host.prompt("no, cache is not it")
    else:
        host.fails("yarn build", "Error: error:0308010C:digital envelope routines::unsupported")
    assert not any("cache" in text for text in host.texts())
    host.answers("Webpack 4 needs Node 16. With nvm use 16 the build works.")
    host.tell("SessionEnd")
    (lesson,) = host.held()
    assert lesson.kind is Kind.LESSON
    assert "nvm use 16" in lesson.text


def test_an_intended_failure_teaches_nothing(host: Host) -> None:
    host.fails("./deploy.sh --dry", "refused: no token given")
    host.answers("Without a token it is refused, as expected.")
    host.tell("SessionEnd")
    assert host.held() == []


@pytest.mark.parametrize(
    "prompt",
    [
        "the import runs at 02:30 UTC <private>on helvetia-7</private> so plan nothing then",
        "the import runs at 02:30 UTC. <PRIVATE>we always use helvetia-7",
        "<private>a <private>b</private> never helvetia-7</private> the import runs at 02:30 UTC",
    ],
)
def test_private_text_is_never_stored_whoever_repeats_it(host: Host, prompt: str) -> None:
    host.prompt(prompt)
    host.fails("deploy helvetia", "Error: host helvetia not found")
    host.fails("npm start", BUSY)
    host.answers("The helvetia box held the port. I stopped it and npm start works now.")
    host.tell("SessionEnd")
    assert any("02:30 UTC" in text for text in host.texts())
    assert not any("helvetia" in text.casefold() for text in host.texts())
    assert b"helvetia" not in b"".join(
        path.read_bytes() for path in host.mesh.folder.rglob("*") if path.is_file()
    )


def test_a_secret_in_a_command_is_redacted(host: Host) -> None:
    host.fails("psql postgres://app:s3cr3t-Moewe@db/shop", "FATAL: role app does not exist")
    (waiting,) = host.held()
    assert "s3cr3t-Moewe" not in f"{waiting.text}{waiting.metadata}"


def test_a_prompt_and_a_session_have_their_limits(host: Host) -> None:
    host.prompt("\n".join(f"we use tool{n} for job{n} here" for n in range(40)))
    assert len(host.held()) == MOST_OF_PROMPT
    for start in range(100, 200, 10):
        host.prompt("\n".join(f"we keep part{n} in box{n} here" for n in range(start, start + 10)))
    assert len(host.held()) == MOST
    host.fails("npm start", BUSY)
    assert len(host.held()) == MOST


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"event": None},
        {"event": "Unknown"},
        {"event": "UserPromptSubmit"},
        {"event": "UserPromptSubmit", "prompt": 7},
        {"event": "PostToolUseFailure", "tool_input": "x", "error": None},
        {"event": "PostToolUseFailure", "tool_name": "Bash", "error": BUSY, "is_interrupt": True},
        {"event": "Stop", "last_assistant_message": ""},
        {"event": "Stop"},
    ],
)
def test_an_event_without_its_fields_stores_nothing(
    host: Host, given: Mapping[str, object]
) -> None:
    assert captured(host.mesh, host.session, given) == Captured()
    assert host.held() == []


def test_an_event_that_comes_twice_takes_back_one_statement_only(host: Host) -> None:
    host.prompt("Remember that the queue is Kafka in this repo.")
    host.prompt("Remember that the queue size in this repo is 500.")
    said = "Forget what I said about the queue in this repo."
    host.prompt(said)
    left = host.texts()
    assert left == ["the queue size in this repo is 500."]
    host.again("UserPromptSubmit", prompt=said)
    assert host.texts() == left


def test_an_event_that_comes_twice_mends_one_failure_only(host: Host) -> None:
    host.fails("terraform plan", "Error: state lock is held by another user")
    host.fails("npm start", BUSY)
    host.answers(FIXED)
    once = host.texts()
    assert [FIXED in text for text in once] == [False, True]
    host.again("Stop", last_assistant_message=FIXED)
    assert host.texts() == once


def test_an_event_that_comes_twice_doubts_one_fix_only(host: Host) -> None:
    host.fails("terraform plan", "Error: state lock is held by another user")
    host.answers("I released the stale lock. terraform plan works now.")
    host.fails("npm start", BUSY)
    host.answers(FIXED)
    host.prompt("No, that is not it.")
    once = host.texts()
    assert [told in text for text, told in zip(once, ("released", FIXED), strict=True)] == [
        True,
        False,
    ]
    host.again("UserPromptSubmit", prompt="No, that is not it.")
    assert host.texts() == once


# What a language model makes of a session, where the settings let it be asked.


@pytest.fixture
def asked(tmp_path: Path, clock: FrozenClock, real_embedder: Embedder) -> Iterator[Host]:
    with MemoryMesh(
        db_dir=tmp_path / "store", clock=clock, project="shop", channel=Channel.HOOK,
        custom_llm=ScriptedLLM(), custom_embedder=real_embedder,
        settings={"extract_sessions": True},
    ) as mesh:  # fmt: skip
        yield Host(mesh)


def scripted(host: Host) -> ScriptedLLM:
    llm = host.mesh._opened().llm()
    assert isinstance(llm, ScriptedLLM)
    return llm


@pytest.mark.req("R-004-001", "R-004-056", "R-004-058")
def test_at_its_end_a_session_is_read_by_a_model_and_the_next_one_is_given_it(asked):
    llm = scripted(asked)
    llm._answers[:] = [json.dumps({"facts": [
        {"text": "The shop's cron runs in UTC.", "quote": "the cron of the shop runs in UTC",
         "kind": "insight", "importance": 0.7},
        {"text": "The user likes tea.", "quote": "I like tea", "kind": "commitment"},
    ]})]  # fmt: skip
    prompt = "why is it an hour late? ah, the cron of the shop runs in UTC"
    asked.prompt(prompt)
    asked.again("UserPromptSubmit", prompt=prompt)
    asked.answers("Good find. Berlin is one hour ahead of it. I like tea.")
    assert llm.prompts == []
    kept = asked.tell("SessionEnd", reason="other")
    assert [receipt.content for receipt in kept.receipts] == ["The shop's cron runs in UTC."]
    assert llm.prompts[0].count("cron of the shop") == 1
    (memory,) = (one for one in asked.held() if one.kind is Kind.INSIGHT)
    assert memory.source.kind is SourceKind.INFERENCE
    assert memory.source.ref == "session s-1"
    (space,) = asked.mesh.stats().spaces
    assert (space.vectors, space.pending) == (len(asked.held()), 0)
    assert "cron runs in UTC" in asked.mesh.context("in which time zone does cron run?").text


def test_a_model_is_asked_when_much_was_said_and_never_without_the_setting(asked, host):
    llm = scripted(asked)
    llm._answers[:] = ['{"facts": []}']
    for number in range(MUCH):
        asked.prompt(f"the door number {number} is painted in green today")
    assert len(llm.prompts) == 1
    asked.prompt("and the last one is blue")
    asked.tell("PreCompact")  # the script has no more answers
    asked.tell("SessionEnd")
    assert asked.mesh.learn.extract(use_model=False).waiting == 1
    host.prompt("the door is red")
    host.tell("SessionEnd")
    assert host.mesh.learn.extract(use_model=False).waiting == 0


def test_what_is_private_reaches_no_model(asked):
    asked.prompt("<private>Quintessa is ill.</private> we open at nine on mondays")
    asked.answers("Quintessa will be missed.")
    asked.tell("SessionEnd")
    (prompt,) = scripted(asked).prompts
    assert "Quintessa" not in prompt
    assert "we open at nine" in prompt


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I always use tabs", "I was wrong, tabs are out. indentation is 4 spaces"),
        ("I always answer mails in German", "sorry, I was wrong: mails are in English"),
    ],
)
def test_a_correction_keeps_for_whom_a_memory_holds(host: Host, first: str, then: str) -> None:
    host.prompt(first)
    (before,) = host.held()
    assert before.scope.project is None
    host.prompt(then)
    after = next(memory for memory in host.held() if memory.id == before.id)
    assert after.text != before.text
    assert after.scope == before.scope


def test_what_was_left_out_of_a_statement_is_said_and_why(host: Host) -> None:
    done = host.prompt("Remember that Priya's address is priya.shah@example.com for invoices.")
    (memory,) = host.held()
    assert "priya.shah" not in memory.text
    assert done.line is not None
    assert "a part of what you said was not stored; redacted: 1 email; to keep email" in done.line
    host.answers("I wrote to priya.shah@example.com about port 8080.")
    assert host.prompt("Remember that the office opens at nine.").line is None
