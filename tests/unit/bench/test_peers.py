import ast
import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.peers import exchange, export, run
from bench.peers.exchange import Hit, Question, Record
from memory_mesh.model import Embedding, Space

PEERS = Path(run.__file__).parent
SPACE = Space("test", "length", "1", dimension=2, max_tokens=8)


class Lengths:
    """Embeds a text as its length and whether it is asked; a text over 8 has a second window."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        vectors = (struct.pack("<2f", len(text), query) for text in texts)
        other = struct.pack("<2f", -1, -1)
        windows = [(vector, other) if not query else (vector,) for vector in vectors]
        return Embedding(SPACE, tuple(windows))

    def close(self) -> None: ...


class Overlap:
    """Ranks by the words that a record shares with the question, and never filters."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:
        assert not list(folder.iterdir())
        (folder / "mine").touch()
        self.records = records

    def answer(self, question: Question, k: int) -> list[Hit]:
        asked = set(question.text.split())
        scored = [(each.id, float(len(asked & set(each.text.split())))) for each in self.records]
        return sorted(scored, key=lambda hit: -hit[1])[:k]

    def close(self) -> None: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return exported(tmp_path, ["ann", "bob"])


def exported(place: Path, tenants: Sequence[str]) -> Path:
    data = place / "data"
    data.mkdir(exist_ok=True)
    write(
        data / "corpus.jsonl", [record(who, at) for who in ("ann", "bob", "eve") for at in (0, 1)]
    )
    write(data / "queries.jsonl", [question(who) for who in ("ann", "bob", "eve")])
    export.export(data, tenants, out=place / "out", embedder=Lengths())
    return place / "out"


def record(who: str, at: int) -> dict[str, object]:
    text = f"{who} likes {('red tea', 'green tea')[at]}"
    about = {"session": f"{who}/1", "speaker": who.title(), "timestamp": "2023-05-08T13:56:00"}
    return {"id": f"{who}/{at}", "tenant": who, "text": text, "ord": at, "secret": "x", **about}


def question(who: str, **more: object) -> dict[str, object]:
    text = "who likes green tea"
    return {"id": f"{who}/q", "tenant": who, "text": text, "gold": [f"{who}/1"], **more}


