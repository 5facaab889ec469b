"""kill -9 at random moments: what was acknowledged is there, word for word, and found.

Each writer works on its own memories of one shared namespace. Before a call it writes what it is
about to do to a journal, after the call that it was done. The journal is folded into a plain model;
a call that was under way when the kill came may have happened or not, whole slices at a time.
"""

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memory_mesh.model import Status
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

_LETTERS = "bcdfghjklmnpqrtvwz"  # no vowels: nothing a stemmer would shorten
_SIZES = (1, 2, 3, 5, 8, 20, 60, 300)
_SIZE_WEIGHTS = (8, 8, 8, 6, 4, 3, 1, 0.4)
VERBS = ("add", "add_many", "update", "pin", "delete", "restore", "get", "rate", "search")
_VERB_WEIGHTS = (10, 3, 5, 3, 3, 3, 6, 4, 4)
_LONGEST_START_SECONDS = 60
_SEARCHED = 25  # acknowledged memories looked for by keyword after each kill

Intent = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the model says of one memory."""

    text: str
    status: str = "active"
    pinned: bool = False
    uses: int = 0
    helpful: int = 0
    harmful: int = 0


Model = dict[str, Kept]


def crash_random(
    folder: Path, *, kills: int, writers: int, seed: int, progress: Progress = silent
) -> Report:
    """Kill all writers at once, again and again, on one namespace."""
    report = Report({"kills": 0, "acknowledged": 0, "lost": 0, "findings": 0, "writers": writers})
    dice = random.Random(seed)
    models: list[Model] = [{} for _ in range(writers)]
    ticker = Ticker(progress, kills)
    for round_ in range(kills):
        journals = [folder / f"journal-{round_}-{who}" for who in range(writers)]
        children = [
            Child(_write_for_ever, folder, journal, models[who], who, dice.random())
            for who, journal in enumerate(journals)
        ]
        if round_ % 2:  # every other round spares the start, however slow the machine is
            await_answers(journals)
        time.sleep(dice.uniform(0.005, 0.35))
        for child in children:
            os.kill(child.pid, 9)
        for child in children:
            if child.join() or child.code != -9:
                report.broken("writers failed", f"round {round_}: a writer ended by itself")
        report.count("kills")
        pending = [fold(models[who], journal, report) for who, journal in enumerate(journals)]
        sought = dice.sample(sorted(_live(models)), min(_SEARCHED, len(_live(models))))
        actual, found, findings = call(_look, folder, sought)
        for finding in findings:
            report.broken("findings", f"round {round_}: {finding}")
        _settle(models, pending, actual, report, round_)
        for id_ in sought:
            if not found[id_] and actual.get(id_, Kept("")).status == "active":
                report.broken("lost", f"round {round_}: search does not find {id_}")
        report.count("searched", len(sought))
        ticker.tick(round_ + 1, f"kills, {report.figures['acknowledged']} acknowledged")
    report.figures["memories"] = sum(map(len, models))
    return report


def word(number: int, prefix: str = "zq") -> str:
    """A word that nothing else contains and no stemmer changes."""
    letters = ""
    while True:
        number, digit = divmod(number, len(_LETTERS))
        letters += _LETTERS[digit]
        if not number:
            return f"{prefix}{letters}x"


def own_word(text: str) -> str:
    """The word that only this text contains."""
    return next(part for part in text.split() if part.startswith("zq"))


def await_answers(journals: Sequence[Path], least: int = 1) -> None:
    """Until every writer was told so often; a writer that died is noticed by its end."""
    end = time.monotonic() + _LONGEST_START_SECONDS
    while time.monotonic() < end:
        if all(path.exists() and path.read_text().count('"done"') >= least for path in journals):
            return
        time.sleep(0.01)


class Journal:
    """Intents and acknowledgements in a file that outlives the writer."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, line: Intent) -> None:
        """One line, whole, whatever the disk does meanwhile."""
        text = (json.dumps(line) + "\n").encode()
        while text:
            try:
                text = text[os.write(self._file, text) :]
            except OSError:
                time.sleep(0)  # an injected fault hits the journal too: once more


def intents(model: Model, dice: random.Random, who: int) -> Iterator[Intent]:
    """What a writer does next, for ever; the caller keeps the model up to date."""
    number = int(dice.random() * 1e12) * 1000
    while True:
        (verb,) = dice.choices(VERBS, _VERB_WEIGHTS)
        alive = [id_ for id_, kept in model.items() if kept.status == "active"]
        dead = [id_ for id_, kept in model.items() if kept.status == "deleted"]
        if verb in {"add", "add_many"} or not alive or (verb == "restore" and not dead):
            size = dice.choices(_SIZES, _SIZE_WEIGHTS)[0] if verb == "add_many" else 1
            texts = [f"writer {who} says {word(number + item)}" for item in range(size)]
            number += size
            yield {"verb": verb if verb == "add_many" else "add", "texts": texts}
            continue
        id_ = dice.choice(dead if verb == "restore" else alive)
        yield {
            "verb": verb,
            "id": id_,
            "text": f"writer {who} corrects {word(number)}",
            "flag": dice.random() < 0.5,
        }
        number += 1  # the next text has a word of its own


