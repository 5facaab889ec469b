"""OpenTelemetry spans: by the conventions, without content, and free where nobody listens."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import memory_mesh
from memory_mesh.model import Channel
from memory_mesh.model.errors import NotFound
from memory_mesh.platform import telemetry
from memory_mesh.sync import MemoryMesh
from tests.flow.test_log import WORDS, everything
from tests.receipts import id_of
from tests.surface.serving import served

BY_THE_CONVENTIONS = {
    "gen_ai.operation.name",
    "gen_ai.memory.store.id",
    "gen_ai.memory.record.id",
    "gen_ai.memory.record.count",
    "error.type",
}
OWN = {"memory_mesh.record.ids", "memory_mesh.outcomes"}
CONTENT = {"gen_ai.memory.query.text", "gen_ai.memory.records"}


@pytest.fixture(scope="module")
def provider() -> Iterator[TracerProvider]:
    """A tracer that is gone after these tests: OpenTelemetry itself would keep it for good."""
    found = TracerProvider()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", found)
        yield found


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    yield exporter
    processor.shutdown()


def told(spans: InMemorySpanExporter) -> list[tuple[str, dict[str, object]]]:
    """The name and the attributes of each span, in the order in which they ended."""
    return [(span.name, dict(span.attributes or {})) for span in spans.get_finished_spans()]


def test_each_operation_is_a_span_by_the_conventions(
    mesh: MemoryMesh, spans: InMemorySpanExporter
) -> None:
    one = id_of(mesh.add("Deploys go through staging first"))
    many = [id_of(each) for each in mesh.add_many(["The office is in Hamburg", "Tea is at four"])]
    mesh.update(one, tags=["work"])
    found = mesh.search("staging")
    pack = mesh.context("Where is the office?")
    mesh.delete(one)
    mesh.restore(one)
    with mesh._read() as snapshot:
        store = snapshot.head().identity
    assert store
    told_of: list[tuple[str, dict[str, object]]] = [
        ("upsert_memory", {"gen_ai.memory.record.count": 1, "gen_ai.memory.record.id": one}),
        ("upsert_memory", {"gen_ai.memory.record.count": 2, "memory_mesh.record.ids": tuple(many)}),
        ("update_memory", {"gen_ai.memory.record.count": 1, "gen_ai.memory.record.id": one}),
        ("search_memory", {"gen_ai.memory.record.count": len(found)}),
        ("search_memory", {"gen_ai.memory.record.count": len(pack.items)}),
        ("delete_memory", {"gen_ai.memory.record.count": 1, "gen_ai.memory.record.id": one}),
        ("update_memory", {"gen_ai.memory.record.count": 1, "gen_ai.memory.record.id": one}),
    ]
    assert [name for name, _ in told(spans)] == [name for name, _ in told_of]
    for (name, found_facts), (_, facts) in zip(told(spans), told_of, strict=True):
        expected = {"gen_ai.operation.name": name, "gen_ai.memory.store.id": store, **facts}
        assert {key: found_facts.get(key) for key in expected} == expected
        assert set(found_facts) <= BY_THE_CONVENTIONS | OWN
    assert told(spans)[1][1]["memory_mesh.outcomes"] == ("stored", "stored")


def test_a_span_says_whose_it_is_and_that_it_is_of_this_process(
    mesh: MemoryMesh, spans: InMemorySpanExporter
) -> None:
    mesh.add("Tea is at four")
    (span,) = spans.get_finished_spans()
    assert span.kind is trace.SpanKind.INTERNAL
    scope = span.instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.version) == ("memory_mesh", memory_mesh.__version__)
    assert span.status.status_code is trace.StatusCode.UNSET


def test_a_failure_leaves_its_kind_and_not_its_message(
    mesh: MemoryMesh, spans: InMemorySpanExporter
) -> None:
    mesh.add("Tea is at four")
    with pytest.raises(NotFound):
        mesh.update("quagga", tags=["x"])
    (_, span) = spans.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "NotFound"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description is None
    assert span.events == ()
    assert "quagga" not in span.to_json()


def test_no_content_appears_in_the_spans_of_a_session_that_does_everything(
    mesh: MemoryMesh, spans: InMemorySpanExporter
) -> None:
    everything(mesh)
    mesh.context("badger")
    mesh.for_user("walrus@example.org").add("otter")
    shown = " ".join(span.to_json().lower() for span in spans.get_finished_spans())
    assert shown
    assert [word for word in WORDS if word in shown] == []


def test_content_that_is_asked_for_is_redacted(tmp_path, spans: InMemorySpanExporter) -> None:
    with MemoryMesh(db_dir=tmp_path, embedder="none", settings={"span_content": True}) as mesh:
        mesh.add("Ada's mail is ada@example.org")
        mesh.search("mail of ada@example.org")
    (_, stored), (_, searched) = told(spans)
    assert set(stored) | set(searched) <= BY_THE_CONVENTIONS | OWN | CONTENT
    (record,) = json.loads(str(stored["gen_ai.memory.records"]))
    assert record["content"].startswith("Ada's mail is [EMAIL_")
    (hit,) = json.loads(str(searched["gen_ai.memory.records"]))
    assert hit["id"] == record["id"]
    assert 0 < hit["score"] <= 1
    assert str(searched["gen_ai.memory.query.text"]).startswith("mail of [EMAIL_")


def test_a_span_is_a_child_of_the_callers_own_also_when_awaited(
    tmp_path, provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    async def work() -> None:
        async with memory_mesh.MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
            await mesh.add("Tea is at four")

    with provider.get_tracer("caller").start_as_current_span("turn") as turn:
        asyncio.run(work())
    inner: ReadableSpan = spans.get_finished_spans()[0]
    assert inner.name == "upsert_memory"
    assert inner.parent is not None
    assert inner.parent.span_id == turn.get_span_context().span_id


def test_a_channel_that_may_only_propose_ends_without_an_error(
    mesh: MemoryMesh, spans: InMemorySpanExporter
) -> None:
    one = id_of(mesh.add("Tea is at four"))
    assert mesh.view(channel=Channel.MCP).delete(one) is not None
    assert "error.type" not in told(spans)[-1][1]


def test_nobody_listens_where_the_api_is_not_loaded_or_has_no_tracer(tmp_path) -> None:
    code = (
        "import sys\n"
        "from memory_mesh.platform import telemetry\n"
        "from memory_mesh.sync import MemoryMesh\n"
        f"mesh = MemoryMesh(db_dir={str(tmp_path)!r}, embedder='none')\n"
        "mesh.add('Tea is at four'); mesh.search('tea')\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "from opentelemetry import trace\n"
        "assert not telemetry.listening()\n"
        "mesh.add('Tea is at five')\n"
        "mesh.close()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"HOME": str(tmp_path)})


def test_a_listener_is_noticed(provider: TracerProvider) -> None:
    assert telemetry.listening()


def test_a_call_over_a_url_is_one_trace(
    tmp_path: Path, provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    with served(tmp_path, embedder="none") as service, service.mesh() as mesh:
        with provider.get_tracer("caller").start_as_current_span("turn") as turn:
            mesh.search("staging")
        (found,) = [span for span in spans.get_finished_spans() if span.name == "search_memory"]
    assert found.context is not None
    assert found.context.trace_id == turn.get_span_context().trace_id