def write(file: Path, lines: Sequence[object]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def ask(folder: Path, make: exchange.Maker = Overlap, *, form: str = "raw", k: int = 100) -> Path:
    return run.ask(folder, make, made={"peer": "overlap", "version": "1", "form": form}, k=k)


def test_only_the_named_tenants_are_exported_and_no_evidence(folder):
    records = exchange.read_lines(folder / "records.jsonl")
    questions = exchange.read_lines(folder / "questions.jsonl")
    assert [line["id"] for line in records] == ["ann/0", "ann/1", "bob/0", "bob/1"]
    assert set(records[0]) == {"id", "tenant", "text", "ord", "session", "speaker", "timestamp"}
    assert [set(line) for line in questions] == [{"id", "tenant", "text"}] * 2


def test_an_unknown_tenant_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no records of nobody"):
        exported(tmp_path, ["ann", "nobody"])


def test_a_text_has_the_vector_of_its_first_window_in_each_form(folder):
    raw, dated = np.load(folder / "records.npy"), np.load(folder / "records.dated.npy")
    asked = np.load(folder / "questions.npy")
    assert raw.dtype == dated.dtype == asked.dtype == np.float32
    assert raw[0].tolist() == [len("ann likes red tea"), 0]
    assert dated[0].tolist() == [len("[8 May 2023] Ann: ann likes red tea"), 0]
    assert asked[0].tolist() == [len("who likes green tea"), 1]


@pytest.mark.parametrize(
    ("speaker", "timestamp", "expected"),
    [
        ("Ann", "2023-05-08T13:56:00", "[8 May 2023] Ann: tea"),
        ("Ann", None, "Ann: tea"),
        (None, "2026-10-07T00:00:00Z", "[7 October 2026] tea"),
        (None, None, "tea"),
    ],
)
def test_a_dated_text_says_what_the_record_says(speaker, timestamp, expected):
    line = {"text": "tea", "speaker": speaker, "timestamp": timestamp}
    assert exchange.dated(line) == expected


def test_the_texts_of_a_form_go_with_its_vectors(folder):
    [ann, _] = exchange.load(folder, "dated")
    assert ann.records[1].text == "[8 May 2023] Ann: ann likes green tea"
    assert ann.records[1].vector.tolist() == [len(ann.records[1].text), 0]


def test_a_helped_text_follows_the_short_turn_before_it(folder):
    [ann, _] = exchange.load(folder, "helped")
    first, second = (each.text for each in ann.records)
    assert first == "[8 May 2023] Ann: ann likes red tea"
    assert second == "[8 May 2023] Ann: ann likes red tea\nAnn: ann likes green tea"
    assert ann.records[1].vector.tolist() == [len("ann likes green tea"), 0]


@pytest.mark.parametrize(
    "before",
    [
        {"session": "b/1", "tenant": "ann", "text": "tea"},
        {"session": None, "tenant": "ann", "text": "tea"},
        {"session": "a/1", "tenant": "bob", "text": "tea"},
        {"session": "a/1", "tenant": "ann", "text": "tea " * 65},
    ],
)
def test_a_long_turn_or_one_of_another_session_is_not_added(before):
    later = {"session": "a/1", "tenant": "ann", "text": "with milk"}
    unplaced = {**later, "session": before["session"]} if before["session"] is None else later
    assert exchange.helped([before, unplaced])[1] == "with milk"


@pytest.mark.parametrize(
    ("text", "nameless", "speaker"),
    [
        ("What does Ann like?", "What does like?", "Ann"),
        ("Is Ann's tea green?", "Is tea green?", "Ann"),
        ("What do Ann and Bob like?", "What do and like?", None),
        ("What is liked?", None, None),
    ],
)
def test_a_helped_question_loses_its_names_and_asks_one_speaker(tmp_path, text, nameless, speaker):
    data = tmp_path / "data"
    data.mkdir()
    write(data / "corpus.jsonl", [record("ann", 0), {**record("ann", 1), "speaker": "Bob"}])
    write(data / "queries.jsonl", [{**question("ann"), "text": text}])
    export.export(data, ["ann"], out=tmp_path / "out", embedder=Lengths())
    [tenant] = exchange.load(tmp_path / "out", "helped")
    [asked] = tenant.questions
    assert (asked.text, asked.speaker) == (nameless or text, speaker)
    assert asked.vector.tolist() == [len(asked.text), 1]
    [plain] = exchange.load(tmp_path / "out", "dated")
    assert (plain.questions[0].text, plain.questions[0].speaker) == (text, None)


def test_vectors_that_do_not_fit_the_lines_are_refused(folder):
    np.save(folder / "records.npy", np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(ValueError, match="not 4 of float32"):
        exchange.load(folder, "raw")


def test_every_question_has_a_line_with_records_of_its_own_tenant(folder):
    lines = exchange.read_lines(ask(folder))
    assert [line["id"] for line in lines] == ["ann/q", "bob/q"]
    assert [line["ranked"] for line in lines] == [["ann/1", "ann/0"], ["bob/1", "bob/0"]]
    assert [line["scores"] for line in lines] == [[3.0, 2.0], [3.0, 2.0]]
    assert all(line["ms"] >= 0 for line in lines)


def test_as_many_answers_are_asked_for_as_stated(folder):
    file = ask(folder, k=1)
    assert file.name == "overlap.raw.k1.jsonl"
    assert [line["ranked"] for line in exchange.read_lines(file)] == [["ann/1"], ["bob/1"]]


def test_a_record_that_came_later_is_no_answer(folder):
    write(folder / "questions.jsonl", [question("ann", as_of_ord=1), question("bob")])
    lines = exchange.read_lines(ask(folder))
    assert [line["ranked"] for line in lines] == [["ann/0"], ["bob/1", "bob/0"]]


def test_a_stopped_run_goes_on_with_the_tenant_that_is_missing(folder):
    def stops(records: Sequence[Record], place: Path) -> Overlap:
        if records[0].id == "bob/0":
            raise KeyboardInterrupt
        return Overlap(records, place)

    with pytest.raises(KeyboardInterrupt):
        ask(folder, stops)
    file = folder / "overlap.raw.jsonl"
    with file.open("a") as out:
        out.write('{"id": "bob/q", "ran')  # killed while it wrote
    seen = made_for(folder)
    assert seen == ["bob"]
    assert [line["id"] for line in exchange.read_lines(file)] == ["ann/q", "bob/q"]
    assert made_for(folder) == []


def test_answers_to_other_data_are_not_kept(folder):
    ask(folder)
    np.save(folder / "questions.npy", np.zeros((2, 2), dtype=np.float32))
    assert made_for(folder) == ["ann", "bob"]


def made_for(folder: Path) -> list[str]:
    """The tenants that a run makes a peer for."""
    seen = []

    def counted(records: Sequence[Record], place: Path) -> Overlap:
        seen.append(records[0].id.partition("/")[0])
        return Overlap(records, place)

    ask(folder, counted)
    return seen


@pytest.mark.parametrize("name", run.PEERS)
def test_an_adapter_is_under_80_lines_and_has_what_the_driver_asks_for(name):
    source = (PEERS / f"{name}_peer.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 80
    tree = ast.parse(source)
    [peer] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Peer"]
    methods = {node.name for node in peer.body if isinstance(node, ast.FunctionDef)}
    assert {"__init__", "answer", "close"} <= methods
    assert "PACKAGE = " in source


@pytest.mark.parametrize(
    "file", ["exchange.py", "run.py", *(f"{name}_peer.py" for name in run.PEERS)]
)
def test_what_runs_beside_the_peers_imports_nothing_of_the_project(file):
    tree = ast.parse((PEERS / file).read_text(encoding="utf-8"))
    plain = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in plain | named if name.startswith("memory_mesh")]


def test_every_peer_and_its_package_is_pinned():
    lines = (PEERS / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in lines if "==" in line}
    for name in run.PEERS:
        source = (PEERS / f"{name}_peer.py").read_text(encoding="utf-8")
        assert source.partition('PACKAGE = "')[2].partition('"')[0] in pinned
    assert all("==" in line for line in lines if line and not line.startswith("#"))
