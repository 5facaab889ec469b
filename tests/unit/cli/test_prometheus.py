"""Figures in Prometheus' text format, read back by its own parser."""

from hypothesis import given, strategies
from prometheus_client.parser import text_string_to_metric_families

from memory_mesh.cli.commands.stats_and_namespaces import Gauge, exposition


def test_each_metric_has_its_help_its_type_and_its_samples():
    gauges = [Gauge("up", "It is up.", [({}, 1)]), Gauge("bytes", "Sizes.", [({"part": "a"}, 2)])]
    assert exposition(gauges) == (
        "# HELP memory_mesh_up It is up.\n# TYPE memory_mesh_up gauge\nmemory_mesh_up 1\n"
        "# HELP memory_mesh_bytes Sizes.\n# TYPE memory_mesh_bytes gauge\n"
        'memory_mesh_bytes{part="a"} 2\n'
    )


def test_a_metric_without_samples_is_left_out():
    assert exposition([Gauge("vectors", "Vectors.", [])]) == ""


@given(strategies.text(), strategies.text(strategies.characters(exclude_categories=["C", "Z"])))
def test_any_label_is_read_back_as_it_was(value: str, about: str):
    written = exposition([Gauge("memories", f"x{about}", [({"namespace": value}, 3)])])
    (family,) = text_string_to_metric_families(written)
    (sample,) = family.samples
    assert (family.documentation, sample.labels) == (f"x{about}", {"namespace": value})
    assert (family.type, sample.value) == ("gauge", 3.0)
