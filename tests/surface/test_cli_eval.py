"""`memory-mesh eval` in a real process."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

FACTS = (
    "Ann drinks green tea", "Ben repairs clocks", "Cleo paints harbours", "Dan grows tomatoes",
)  # fmt: skip
CHARTS = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "numpy.random")
ASKED = ("Who drinks tea?", "Who repairs clocks?", "Who paints harbours?", "Who likes zebras?")


@pytest.fixture
def cli(cli: CommandLine) -> CommandLine:
    """A home with a small set and a suite for it; no model."""
    folder = cli.home / "set"
    folder.mkdir()
    corpus = [{"id": f"r{at}", "text": text} for at, text in enumerate(FACTS)]
    queries = [{"id": f"q{at}", "text": text, "gold": [f"r{at}"]} for at, text in enumerate(ASKED)]
    for name, values in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(value) + "\n" for value in values)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (cli.home / "people.yaml").write_text("k: [1, 3]\ncounts: R@1\n", encoding="utf-8")
    return CommandLine(cli.home, loaded=CHARTS)


def test_a_run_writes_its_report_and_says_the_figure(cli: CommandLine) -> None:
    done = cli("eval", "run", "people.yaml", "--data", "set", "--out", "out")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "mesh         all    R@1 0.7500\n"
        "[MemoryMesh] 1 of 4 questions failed.\n"
        "q3   Who likes zebras?\n"
        "     expected  Dan grows tomatoes (not among the hits)\n"
        "     first     nothing\n"
        "     why       No hits.\n"
        "[MemoryMesh] The report is in out/people.md\n"
    )
    report = json.loads((cli.home / "out/people.json").read_text())
    assert report["command"] == "memory-mesh eval run people.yaml --data set"
    assert report["systems"]["mesh"]["all"]["R@1"] == 0.75
    assert {file.suffix for file in (cli.home / "out").iterdir()} == {
        ".json", ".jsonl", ".md", ".xml", ".svg", ".png",
    }  # fmt: skip
    kept = list((cli.home / ".cache/memory-mesh/eval/people").glob("*.results.jsonl.gz"))
    assert [file.name for file in kept] == [report["results"]]


def test_a_bound_that_is_missed_is_the_exit_code(cli: CommandLine) -> None:
    words = ("eval", "run", "people.yaml", "--data", "set", "--out", "out", "--work", "work")
    held = cli(*words, "--fail-below", "R@1=0.75")
    assert (held.code, held.err) == (0, "")
    broken = cli(*words, "--fail-below", "R@1=0.8", "--fail-below", "R@3=0.7")
    assert broken.code == 1
    assert broken.err == "[MemoryMesh] Below the bound: all R@1: 0.7500, below 0.8\n"
    [suite] = ET.parse(cli.home / "out/people.junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_of_two_bounds_on_one_figure_the_higher_counts(cli: CommandLine) -> None:
    words = ("eval", "run", "people.yaml", "--data", "set", "--out", "out")
    for bounds in (("R@1=0.8", "R@1=0.1"), ("R@1=0.1", "R@1=0.8")):
        done = cli(*words, *(word for bound in bounds for word in ("--fail-below", bound)))
        assert (done.code, "R@1: 0.7500, below 0.8" in done.err) == (1, True)


def test_a_figure_that_no_question_has_a_part_in_fails_its_bound(cli: CommandLine) -> None:
    done = cli(
        "eval", "run", "people.yaml", "--data", "set", "--out", "out",
        "--fail-below", "newest_above_stale=0",
    )  # fmt: skip
    assert done.code == 1
    assert "newest_above_stale: nothing was measured" in done.err
    [suite] = ET.parse(cli.home / "out/people.junit.xml").getroot()
    assert suite.get("failures") == "1"
    assert (cli.home / "out/people.md").is_file()


def test_python_writes_the_files_that_the_command_writes(cli: CommandLine) -> None:
    options = ("--data", "set", "--fail-below", "R@1=0.8", "--work", "work", "--out", "a")
    assert cli("eval", "run", "people.yaml", *options).code == 1
    code = (
        "from memory_mesh import evaluation\n"
        "bounds = {'R@1': 0.8}\n"
        "report = evaluation.run('people.yaml', data='set', fail_below=bounds, work='work',"
        " out='b', command=open('a/people.md').readlines()[2].strip(' `\\n'))\n"
        "print(*report.misses(bounds), *(each.question for each in report.failures), sep='; ')\n"
    )
    done = CommandLine(cli.home, (sys.executable,), cli.variables)("-c", code)
    assert (done.out, done.err) == ("all R@1: 0.7500, below 0.8; Who likes zebras?\n", "")
    for name in ("json", "md", "failures.jsonl", "junit.xml", "svg"):
        ours, theirs = (
            _undated((cli.home / f"{folder}/people.{name}").read_text()) for folder in "ab"
        )
        assert ours == theirs


def _undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+", "", text)


def test_a_mistake_in_a_suite_is_named_with_its_line(cli: CommandLine) -> None:
    for fact in FACTS:
        cli.stored(fact)
    text = f"store: {cli.store}\nk: 1\nquestions:\n  - ask: Who drinks tea?\n    expect: [tea]\n"
    for wrong, said in (
        (text.replace("expect:", "expects:"), "line 5: there is no 'expects' in a question; did"),
        (text.replace("[tea]", "[teapot]"), "line 5: expect 'teapot' is neither the id nor a part"),
    ):
        (cli.home / "mine.yaml").write_text(wrong)
        done = cli("eval", "run", "mine.yaml")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert f"mine.yaml, {said}" in done.err


def test_no_path_of_the_machine_is_in_a_report(cli: CommandLine) -> None:
    ranked = [{"id": f"q{at}", "ranked": ["r3"]} for at in range(4)]
    (cli.home / "peer.jsonl").write_text("".join(json.dumps(line) + "\n" for line in ranked))
    done = cli(
        "eval", "run", str(cli.home / "people.yaml"), "--data", str(cli.home / "set"),
        "--add", f"peer={cli.home / 'peer.jsonl'}", "--systems", "mesh,keyword",
        "--vectors", str(cli.home / "v.db"), "--out", "out",
    )  # fmt: skip
    assert done.code == 0, done.err
    for ending in ("json", "md", "junit.xml", "svg"):
        assert str(cli.home) not in (cli.home / f"out/people.{ending}").read_text()
    report = json.loads((cli.home / "out/people.json").read_text())
    assert list(report["systems"]) == ["mesh", "keyword", "peer"]
    assert "--add peer=peer.jsonl" in report["command"]


def test_two_reports_are_compared(cli: CommandLine) -> None:
    words = ("eval", "run", "people.yaml", "--data", "set", "--work", "work")
    cli(*words, "--out", "before")
    corpus = cli.home / "set/corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("repairs clocks", "sleeps"))
    cli(*words, "--out", "after")
    done = cli("eval", "compare", "before/people.json", "after/people.json", "--work", "work")
    assert done.code == 0
    assert "mesh         all    R@1                  0.7500 0.5000 -0.2500  [-0.750, +0.000]" in (
        done.out
    )
    shown = json.loads(
        cli("eval", "compare", "before/people.json", "after/people.json", "--json").out
    )["items"]
    assert shown[0]["difference"] == -0.25
    assert shown[0]["questions"] is None  # the results are in the work folder, which was not named


def test_a_ten_line_suite_asks_a_store_of_ones_own(cli: CommandLine) -> None:
    for fact in FACTS:
        cli.stored(fact)
    suite = cli.home / "mine.yaml"
    suite.write_text(
        "name: mine\n"
        f"store: {cli.store}\n"
        "k: [1, 3]\n"
        "questions:\n"
        "  - ask: Who drinks tea?\n"
        "    expect: [green tea]\n"
        "  - ask: Who repairs clocks?\n"
        "    expect: [Ben]\n",
        encoding="utf-8",
    )
    done = cli("eval", "run", "mine.yaml", "--fail-below", "R@1=1", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["systems"]["mesh"]["all"]["R@1"] == 1.0
    assert json.loads(cli("stats", "--json").out)["recalls"] == 0


def test_a_person_sees_a_bar_and_a_pipe_does_not(cli: CommandLine) -> None:
    seen = cli.on_terminal("eval", "run", "people.yaml", "--data", "set")
    assert seen.code == 0
    assert "4/4 asking all" in seen.out
    assert "█" in seen.out
    piped = cli("eval", "run", "people.yaml", "--data", "set", "--fresh")
    assert (piped.code, piped.err) == (0, "")
    assert "asking" not in piped.out


def test_the_suites_that_come_along_are_listed(cli: CommandLine) -> None:
    assert "locomo:" in cli("eval", "list").out
    assert "precisionmembench" in json.loads(cli("eval", "list", "--json").out)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run"], 2, "name one suite"),
        (["run", "nothing"], 1, "there is no suite nothing"),
        (["run", "people.yaml"], 1, "where is the data of people?"),
        (["run", "people.yaml", "--data", "none"], 1, "there is no data in none"),
        (["run", "people.yaml", "--data", "set", "--fail-below", "R@1"], 2, "NAME=VALUE"),
        (["run", "people.yaml", "--data", "set", "--fail-below", "R@1=x"], 2, "needs a number"),
        (["run", "people.yaml", "--data", "set", "--fail-below", "R@9=1"], 1, "no figure 'R@9'"),
        (["run", "people.yaml", "--data", "none", "--fail-below", "R@9=1"], 1, "no figure 'R@9'"),
        (["run", "people.yaml", "--data", "set", "--fail-below", "R@1=nan"], 2, "needs a number"),
        (["run", "people.yaml", "--data", "set", "--seed", "-1"], 1, "a seed is a whole number"),
        (["run", "people.yaml", "--data", "set", "--systems", "other"], 1, "no system 'other'"),
        (["run", "people.yaml", "--data", "set", "--split", "dev"], 1, "there is no split 'dev'"),
        (["compare", "a.json"], 2, "name two reports"),
        (["compare", "a.json", "b.json"], 1, "there is no report a.json"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(cli: CommandLine, words, code, said) -> None:
    done = cli("eval", *words)
    assert done.code == code
    assert said in done.err
    assert done.err.count("\n") == 1


def test_help_has_examples(cli: CommandLine) -> None:
    done = cli("eval", "--help")
    assert done.code == 0
    assert "memory-mesh eval run locomo --data" in done.out
    assert "memory-mesh eval compare" in done.out


PAGE = (Path(__file__).parents[2] / "docs/reference/evaluation.md").read_text(encoding="utf-8")


def test_the_page_about_evaluation_can_be_followed(cli: CommandLine) -> None:
    suite, yaml_of_ci = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)
    (cli.home / "my-suite.yaml").write_text(suite, encoding="utf-8")
    notes = [
        f"Note {number}: release {number} is built on machine {number}" for number in range(12)
    ]
    notes.append("The staging database is called heron")
    with MemoryMesh(db_dir=cli.store, embedder="none") as mesh:
        mesh.add_many(notes)
    shown = PAGE.partition("```console\n$ memory-mesh eval run my-suite.yaml")[2]
    words, _, rest = shown.partition("\n")
    done = cli("eval", "run", "my-suite.yaml", *words.split())
    assert (done.code, done.out + done.err) == (1, rest.partition("```")[0])
    [code] = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
    again = CommandLine(cli.home, (sys.executable,), cli.variables)("-c", code)
    [failed, figure] = again.out.splitlines()
    assert (again.code, again.err, figure) == (1, "", "0.6667")
    assert failed.startswith("Which computer makes the third one? The expected memory was not")
    assert "memory-mesh eval run" + yaml_of_ci.partition("memory-mesh eval run")[2] in (
        Path(__file__).parents[2] / "examples/evaluate_in_ci/workflow.yml"
    ).read_text(encoding="utf-8")
