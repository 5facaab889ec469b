"""Charts that a person can read: few bars, and no text upon another or outside of the picture."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench import report as foundation
from memory_mesh.evaluation import charts
from memory_mesh.evaluation.charts import Bar
from memory_mesh.evaluation.report import EvaluationReport

if TYPE_CHECKING:  # it takes a second to load
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

PUBLISHED = Path(__file__).parents[3] / "results/benchmarks"
SLACK = 1.0  # pixels


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws a report; the figure that was written."""
    figures = []
    draw = charts.figure

    def keeping(*bars: object, **options: object) -> "Figure":
        figures.append(draw(*bars, **options))  # type: ignore[arg-type]  # passed on as it came
        return figures[-1]

    monkeypatch.setattr(charts, "figure", keeping)

    def one(report: EvaluationReport) -> "Figure":
        charts.draw(report, [tmp_path / "chart.svg"])
        return figures[-1]

    return one


def texts(figure: "Figure") -> "dict[str, Bbox]":
    """Every text that is seen, with its place in pixels."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    return {
        f"{number} {text.get_text()}": text.get_window_extent()
        for number, text in enumerate(figure.findobj(Text))
        if text.get_visible() and text.get_text()
    }


def assert_readable(figure: "Figure") -> None:
    from matplotlib.transforms import Bbox

    found = texts(figure)
    for name, box in found.items():
        assert box.x0 >= -SLACK, name
        assert box.x1 <= figure.bbox.x1 + SLACK, name
        assert box.y0 >= -SLACK, name
        assert box.y1 <= figure.bbox.y1 + SLACK, name
    for (name, box), (other, beside) in itertools.combinations(found.items(), 2):
        apart = Bbox.intersection(box, beside)
        assert apart is None or min(apart.width, apart.height) <= SLACK, (name, other)


@pytest.mark.parametrize("name", sorted(file.stem for file in PUBLISHED.glob("*.svg")))
def test_no_text_of_a_published_chart_is_upon_another(name: str, drawn, tmp_path: Path) -> None:
    if name == "foundation":
        bars = foundation.bars(foundation.read(PUBLISHED))
        assert_readable(charts.figure(bars, *foundation.TITLES, most=2, limit=1))
        return
    figure = drawn(EvaluationReport.read(PUBLISHED / f"{name}.json"))
    assert_readable(figure)
    assert len(figure.axes[0].get_yticklabels()) <= charts.MOST


def test_of_many_systems_the_best_form_of_each_is_drawn(drawn) -> None:
    figure = drawn(EvaluationReport.read(PUBLISHED / "locomo.json"))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[:2] == ["mesh", "keyword"]
    assert len({name.partition("-")[0] for name in names}) == len(names)
    assert "8 of 20 systems" in " ".join(texts(figure))


def test_of_one_system_the_depths_are_compared(drawn) -> None:
    whole = EvaluationReport.read(PUBLISHED / "locomo.json")
    alone = EvaluationReport({**whole.values, "systems": {"mesh": whole.systems["mesh"]}})
    figure = drawn(alone)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [
        "the first 5 hits (R@5)",
        "the first 10 hits (R@10)",
        "the first 20 hits (R@20)",
    ]
    assert_readable(figure)


def test_long_names_do_not_push_the_bars_out() -> None:
    import matplotlib as mpl

    bars = [
        Bar(name="a system with a very long name " * 3, length=1, text="1.000", low=0.9, high=1),
        Bar(name="x" * 80, length=0.2, text="0.200"),
    ]
    with mpl.rc_context({"font.size": 10}):
        figure = charts.figure(bars, "A title of many words " * 4, ["A note " * 30], most=1)
        assert_readable(figure)
        assert figure.axes[0].get_window_extent().width > figure.bbox.width / 3