def perform(mesh: MemoryMesh, intent: Intent, model: Model) -> list[str]:
    """Do it; the ids of what was added."""
    id_ = intent.get("id", "")
    match intent["verb"]:
        case "add":
            return [str(mesh.add(intent["texts"][0]).id)]
        case "add_many":
            return [str(receipt.id) for receipt in mesh.add_many(intent["texts"])]
        case "update":
            mesh.update(id_, intent["text"])
        case "pin":
            mesh.pin(id_, pinned=intent["flag"])
        case "delete":
            mesh.delete(id_)
        case "restore":
            mesh.restore(id_)
        case "get":
            memory = mesh.get(id_)
            assert memory is not None
            assert memory.text == model[id_].text
        case "rate":
            mesh.rate(id_, helpful=intent["flag"])
        case "search":
            assert id_ in [hit.id for hit in mesh.search(own_word(model[id_].text))]
        case verb:
            raise ValueError(verb)
    return []


def applied(model: Model, intent: Intent, ids: list[str]) -> None:
    """The model after the call."""
    verb = intent["verb"]
    if verb in {"add", "add_many"}:
        model.update((id_, Kept(text)) for id_, text in zip(ids, intent["texts"], strict=True))
    elif verb != "search":
        model[intent["id"]] = changed(model[intent["id"]], intent)


def changed(kept: Kept, intent: Intent) -> Kept:
    """One memory after the call."""
    match intent["verb"]:
        case "update":
            return replace(kept, text=intent["text"])
        case "pin":
            return replace(kept, pinned=intent["flag"])
        case "delete":
            return replace(kept, status="deleted")
        case "restore":
            return replace(kept, status="active")
        case "get":
            return replace(kept, uses=kept.uses + 1)
        case "rate":
            vote = "helpful" if intent["flag"] else "harmful"
            return replace(kept, **{vote: getattr(kept, vote) + 1})
        case _:
            return kept


def fold(model: Model, journal: Path, report: Report) -> list[Intent]:
    """Bring the model up to the last acknowledgement; the calls that were under way or failed.

    A call that failed at its very commit can still be in the log that the next opening recovers.
    """
    pending: list[Intent] = []
    if not journal.exists():
        return pending
    for line in journal.read_text().splitlines():
        entry = json.loads(line)
        if "done" in entry:
            applied(model, pending[-1], entry["done"])
            report.count("acknowledged")
            pending.pop()
        elif "failed" not in entry:
            pending.append(entry)
    return pending


def contents(mesh: MemoryMesh) -> Model:
    """Every memory of the namespace, whatever its status."""
    found: Model = {}
    cursor = None
    while True:
        page = mesh.get_all(limit=1000, cursor=cursor, include=list(Status))
        found |= {
            m.id: Kept(m.text, m.status.value, m.pinned, m.uses, m.helpful, m.harmful) for m in page
        }
        cursor = page.cursor
        if cursor is None:
            return found


def compare(
    model: Model, pending: Sequence[Intent], actual: Model, report: Report, where: str
) -> None:
    """Every acknowledged memory is as acknowledged; a pending call happened whole or not at all.

    Uses wait for the next write, and a kill or a full disk takes those that wait.
    """
    for id_, kept in model.items():
        is_ = actual.get(id_)
        if is_ is not None and is_.uses < kept.uses:
            report.count("uses not counted", kept.uses - is_.uses)
            kept = replace(kept, uses=is_.uses)  # noqa: PLW2901  # the same memory
        may_be = [kept, *(changed(kept, intent) for intent in pending if intent.get("id") == id_)]
        if is_ not in may_be:
            report.broken("lost", f"{where}: {id_} should be {kept} and is {is_}")
    unheard = {kept.text: id_ for id_, kept in actual.items() if id_ not in model}
    for intent in pending:
        texts = intent.get("texts", [])
        for start in range(0, len(texts), WRITE_SLICE):
            part = [text in unheard for text in texts[start : start + WRITE_SLICE]]
            if any(part) and not all(part):
                report.broken("torn", f"{where}: {sum(part)} of a slice of {len(part)} are there")
        report.count("unacknowledged but stored", sum(text in unheard for text in texts))
        for text in texts:
            unheard.pop(text, None)
    for text, id_ in unheard.items():
        report.broken("invented", f"{where}: nobody stored {id_}: {text[:80]}")


def _write_for_ever(folder: Path, journal: Path, model: Model, who: int, seed: float) -> None:
    dice = random.Random(seed)
    notes = Journal(journal)
    with MemoryMesh(db_dir=folder) as mesh:
        for intent in intents(model, dice, who):
            notes.note(intent)
            ids = perform(mesh, intent, model)
            notes.note({"done": ids})
            applied(model, intent, ids)


def _look(folder: Path, sought: list[str]) -> tuple[Model, dict[str, bool], list[str]]:
    """The store as a new process sees it, once it took in what killed ones left."""
    with MemoryMesh(db_dir=folder) as mesh:
        mesh._opened().ledger.flush("default")
        actual = contents(mesh)
        found = {
            id_: any(hit.id == id_ for hit in mesh.search(own_word(actual[id_].text)))
            for id_ in sought
            if id_ in actual
        }
        findings = [str(finding) for finding in mesh.care.verify().findings]
        return actual, {id_: found.get(id_, False) for id_ in sought}, findings


def _live(models: list[Model]) -> list[str]:
    return [id_ for model in models for id_, kept in model.items() if kept.status == "active"]


def _settle(
    models: list[Model], pending: list[list[Intent]], actual: Model, report: Report, round_: int
) -> None:
    """Compare, and go on from what is there."""
    for who, model in enumerate(models):
        mine = {id_: kept for id_, kept in actual.items() if kept.text.startswith(f"writer {who} ")}
        compare(model, pending[who], mine, report, f"round {round_} writer {who}")
        models[who] = mine
