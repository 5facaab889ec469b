"""`memory-mesh inspect`: what it finds in planted stores, shows, and leaves as it is."""

import gzip
import json
import os
import re
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from memory_mesh.care.key_file import key_folder
from memory_mesh.cli.main import run
from memory_mesh.evaluation.flaws import FlawKind
from memory_mesh.evaluation.inspection import Inspection, inspect
from memory_mesh.model import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from tests.corpora import flawed_store, pii
from tests.flow.test_moving_in import CHATGPT, VAULT, folder_of, qdrant, written
from tests.postgres import SECRET

STORES = Path(__file__).parents[1] / "fixtures" / "stores"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    path = tmp_path / "planted.jsonl"
    path.write_text("".join(f"{line}\n" for line in flawed_store.lines("dev")), encoding="utf-8")
    return path


def rows(tmp_path: Path, *texts: object) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    return path


def _said(text: str) -> dict[str, str]:
    return {"content": text, "role": "user"}


def looked(source: Path | str, project: Path | None = None) -> Inspection:
    return inspect(str(source), project=project, now=flawed_store.NOW)


def found(done: Inspection) -> set[tuple[str, tuple[str, ...]]]:
    return {(each.kind, tuple(done.texts[n] for n in each.entries)) for each in done.findings}


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), sha256(path.read_bytes()).hexdigest()


def test_planted_flaws_are_found_and_nothing_else(planted: Path, tmp_path: Path) -> None:
    done = looked(planted, flawed_store.project(tmp_path / "project"))
    entries = flawed_store.store("dev").entries
    ids = [entries[int(place.removeprefix("line ")) - 1].id for place in done.places]
    named = [(str(each.kind), frozenset(ids[n] for n in each.entries)) for each in done.findings]
    scores = flawed_store.scored(flawed_store.store("dev"), named)
    least = {
        "duplicate": 20, "near duplicate": 12, "secret": 20, "echo": 15, "contradiction": 8,
        "expired": 3, "path gone": 3, "superseded": 1,
    }  # fmt: skip
    assert {kind: score.planted for kind, score in scores.items()} == flawed_store.COUNTS
    assert all(score.found >= least[kind] for kind, score in scores.items()), scores
    assert [score.wrong for score in scores.values()] == [()] * len(scores)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Tea is at four.", "tea is at FOUR!"], {FlawKind.DUPLICATE}),
        (["The bus is late on Monday.", "On Monday, the bus is late."], {FlawKind.NEAR_DUPLICATE}),
        (
            ["The bus is late on Monday.", "The bus is not late on Monday."],
            {FlawKind.CONTRADICTION},
        ),
        (["The bus is late on Monday.", "The train is late on Sunday."], set()),
        (["Room 12 has a round table.", "Room 14 has a round table."], set()),
        (["Ada has a round table.", "So we know that Ada has a round table."], {FlawKind.ECHO}),
        (["Ada has a round table.", "Ada has a round table. It came by ship."], set()),
        (["See [[x]] in src/gone.py.", "See src/there.py."], {FlawKind.PATH_GONE}),
        (["See other/gone.py, https://x.org/src/gone.py"], set()),
        (["The gate needs a red code.", "The gate needs no red code."], {FlawKind.CONTRADICTION}),
        (["The gate needs a red code.", "The gate needs a blue code."], set()),
        ([{"content": "A fair", "valid_until": "2026-10-31"}], {FlawKind.EXPIRED}),
        ([{"content": "A fair", "valid_until": "2026-11-02"}], set()),
        ([_said("I live in Ghent."), _said("I moved from Ghent to Basel.")], {FlawKind.SUPERSEDED}),
        ([{"content": "Tea", "project": "a"}, {"content": "Tea", "project": "b"}], set()),
    ],
)
def test_one_flaw_is_told_from_what_looks_like_it(
    tmp_path: Path, texts: list[object], expected: set[FlawKind]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "there.py").touch()
    done = looked(rows(tmp_path, *texts), tmp_path)
    assert {each.kind for each in done.findings} == expected


def test_no_secret_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jinja2")
    cases = [case for case in pii.positives() if case.raw and not case.reported][:60]
    texts = [
        *(case.text for case in cases),
        {"no": cases[0].text},
        *(f"Again: {c.text}" for c in cases),
    ]
    file = rows(tmp_path, *texts)
    page = tmp_path / "page.html"
    assert run(["inspect", str(file), "--html", str(page)]) == 0
    assert run(["inspect", str(file), "--json"]) == 0
    shown = capsys.readouterr()
    every = "\n".join((shown.out, shown.err, page.read_text(encoding="utf-8")))
    assert [case.kind for case in cases if case.raw in every] == []
    assert json.loads(shown.out[shown.out.index("{\n") :])["counts"]["secret"] >= len(cases)


