"""Sessions of a real Claude Code: what one of them stores is in the first request of the next.

Each round has an empty home into which `memory-mesh init` installs the plugin. One session stores
a fact: by a prompt that asks to remember it, or by a call of our MCP tool. The next asks for it; it
is then resumed, and must not be given the fact a second time.
"""

import random
import subprocess
from pathlib import Path

from tests.agents.fake_api import ToolUse
from tests.agents.real_claude import RealClaude, Session
from tests.faults.report import Progress, Report, Ticker, silent

TOOL = "mcp__plugin_memory-mesh_memory__"
TOOLS = (
    "memory_store",
    "memory_search",
    "memory_get",
    "memory_context",
    "memory_forget",
    "memory_feedback",
    "memory_explain",
    "memory_reflect",
)
SERVICES = ("billing", "search", "staging", "invoice", "gateway", "archive", "report", "mail")


def rounds(
    folder: Path,
    binary: Path,
    *,
    count: int,
    seed: int,
    patient: bool = False,
    progress: Progress = silent,
) -> Report:
    """Let a number of pairs of sessions remember one fact each."""
    report, ticker = Report(), Ticker(progress, count)
    numbers = random.Random(seed)
    report.figures["version"] = ""
    for each in range(count):
        by = "prompt" if each % 2 == 0 else "tool"
        service, port = numbers.choice(SERVICES), numbers.randrange(20_000, 60_000)
        agent = RealClaude.in_empty_home(binary, folder / str(each), patient=patient)
        try:
            agent.mesh("init", "--yes")
            report.figures["version"] = agent.claude("--version").strip()
            _one_round(agent, report, by, f"the {service} service listens on port {port}", port)
        except AssertionError as error:
            report.broken("rounds that failed", f"round {each}, by {by}: {error}")
        finally:
            agent.close()
        report.count("rounds")
        ticker.tick(each + 1)
    return report


def _one_round(agent: RealClaude, report: Report, by: str, fact: str, port: int) -> None:
    first = _storing(agent, by, fact)
    missing = [name for name in TOOLS if TOOL + name not in first.first.text]
    agent.stored(str(port))
    question = f"On which port does {fact.partition(' listens')[0]} listen?"
    asked = agent.ask(question)
    given = asked.first.text.count(str(port))
    resumed = agent.ask(f"Say it again: {question}", "--resume", asked.id)
    report.count(f"stored by {by}")
    for happened, figure, why in (
        (not missing, "our tools in the first request", f"missing: {missing}"),
        (given == 1, "recalled in the first request", f"{given} times. {agent.log()}"),
        (
            resumed.first.text.count(str(port)) == 1,
            "not given again to a resumed session",
            f"{resumed.first.text.count(str(port))} times. {agent.log()}",
        ),
    ):
        if happened:
            report.count(figure)
        else:
            report.broken(f"NOT {figure}", why)


def _storing(agent: RealClaude, by: str, fact: str) -> Session:
    if by == "prompt":
        return agent.ask(f"Remember that {fact}.")
    store = ToolUse(f"{TOOL}memory_store", {"content": f"In this project, {fact}."})
    allowed = ("--allowedTools", f"{TOOL}memory_store")
    return agent.ask("Note what you have found out.", *allowed, script=[store])


def code_rounds(
    folder: Path,
    binary: Path,
    *,
    count: int,
    seed: int,
    patient: bool = True,
    progress: Progress = silent,
) -> Report:
    """Let a number of sessions begin after code that memories cite was changed and deleted."""
    report, ticker = Report(), Ticker(progress, count)
    numbers = random.Random(seed)
    for each in range(count):
        names = numbers.sample(SERVICES, 3)
        agent = RealClaude.in_empty_home(binary, folder / str(each), patient=patient)
        try:
            agent.mesh("init", "--yes")
            _one_change(agent, report, names)
        except AssertionError as error:
            report.broken("rounds that failed", f"round {each}: {error}")
        finally:
            agent.close()
        report.count("rounds")
        ticker.tick(each + 1)
    return report


def _one_change(agent: RealClaude, report: Report, names: list[str]) -> None:
    root = agent.repository
    (root / ".git").rmdir()
    for name in names:
        code = f"def {name}_port(base):\n    return base + first_{name}(base)\n"
        (root / f"{name}.py").write_text(code)
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "ports"]):
        subprocess.run(["git", *own, *words], cwd=root, check=True, capture_output=True)
    kept, changed, gone = names
    for name in names:
        fact = f"The {name} port of the shop is counted from its base."
        agent.mesh("store", fact, "--evidence", f"{name}.py#{name}_port")
    agent.mesh("lesson", "add", "`touch trap.txt` broke the build here: use `true`.")
    (root / f"{changed}.py").write_text(f"def {changed}_port(base):\n    return 8080\n")
    (root / f"{gone}.py").unlink()
    call = ToolUse("Bash", {"command": "touch ./trap.txt", "description": "make a file"})
    session = agent.ask(
        "How are the ports of the shop counted from their base?",
        "--allowedTools",
        "Bash",
        script=[call, call, "Done."],
    )
    told = session.first.text
    answers = [turn.text for turn in session.turns[1:]]
    for happened, figure in (
        (f"The {kept} port" in told, "fresh is told"),
        (f"The {changed} port" in told, "drifted is told"),
        ("the code changed since" in told, "drifted says so"),
        (f"The {gone} port" not in told, "orphaned is left out"),
        (len(answers) > 0 and "broke the build here" in answers[0], "warned before the call ran"),
        (len(answers) > 1 and "held this call once" in answers[1], "and once only"),
        ((root / "trap.txt").exists(), "the repeated call ran"),
    ):
        if happened:
            report.count(figure)
        else:
            report.broken(
                f"NOT {figure}", f"{told[-600:]} {[a[-300:] for a in answers]} {agent.log()}"
            )
