"""The worker of a hook: reads the host's input, finds the memories, and goes on alone afterwards.

::

    stdin ──▶ input without private parts ──▶ daemon ──▶ answer ──▶ line for the host
                                                │ none, or slow: the store itself, in this process
                                                │ at the same time; the first answer is the line
    after the host has its line:  session, journal, a daemon for next time, capture

Nobody waits for what happens after the line. After a minute the system ends the worker (main.py).
"""

import _thread
import gc
import os
import sys
import time

from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.daemon import client, place
from memory_mesh.agents.hook import AWAY, PRINTED, SILENT, hosts
from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.platform import system

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_mesh.agents.opening import Stores

# Asks the daemon in a thread of its own, so that one that stands still costs nothing.


class PendingRequest:
    """A request under way; the answer or the refusal stands here as soon as there is one."""

    def __init__(
        self,
        request: dict[str, Any],
        end: float,
        heard: "Callable[[dict[str, Any]], None]",
    ) -> None:
        """Begin to ask until `end`; `heard` gets an answer in the thread that asks."""
        self.request: dict[str, Any] = request
        self.answer: dict[str, Any] | None = None
        self.refusal: str = ""
        self.is_worth_a_start: bool = False
        self._heard, self._done = heard, _thread.allocate_lock()
        self._done.acquire()
        _thread.start_new_thread(self._ask, (request, end))

    def wait(self, seconds: float) -> None:
        """Waits until the daemon has answered or refused, or the time is over."""
        if self._done.acquire(timeout=max(0.0, seconds)):
            self._done.release()

    def _ask(self, request: dict[str, Any], end: float) -> None:
        try:
            reply = client.ask(request, seconds=max(0.001, end - time.monotonic()))
        except client.NoDaemon as refusal:
            self.refusal, self.is_worth_a_start = refusal.reason, refusal.is_worth_a_start
        else:
            answer = reply.get("answer") if reply.get("ok") is True else None
            if isinstance(answer, dict):
                self.answer = answer
                self._heard(answer)
            else:
                self.refusal = str((reply.get("error") or {}).get("kind", "no answer"))
        finally:
            self._done.release()


MOST_BYTES = 64 << 20

HEDGE_SHARE = 1 / 6  # of the budget that the daemon has alone; then the same work begins here
CAPTURE_SECONDS = 20.0  # that a daemon has for a capture
_AT_ONCE, _MOST_WAITING = 20, 500  # events that are kept for a service that is away
_FOLDER = "agents/waiting"
_NAMING = ("MEMORY_MESH_NAMESPACE", "MEMORY_MESH_PROJECT", "MEMORY_MESH_AGENT")
_SWITCH_SECONDS = 0.001  # after which the thread at work lets the one that asks the daemon run
_POLITE = 5  # steps of priority that a worker gives up when nobody waits for it any more
DONE, FAILED = "done", "failed"  # outcomes of a capture; hooks without `done` have stopped learning


def run(arguments: list[str], began: float, end: float, answers: int, words: int) -> None:
    """Does one hook's work; the answer goes to one pipe, what became of it comes by the other."""
    system.detach()
    gc.disable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    hook = Hook(arguments, began, end, answers)
    try:
        hook.read()
    except NoInput as error:
        hook.fail(error)
    _say(answers, hook.facts_line())
    try:
        hook.recall()
    except Exception as error:  # noqa: BLE001  # the surface's last line
        hook.fail(error)
    hook.hand_over(hook.output)
    said = _fate(answers, words)
    gc.enable()
    hook.finish(said)


def write_down(facts: bytes, outcome: str, ms: int) -> None:
    """Leaves the line of a hook that was ended, or whose worker died."""
    reason = "the budget was spent" if outcome == "late" else "the worker ended without an answer"
    known = requests.loads(facts.decode()) if facts else {}
    told = known if isinstance(known, dict) else {}
    store = place.folder_of(os.environ, "")
    journal.note(store, "hook", **told, ms=ms, outcome=outcome, reason=reason)


