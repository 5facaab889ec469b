"""Plans and similar tasks as text for people and prompts; stored text cannot imitate ours."""

from collections.abc import Sequence

from memory_mesh.formats.prompt import harmless
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model.trace import Advice, PatternMatch, Plan

_PARTS = (("worked", "What worked"), ("failed", "What failed"), ("avoid", "What to avoid"))


def plan_text(plan: Plan) -> str:
    """Returns the plan as Markdown; each item ends with the ids that it rests on."""
    parts = [f"# Plan: {_line(plan.goal)}"]
    for name, title in _PARTS:
        if advices := getattr(plan, name):
            parts.append("\n".join([f"## {title}", *map(_item, advices)]))
    if plan.tools:
        parts.append(f"Tools that worked: {', '.join(map(_line, plan.tools))}")
    if len(parts) == 1:
        parts.append("Nothing similar was done before.")
    return "\n\n".join(parts)


def match_lines(matches: Sequence[PatternMatch]) -> list[str]:
    """Returns a line for each match, and its approach below."""
    lines: list[str] = []
    for match in matches:
        outcome = "success" if match.success else "failure"
        tools = f"  tools: {', '.join(map(_line, match.tools_used))}" if match.tools_used else ""
        lines.append(
            f"{match.trace_id}  {match.similarity:.2f}  {outcome}  {_line(match.goal)}{tools}"
        )
        if match.suggested_approach:
            lines += [f"    {harmless(line)}" for line in _lines(match.suggested_approach)]
    return lines


def _item(advice: Advice) -> str:
    first, *rest = [harmless(line) for line in _lines(advice.text)] or [""]
    shown = [f"- {first}", *(f"  {line}" for line in rest)]
    return "\n".join(shown) + f" [{', '.join(advice.cites)}]"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in safe_text(text).split("\n") if line.strip()]


def _line(text: str) -> str:
    return harmless(" ".join(safe_text(text, keep_newlines=False).split()))
