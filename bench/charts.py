"""Draws each chart of results/benchmarks anew from its figures: `python -m bench.charts`."""

from bench import report as foundation
from bench.evaluate import OUT
from memory_mesh.evaluation import charts
from memory_mesh.evaluation.report import EvaluationReport


def main() -> int:
    """Draw; no figure changes."""
    for picture in sorted(OUT.glob("*.svg")):
        if picture.stem == "foundation":
            foundation.chart(picture, foundation.read(OUT))
        else:
            charts.draw(EvaluationReport.read(picture.with_suffix(".json")), [picture])
        print(picture.relative_to(OUT.parents[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