class Hook:
    """One event of a host: what came in, what goes out, and how it went."""

    def __init__(self, arguments: list[str], began: float, end: float, answers: int) -> None:
        self._host, self._stated = _arguments(arguments)
        self._began, self._end, self._answers = began, end, answers
        self._turn, self._handed_at = _thread.allocate_lock(), 0.0
        self._asking: PendingRequest | None = None
        self._parents = requests.ancestors(os.getppid())  # the hook itself is gone soon
        self._is_agents = requests.is_from_shell_tool(
            os.environ, self._parents, hosts.SHELLS.get(self._host)
        )
        self._given: dict[str, Any] = {}
        self._event = self._said = self._session = self._cwd = self._store = ""
        self._answer: dict[str, Any] = {}
        self._stores: Stores | None = None
        self._through = self._reason = self._failure = ""
        self.output: str = ""

    def read(self) -> None:
        """Reads the host's input."""
        self._given = read_input(0, self._end + 1)  # the hook itself says that it is late
        self._given = hosts.translated(self._given, self._stated, self._host)
        self._event, self._said = self._given["hook_event_name"], self._given.pop("said_event")
        self._session = str(self._given.get("session_id") or "")
        self._cwd = str(self._given.get("cwd") or "")

    def facts_line(self) -> bytes:
        """What is known before the answer, for the journal of a hook that is ended."""
        return requests.dumps(self._facts()).encode("ascii") + b"\n"

    def recall(self) -> None:
        """Asks for memories, if this event is one that brings them; never with what is private."""
        wanted = hosts.recall_of(self._event, self._given, self._host)
        if wanted is None:
            return
        request = self._request("recall", {**without_private(wanted), "until": self._end})
        asking = self._asking = PendingRequest(request, self._end, self._heard)
        asking.wait((self._end - self._began) * HEDGE_SHARE)
        if _is_away(asking.refusal, request):
            raise ServiceIsAway
        if asking.answer is None:
            self._alone(request, asking)
        self._reason = asking.refusal
        self.output = hosts.output_of(self._said, self._answer, self._host)
        if self._through and self.hand_over(self.output):
            return
        if asking.answer is not None:  # the daemon was faster
            self._take(asking.answer)

    def hand_over(self, output: str) -> bool:
        """Hands the line to the host, unless another one was; the first one counts."""
        with self._turn:
            if self._handed_at:
                return False
            self._handed_at = time.monotonic()
            _say(self._answers, output.encode("ascii") + b"\n")
        return True

    def fail(self, error: Exception) -> None:
        """Keeps what went wrong for the journal, by its kind: a text may quote the prompt.

        Where this process failed the daemon may still answer, or has done so already.
        """
        if self._asking is not None:
            self._asking.wait(self._end - time.monotonic())
            if self._asking.answer is not None:
                self._take(self._asking.answer)
                return
        name = type(error).__name__
        if self._asking is not None and _is_away(name, self._asking.request):
            name = ServiceIsAway.__name__
        self._failure = getattr(error, "reason", "") or name
        self.output = ""

    def finish(self, said: bytes) -> None:
        """Does what nobody waits for; an answer that came too late was not given."""
        self._remember(printed=said == PRINTED)
        if said:
            failed = AWAY if self._failure == ServiceIsAway.__name__ else FAILED
            self._note(failed if self._failure else "answered" if self.output else "silent")
        if self._asking is not None and self._asking.is_worth_a_start:
            client.start(self._store, os.environ)
        system.lower_priority(_POLITE)  # after the daemon, which inherits it
        if self._stores is not None:
            self._stores.close()  # writes the record of what entered the prompt
        if self._event in hosts.CAPTURES:
            self._learn()

    def _heard(self, answer: dict[str, Any]) -> None:
        """Hands the daemon's answer over at once, whatever this process is doing meanwhile."""
        self.hand_over(hosts.output_of(self._said, answer, self._host))

    def _take(self, answer: dict[str, Any]) -> None:
        """Counts the daemon's answer as the one that was given; it has recorded the injection."""
        self._answer, self._through, self._stores = answer, "daemon", None
        self.output = hosts.output_of(self._said, answer, self._host)

    def _alone(self, request: dict[str, Any], asking: PendingRequest) -> None:
        """Answers in this process without an embedder, unless the daemon answers meanwhile."""
        from memory_mesh.agents.hook import alone

        if asking.answer is not None:
            return
        self._stores = alone.stores()
        self._answer, self._through = alone.answer(self._stores, request), "process"

    def _learn(self) -> None:
        """Captures, and leaves a line on it: hooks without one mean that capture has stopped.

        Nothing is learned from what the agent itself says to be an event.
        """
        told: dict[str, Any]
        try:
            told = {"outcome": DONE, "stored": 0 if self._is_agents else self._captured()}
        except ServiceIsAway:
            told = {"outcome": AWAY, "reason": ServiceIsAway.__name__}
        except Exception as error:  # noqa: BLE001  # the surface's last line
            told = {"outcome": FAILED, "reason": type(error).__name__}
        journal.note(self._place(), "capture", **self._facts(), **told)

    def _captured(self) -> int:
        """Stores what there is to learn; the same request id keeps it from being stored twice.

        What is private goes along: whoever repeats it later must be known. It is not stored.
        """
        request = self._request("capture", self._given)
        stored = _captured(request)
        if stored is None:
            _keep(request)
            raise ServiceIsAway
        for path in _waiting(request):
            try:
                with open(path, encoding="utf-8") as file:  # noqa: PTH123  # a Path would be loaded
                    kept: Any = requests.loads(file.read())
            except FileNotFoundError:  # another hook was faster
                continue
            if kept["whose"] == _whose(request):
                found = _captured({**request, **kept["request"]})
                if found is None:
                    break
                stored += found
                _drop(path)
        return stored

    def _request(self, part: str, given: dict[str, Any]) -> dict[str, Any]:
        made = requests.made(
            "hook",
            {**given, "event": self._event, "part": part},
            host=self._host,
            cwd=self._cwd or None,
        )
        made["parents"] = self._parents
        self._store = made["store"]
        return made

    def _remember(self, *, printed: bool) -> None:
        """Writes down what the session has now; after a fresh start it has nothing else."""
        fresh = self._event == hosts.START and (
            hosts.recall_of(self._event, self._given, self._host) is not None
        )
        if not self._session:
            return
        from memory_mesh.agents.sessions import Session

        session = Session.of(self._place(), self._host, self._session)
        session.record(
            reset=fresh,
            given=self._answer.get("given") if printed else None,
            line=bool(printed and self._answer.get("line")),
            parents=self._parents if self._event == hosts.START else None,
            id=self._session if self._event == hosts.START else None,
            shown=self._answer.get("notices") if printed else None,
        )

    def _note(self, outcome: str) -> None:
        told = {name: self._answer[name] for name in ("memories", "tokens") if name in self._answer}
        reason = self._failure or self._reason
        ms = round((self._handed_at - self._began) * 1000)
        journal.note(
            self._place(),
            "hook",
            **self._facts(),
            ms=ms,
            outcome=outcome,
            **({"through": self._through} if self._through else {}),
            **told,
            **({"reason": reason} if reason else {}),
        )

    def _facts(self) -> dict[str, Any]:
        return {"host": self._host, "event": self._event, "session": self._session}

    def _place(self) -> str:
        return self._store or place.folder_of(os.environ, self._cwd)


