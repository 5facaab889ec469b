"""Questions to a store of one's own: what is asked, what is refused, what is said of a failure."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from memory_mesh import evaluation
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound
from memory_mesh.sync import MemoryMesh
from tests.unit.evaluation.test_whole_run import FACTS, Letters


def own_suite(folder: Path, questions: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(f"store: store\nk: [1, 3]\nquestions:\n{questions}", encoding="utf-8")
    return file


@pytest.fixture
def own(tmp_path: Path) -> list[str]:
    """A store with facts in a project; their ids."""
    with MemoryMesh(db_dir=tmp_path / "store", project="work") as mesh:
        return [str(receipt.id) for receipt in mesh.add_many(FACTS)]


def files(folder: Path) -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.db*")}


def test_questions_to_a_store_of_ones_own_write_nothing(tmp_path: Path, own: list[str]) -> None:
    suite = own_suite(
        tmp_path,
        f"  - {{ask: 'Who drinks tea?', expect: [{own[0]}]}}\n"
        "  - {ask: 'Who repairs clocks?', expect: ['BEN REPAIRS', 'tomatoes']}\n"
        "  - {ask: 'zebra xylophone', expect: []}\n",
    )
    before, embedder = files(tmp_path / "store"), Letters()
    report = evaluation.run(suite, work=tmp_path / "work", systems=["keyword"])
    assert report.figure("keyword", "all", "R@1") == 0.75
    assert report.systems["keyword"]["all"]["goldless"] == 1
    evaluation.run(suite, work=tmp_path / "work", embedder=embedder)
    assert files(tmp_path / "store") == before
    assert embedder.texts == []
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        assert mesh.care.recalls() == []


def test_a_store_that_is_too_small_or_not_there_is_refused(tmp_path: Path, own: list[str]) -> None:
    suite = own_suite(tmp_path, "  - {ask: 'tea', expect: [tea]}\n")
    text = suite.read_text()
    for changed, said in (
        ("k: [9]", "with k = 9 everything would be found"),
        ("k: [1]\nnamespace: other", "no namespace 'other'"),
    ):
        suite.write_text(text.replace("k: [1, 3]", changed))
        with pytest.raises(MeshError, match=said):
            evaluation.run(suite, work=tmp_path / "work")
    suite.write_text(text.replace("store: store", "store: elsewhere"))
    with pytest.raises(NotFound, match="there is no store"):
        evaluation.run(suite, work=tmp_path / "work")
    assert not (tmp_path / "elsewhere").exists()


def test_an_expected_text_that_no_memory_holds_is_an_error(tmp_path: Path, own: list[str]) -> None:
    suite = own_suite(
        tmp_path,
        "  - {ask: tea, expect: [tea]}\n"
        "  - ask: clocks\n"
        "    expect:\n"
        "      - Ben\n"
        "      - repairs klocks\n"
        "  - {ask: zebras, expect: zebras}\n",
    )
    with pytest.raises(InvalidInput) as caught:
        evaluation.run(suite, work=tmp_path / "work")
    said = str(caught.value)
    assert said.startswith("mine.yaml, line 8: expect 'repairs klocks' is neither the id nor a par")
    assert said.endswith("The nearest is: Ben repairs clocks (1 more like this.)")


def test_a_failed_question_says_what_came_instead_and_why(tmp_path: Path, own: list[str]) -> None:
    with MemoryMesh(db_dir=tmp_path / "store", project="work") as mesh:
        for cup in ("a cup", "a mug", "a glass"):
            mesh.add(f"Eve drinks {cup} of tea, says Ann, who drinks tea as well")
    suite = own_suite(
        tmp_path,
        "  - {ask: 'What does Ann say that Eve drinks?', expect: [green tea, tomatoes]}\n"
        "  - {ask: 'Who repairs clocks?', expect: [Ben]}\n"
        "  - {ask: 'Who drinks a glass of tea?', expect: []}\n",
    ).with_name("mine.yaml")
    report = evaluation.run(
        suite, work=tmp_path / "work", out=tmp_path / "out", fail_below={"R@1": 0.9}
    )
    ranked, nothing = report.failures
    green, tomatoes = ranked.expected
    assert (green.id, green.text) == (own[0], FACTS[0])
    assert green.rank is not None
    assert green.rank > 3
    assert tomatoes.rank is None
    assert ranked.first is not None
    assert ranked.first[1].startswith("Eve drinks")
    assert f"The expected memory is candidate {green.rank} of " in ranked.why
    assert (nothing.expected, nothing.question) == ((), "Who drinks a glass of tea?")
    assert nothing.why.startswith("Nothing should be found; the first hit scores 0.")
    page = (tmp_path / "out/mine.md").read_text(encoding="utf-8")
    assert "2 of 3, by R@3 of mesh." in page
    assert f"  - expected: {FACTS[0]} (rank {green.rank})\n  - expected: Dan" in page
    lines = (tmp_path / "out/mine.failures.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [each.as_json() for each in report.failures]
    assert "q1: What does Ann say" in (tmp_path / "out/mine.junit.xml").read_text(encoding="utf-8")
    assert "Eve" not in (tmp_path / "out/mine.json").read_text(encoding="utf-8")
    assert [miss.metric for miss in report.misses({"R@1": 0.9})] == ["R@1"]


def test_a_superseded_memory_is_expected_and_explained(tmp_path: Path, own: list[str]) -> None:
    with MemoryMesh(db_dir=tmp_path / "store", project="work") as mesh:
        mesh.delete(own[1])
    suite = own_suite(tmp_path, "  - {ask: 'Who repairs clocks?', expect: [repairs clocks]}\n")
    text = suite.read_text(encoding="utf-8").replace("k: [1, 3]", "k: [1]")
    suite.write_text(text, encoding="utf-8")
    [failure] = evaluation.run(suite, work=tmp_path / "work").failures
    assert (failure.expected[0].rank, "deleted" in failure.why) == (None, True)
