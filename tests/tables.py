"""LanceDB directories as the original writes them, made and read by LanceDB itself."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

DIMENSION = 384
MADE = datetime(2025, 6, 1, 8, 30, 0, 125_000)  # noqa: DTZ001  # as Arrow has it: UTC
MADE_UTC = MADE.replace(tzinfo=UTC)
VECTOR = pa.list_(pa.field("item", pa.float32()), DIMENSION)
V1 = pa.schema([
    pa.field("id", pa.utf8(), nullable=False),
    pa.field("vector", VECTOR, nullable=False),
    pa.field("content", pa.utf8(), nullable=False),
    pa.field("metadata", pa.utf8()),
    pa.field("created_at", pa.timestamp("ms"), nullable=False),
    pa.field("updated_at", pa.timestamp("ms")),
])  # fmt: skip
PROMOTED = [
    pa.field("session_id", pa.utf8()),
    pa.field("agent_id", pa.utf8()),
    pa.field("memory_type", pa.utf8()),
    pa.field("importance_score", pa.float32()),
    pa.field("access_count", pa.int32()),
    pa.field("last_accessed", pa.timestamp("ms")),
    pa.field("heritage_chain", pa.utf8()),
    pa.field("lesson_pattern_id", pa.utf8()),
    pa.field("source_skill_id", pa.utf8()),
]
V2 = pa.schema([*V1, *PROMOTED])
BLOCKS = pa.schema([
    pa.field("id", pa.utf8(), nullable=False),
    pa.field("agent_id", pa.utf8()),
    pa.field("operation_type", pa.utf8(), nullable=False),
    pa.field("yamo_text", pa.utf8(), nullable=False),
    pa.field("timestamp", pa.timestamp("ms"), nullable=False),
    pa.field("block_hash", pa.utf8()),
    pa.field("prev_hash", pa.utf8()),
    pa.field("metadata", pa.utf8()),
])  # fmt: skip
SKILLS = pa.schema([
    pa.field("id", pa.utf8(), nullable=False),
    pa.field("name", pa.utf8(), nullable=False),
    pa.field("intent", pa.utf8(), nullable=False),
    pa.field("yamo_text", pa.utf8(), nullable=False),
    pa.field("vector", VECTOR, nullable=False),
    pa.field("metadata", pa.utf8()),
    pa.field("created_at", pa.timestamp("ms"), nullable=False),
])  # fmt: skip
Rows = list[dict[str, Any]]


def connected(folder: Path) -> Any:
    """The tables in a folder; LanceDB is loaded by the tests that need it, not by all."""
    import lancedb

    return lancedb.connect(str(folder))


def memory_id(number: int) -> str:
    return f"mem_{1_700_000_000_000 + number}_{number:06x}"


def entry(
    number: int, content: str, metadata: Mapping[str, object] | None = None, **more: Any
) -> Any:
    return {
        "id": memory_id(number),
        "vector": [0.1] * DIMENSION,
        "content": content,
        "metadata": json.dumps(metadata or {}),
        "created_at": MADE + timedelta(seconds=number),
        "updated_at": None,
    } | more


def write(folder: Path, **tables: tuple[pa.Schema, Rows]) -> Path:
    db = connected(folder)
    for name, (schema, rows) in tables.items():
        table = db.create_table(name, schema=schema)
        if rows:
            table.add(pa.Table.from_pylist(rows, schema=schema))
    return folder


def read(folder: Path, name: str) -> Rows:
    rows: Rows = connected(folder).open_table(name).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def skill(number: int, name: str, text: str, metadata: Mapping[str, object]) -> dict[str, Any]:
    return {
        "id": f"skill_{1_700_000_000_000 + number}_{number:06x}",
        "name": name,
        "intent": f"to {name.lower()}",
        "yamo_text": text,
        "vector": [0.2] * DIMENSION,
        "metadata": json.dumps(metadata),
        "created_at": MADE + timedelta(seconds=number),
    }