def _fate(answers: int, words: int) -> bytes:
    """What became of the line that was handed over; nothing if it came too late."""
    os.close(answers)
    said = os.read(words, 1)
    return said if said in (PRINTED, SILENT) else b""


def _say(answers: int, line: bytes) -> None:
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(answers, rest) :]
    except BrokenPipeError:  # the hook has ended: `words` will tell
        return


class ServiceIsAway(Exception):
    """What an event teaches is told to the service when it answers again."""


class TooManyWait(Exception):
    """The service has been away for so long that this event is not kept."""


def _is_away(kind: str, request: dict[str, Any]) -> bool:
    """Whether an error of this name means that the store is a service that cannot be reached."""
    if kind not in {"StoreIsAway", "MayBeStored"}:
        return False
    from memory_mesh.platform.store_urls import is_service

    return is_service(request["environment"].get("MEMORY_MESH_STORE") or "")


def _captured(request: dict[str, Any]) -> int | None:
    """How many memories an event left, by the daemon or here; None of a service that is away."""
    try:
        reply = client.ask(request, seconds=CAPTURE_SECONDS)
        answer = reply.get("answer") if reply.get("ok") is True else None
    except client.NoDaemon:
        answer = None
    if answer is None:
        answer = _captured_here(request)
    return None if answer is None else int(answer.get("stored") or 0)