def test_the_table_fits_a_screen(
    planted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["inspect", str(planted)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines[1:])) <= 80  # the first names the file
    assert re.match(r"echoes of recalled text +15  line \d+: ", lines[4])


def test_the_page_needs_nothing_else_and_runs_nothing(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    file = rows(tmp_path, f"{evil} says the cat", f"{evil} says the cat", {"x": evil})
    page = tmp_path / "page.html"
    assert run(["inspect", str(file), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert not re.search(
        r"<script|<img|<link|<[^>]*\ssrc=|url\(|@import|https?://(?!www\.w3\.org)", text
    )
    assert "&lt;script&gt;alert(1)" in text
    assert '<svg class="bar"' in text
    assert run(["inspect", str(file), "--html", str(page)]) == 1  # it is there already


def test_a_store_of_ours_stays_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        for user in ("ada", "bob"):
            mesh.for_user(user).add("Tea is at four.")
            mesh.for_user(user).add("The bus is late on Monday.")
        mesh.for_user("ada").add("Indeed the bus is late on Monday, so we wait.")
    keys, places = key_folder(os.environ), Path(tempfile.gettempdir())
    before = dict(files(store)), set(keys.glob("*")), set(places.glob("memory-mesh-inspect-*"))
    done = looked(store)
    after = dict(files(store)), set(keys.glob("*")), set(places.glob("memory-mesh-inspect-*"))
    assert after == before
    assert (done.name, done.users) == ("a store of memory-mesh", {"user.ada": 3, "user.bob": 2})
    assert {kind for kind, _ in found(done)} == {FlawKind.ECHO}


def test_a_store_in_postgresql_is_inspected(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    with MemoryMesh(database, embedder="none") as mesh:
        mesh.add("The gate needs a red code.")
        mesh.add("The gate needs no red code.")
        before = [block.hash for block in mesh.care.blocks()]
        done = looked(database)
        assert [block.hash for block in mesh.care.blocks()] == before
        assert mesh.care.recalls() == []
    assert {each.kind for each in done.findings} == {FlawKind.CONTRADICTION}
    assert done.users == {"default": 2}


def test_a_store_of_an_earlier_version_is_not_migrated(tmp_path: Path) -> None:
    place = tmp_path / "namespaces" / "default.db"
    place.parent.mkdir()
    place.write_bytes(gzip.decompress((STORES / "schema-5-analyzer-2.db.gz").read_bytes()))
    before = sha256(place.read_bytes()).hexdigest()
    assert looked(tmp_path).texts
    assert sha256(place.read_bytes()).hexdigest() == before


def test_stores_of_other_tools_are_inspected(tmp_path: Path) -> None:
    folder = qdrant(tmp_path)
    before = dict(files(folder))
    mem0 = looked(folder)
    assert mem0.users == {"alice": 3, "bob": 1}
    assert mem0.name == "a local Qdrant of mem0"
    assert dict(files(folder)) == before
    vault = looked(folder_of(VAULT)(tmp_path))
    assert (vault.name, len(vault.texts)) == ("a vault of Obsidian", 2)
    chats = looked(written(tmp_path / "conversations.json", CHATGPT))
    assert list(chats.texts) == ["I always prefer window seats on flights."]
    assert list(chats.unread) == [("item 2", "it is no conversation")]


def test_questions_are_given_or_made_from_the_store(tmp_path: Path) -> None:
    file = rows(tmp_path, *(f"The boat Zephyr has {n} sails and a crew" for n in range(4)), "Tea.")
    made = looked(file)
    assert made.given
    assert made.given[0].question == "What is known about Zephyr?" or len(made.given) <= 10
    own = inspect(str(file), questions=["the Zephyr"], now=flawed_store.NOW)
    assert [each.question for each in own.given] == ["the Zephyr"]
    assert len(own.given[0].entries) == 4
    assert own.given[0].tokens > 0
    assert looked(rows(tmp_path)).given == []


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        looked(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="no store"):
        looked(tmp_path)
    program = tmp_path / "ls"
    program.write_bytes(b"\x7fELF\2\1\1")
    with pytest.raises(InvalidInput, match=r"There are: a folder .*\.csv.* vault .*mem0.*ChatGPT"):
        looked(program)
