"""Draws the main figure of each system as a bar with its interval; of one system, by depth.

Bars lie on their side, so that a name of any length stands beside its bar, and the picture has one
width: its letters can be read on a page of 400 pixels.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.evaluation.report import EvaluationReport
from memory_mesh.evaluation.suite import NEWEST, PRECISION
from memory_mesh.model import Json, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8  # bars of a chart
OURS, OTHERS, MISSED = "#1f6f8b", "#a9b4bc", "#b3412e"
_WIDTH, _PER_BAR, _PER_LINE, _FRAME = 6.0, 0.34, 0.17, 1.15  # inches
_LABEL_CHARS, _TITLE_CHARS, _NOTE_CHARS = 26, 52, 72  # per line
_DPI = 150
_TEST = "test"
_OWN = {"mesh", "keyword", "rrf"}  # systems that are this library


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: its name, its length, the ends of its interval, and what stands behind it."""

    name: str
    length: float
    text: str
    low: float | None = None
    high: float | None = None
    colour: str = OURS


def draw(report: EvaluationReport, files: Sequence[Path]) -> None:
    """Writes the chart of a report in the format of each file's extension."""
    split = _split(report)
    known = [name for name in report.systems if _bar(report, name, split) is not None]
    by_depth = len(known) == 1 and report.counts.startswith("R@")
    bars = _depths(report, known[0], split) if by_depth else _systems(report, known, split)
    what = "k hits (R@k)" if by_depth else ""
    figures = report.systems[known[0]][split] if known else {}
    said = [report.suite, f"split {split}" if split != "all" else "", _count(figures.get("n"))]
    notes = [", ".join([*filter(None, said), str(report.values["date"])[:10]])]
    notes.append("The line on a bar is its 95 % interval. Longer is better.")
    if len(bars) < len(known):
        notes.append(f"{len(bars)} of {len(known)} systems: the best form of each.")
    bars_to_files(bars, _title(report.counts, what), notes, files, most=1.0)


def bars_to_files(
    bars: Sequence[Bar],
    title: str,
    notes: Sequence[str],
    files: Sequence[Path],
    *,
    most: float,
    limit: float | None = None,
) -> None:
    """Writes the bars; `most` is the end of the axis, `limit` a line across."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtra.of("eval", "a chart") from None
    with mpl.rc_context({"svg.hashsalt": "memory-mesh", "font.size": 10}):
        drawn = figure(bars, title, notes, most=most, limit=limit)
        for file in files:
            clean = {"Date": None} if file.suffix == ".svg" else None
            drawn.savefig(file, metadata=clean, dpi=_DPI)


def figure(
    bars: Sequence[Bar],
    title: str,
    notes: Sequence[str],
    *,
    most: float,
    limit: float | None = None,
) -> "Figure":
    """Returns the bars from top to bottom, each with its name on the left and its text behind."""
    from matplotlib.figure import Figure

    labels = [_wrapped(bar.name, _LABEL_CHARS) for bar in bars]
    heads = _wrapped(title, _TITLE_CHARS)
    lines = [line for note in notes for line in _wrapped(note, _NOTE_CHARS).splitlines()]
    high = _FRAME + _PER_LINE * len(lines) + 0.2 * heads.count("\n") + _PER_BAR * len(bars)
    high += _PER_LINE * sum(label.count("\n") for label in labels)
    made = Figure(figsize=(_WIDTH, high), layout="constrained")
    axes = made.subplots()
    for place, bar in enumerate(bars):
        _draw(axes, place, bar)
    axes.set_yticks(range(len(bars)), labels)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.16)  # room for the text behind the longest bar
    step = 0.25 if most <= 1 else 0.5
    axes.set_xticks([step * part for part in range(1 + int(most / step))])
    if limit is not None:
        axes.axvline(limit, color="black", linewidth=1, linestyle="--", zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    made.suptitle(heads, x=0.01, ha="left", fontsize=12, fontweight="bold")
    made.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#444444")
    return made


def _draw(axes: "Axes", place: int, bar: Bar) -> None:
    axes.barh(place, bar.length, 0.66, color=bar.colour)
    end = bar.length
    if bar.low is not None and bar.high is not None:
        axes.plot([bar.low, bar.high], [place, place], color="black", linewidth=1.2)
        end = max(end, bar.high)
    axes.annotate(
        bar.text,
        (end, place),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        bbox={"boxstyle": "square,pad=0.15", "color": "white"},  # over the line of a limit
    )


def _split(report: EvaluationReport) -> str:
    """Of several splits the one that nothing was tuned on."""
    return _TEST if _TEST in next(iter(report.systems.values())) else report.last_split


def _systems(report: EvaluationReport, known: Sequence[str], split: str) -> list[Bar]:
    """The best of each family of systems first; a family is the name before a dash."""
    bars = [bar for name in known if (bar := _bar(report, name, split)) is not None]
    bars.sort(key=lambda bar: -bar.length)
    if len(bars) > MOST:
        best: dict[str, Bar] = {}
        for bar in bars:
            best.setdefault(bar.name.partition("-")[0], bar)
        bars = list(best.values())[:MOST]
    return bars


def _depths(report: EvaluationReport, system: str, split: str) -> list[Bar]:
    metrics = [name for name in report.systems[system][split] if name.startswith("R@")]
    found = [_bar(report, system, split, metric) for metric in metrics]
    return [bar for bar in found if bar is not None][:MOST]


def _bar(
    report: EvaluationReport, system: str, split: str, metric: str | None = None
) -> Bar | None:
    length = report.figure(system, split, metric or report.counts)
    if length is None:
        return None
    low, high = _reach(report.systems[system].get(split, {}), metric or report.counts)
    name = _depth(metric) if metric else system
    colour = OURS if metric or system in _OWN else OTHERS
    return Bar(name=name, length=length, text=f"{length:.3f}", low=low, high=high, colour=colour)


def _depth(metric: str) -> str:
    k = metric.removeprefix("R@")
    return f"the first hit ({metric})" if k == "1" else f"the first {k} hits ({metric})"


def _title(metric: str, what: str) -> str:
    """What a figure compares, in words."""
    named = {
        "MRR": "How high the first expected record ranks (MRR)",
        NEWEST: "Newest record above outdated ones, share of questions",
        PRECISION: "Precision where 95 % of the expected records are found (P@R95)",
    }
    if metric in named:
        return named[metric]
    hits = what or _depth(metric).removeprefix("the ").removeprefix("first ")
    return f"Expected records among the first {hits}"


def _count(number: Json) -> str:
    return "1 question" if number == 1 else f"{number:,} questions" if number else ""


def _wrapped(text: str, columns: int) -> str:
    return "\n".join(textwrap.wrap(text, columns, max_lines=3, placeholder=" …"))


def _reach(figures: Mapping[str, Json], metric: str) -> tuple[float | None, float | None]:
    """Returns the ends of the interval over questions."""
    intervals = figures.get("intervals")
    own = intervals.get(metric) if isinstance(intervals, Mapping) else None
    bounds = own.get("questions") if isinstance(own, Mapping) else None
    match bounds:
        case [float(low) | int(low), float(high) | int(high)]:
            return float(low), float(high)
        case _:
            return None, None
