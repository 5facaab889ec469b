"""Draws the main figure of each system as a bar with its interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.errors import MissingExtra
from memory_mesh.evaluation.report import Report
from memory_mesh.model import Json
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#2f6f8f", "#c9803a", "#6b8f5e")
_WIDTH, _HEIGHT, _PER_BAR = 2.5, 3.2, 0.9  # inches
_DPI = 150


def draw(report: Report, files: Sequence[Path]) -> None:
    """Writes the chart in the format of each file's extension."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.of("eval", "a chart") from None
    systems = report.systems
    splits = list(dict.fromkeys(split for each in systems.values() for split in each))
    with mpl.rc_context({"svg.hashsalt": "memory-mesh", "font.size": 9}):
        width = _WIDTH + _PER_BAR * len(systems) * len(splits) / 2
        figure = Figure(figsize=(width, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        for number, split in enumerate(splits):
            _bars(axes, report, split, (number, len(splits)))
        axes.set_xticks(range(len(systems)), list(systems))
        axes.set_ylim(0, 1)
        axes.set_ylabel(report.counts)
        axes.set_title(f"{report.suite}, {str(report.values['date'])[:10]}", loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        if len(splits) > 1:
            axes.legend(frameon=False)
        for file in files:
            clean = {"Date": None} if file.suffix == ".svg" else None
            figure.savefig(file, metadata=clean, dpi=_DPI)


def _bars(axes: "Axes", report: Report, split: str, place: tuple[int, int]) -> None:
    number, of = place
    thickness = 0.8 / of
    for at, (name, each) in enumerate(report.systems.items()):
        height = report.figure(name, split, report.counts)
        if height is None:
            continue
        x = at + (number - (of - 1) / 2) * thickness
        below, above = _reach(each.get(split, {}), report.counts, height)
        axes.bar(
            x,
            height,
            thickness * 0.9,
            color=_COLOURS[number % len(_COLOURS)],
            yerr=[[below], [above]],
            capsize=3,
            label=split if at == 0 else None,
        )
        axes.text(x, height + above + 0.02, f"{height:.3f}", ha="center")


def _reach(figures: Mapping[str, Json], metric: str, height: float) -> tuple[float, float]:
    """Returns the lower and upper error of the interval over questions."""
    intervals = figures.get("intervals")
    own = intervals.get(metric) if isinstance(intervals, Mapping) else None
    bounds = own.get("questions") if isinstance(own, Mapping) else None
    match bounds:
        case [float(low) | int(low), float(high) | int(high)]:
            return max(0.0, height - low), max(0.0, high - height)
        case _:
            return 0.0, 0.0
