"""Figures as Prometheus reads them: its text exposition format, version 0.0.4."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.fastdataclass import dataclass

PREFIX = "memory_mesh_"
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric that may go up and down, with its samples."""

    name: str  # without the prefix
    help: str
    samples: Sequence[tuple[Labels, float]]


def text(gauges: Iterable[Gauge]) -> str:
    """Returns the lines of all metrics, each with its help and its type."""
    return "".join(f"{line}\n" for gauge in gauges if gauge.samples for line in _lines(gauge))


def _lines(gauge: Gauge) -> list[str]:
    name = PREFIX + gauge.name
    samples = (f"{name}{_labels(labels)} {number}" for labels, number in gauge.samples)
    about = gauge.help.replace("\\", "\\\\").replace("\n", "\\n")
    return [f"# HELP {name} {about}", f"# TYPE {name} gauge", *samples]


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