def _waiting(request: dict[str, Any]) -> list[str]:
    """Events that are kept until the service answers, the oldest first."""
    folder = f"{request['store']}/{_FOLDER}"
    try:
        return [f"{folder}/{name}" for name in sorted(os.listdir(folder))[:_AT_ONCE]]  # noqa: PTH208
    except OSError:  # there is none
        return []


def _drop(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108  # a Path would be loaded
    except FileNotFoundError:  # as above
        return


def _whose(request: dict[str, Any]) -> list[str]:
    """Whose memories an event is about, as far as variables say so."""
    return [str(request["environment"].get(name, "")) for name in _NAMING]


def _keep(request: dict[str, Any]) -> None:
    """Writes an event down, for its owner only, until the service answers: never a key."""
    from pathlib import Path

    waiting = Path(request["store"], _FOLDER)
    system.make_folder(waiting)
    if sum(1 for _ in waiting.iterdir()) >= _MOST_WAITING:
        raise TooManyWait
    kept = {name: request[name] for name in ("id", "host", "cwd", "input")}
    kept["input"] = _storable(kept["input"])
    name = f"{time.time_ns():020}-{request['id']}.json"
    made = system.new_file(waiting / name, os.O_WRONLY)
    if made is not None:
        with os.fdopen(made, "w", encoding="utf-8") as file:
            file.write(requests.dumps({"whose": _whose(request), "request": kept}))


def _storable(value: Any) -> Any:  # noqa: ANN401  # JSON, as a host sends it
    """What may be written down of an event: nothing that is marked as private, and no secret."""
    from memory_mesh.privacy import masked

    if isinstance(value, str):
        return masked(_cleaned(value))
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {name: _storable(each) for name, each in value.items()}
    return value


def _captured_here(request: dict[str, Any]) -> dict[str, Any] | None:
    from memory_mesh.agents.opening import Stores, answer
    from memory_mesh.model import MayBeStored, StoreIsAway

    stores = Stores(embedder=False)
    try:
        return answer(stores, request)
    except (StoreIsAway, MayBeStored) as error:  # it can be asked again: the id of a request stays
        if not _is_away(type(error).__name__, request):
            raise
        return None
    finally:
        stores.close()


def _arguments(words: list[str]) -> tuple[str, str | None]:
    """The host and the event as the command line states them."""
    host, event, rest = hosts.HOST, None, iter(words)
    for word in rest:
        if word == "--host":
            host = next(rest, host)
        elif word.startswith("--host="):
            host = word.partition("=")[2]
        elif not word.startswith("-"):
            event = word
    return host, event


# Reads a host's input without waiting for more than there is.


class NoInput(Exception):
    """The host said nothing that can be read; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_input(source: int, end: float) -> dict[str, Any]:
    """The JSON object on standard input, as soon as it is whole; NoInput when the time is up."""
    data = bytearray()
    while len(data) <= MOST_BYTES:
        left = end - time.monotonic()
        if left <= 0 or not system.readable(source, left):
            raise NoInput("standard input did not end")
        part = os.read(source, 1 << 20)
        data += part
        if (not part or part.rstrip().endswith(b"}")) and (found := _object(data)) is not None:
            return found
        if not part:
            raise NoInput("standard input holds no JSON object")
    raise NoInput("standard input is too large")


def without_private(found: dict[str, Any]) -> dict[str, Any]:
    """The input's texts without what their user marked as private."""
    return {
        name: _cleaned(value) if isinstance(value, str) else value for name, value in found.items()
    }


def _cleaned(text: str) -> str:
    if "private" not in text.lower():
        return text
    from memory_mesh.formats import private  # loads `re`

    return private.without_private(text)


def _object(data: bytearray) -> dict[str, Any] | None:
    try:
        found = requests.loads(data.decode())
    except ValueError:  # half of it, or none
        return None
    return found if isinstance(found, dict) else None
