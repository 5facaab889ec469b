"""Sessions of a real Claude Code: what one of them stores is in the first request of the next.

Each round has an empty home into which `memory-mesh init` installs the plugin. One session stores
a fact: by a prompt that asks to remember it, or by a call of our MCP tool. The next asks for it; it
is then resumed, and must not be given the fact a second time.
"""

import random
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
