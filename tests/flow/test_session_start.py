"""What a pack without a question costs: it reads a few rows of each sort, not the namespace."""

from memory_mesh.flows.session_start import _pinned


def test_pinned_memories_are_read_by_an_index(mesh):
    ids = [receipt.id for receipt in mesh.add_many([f"note {number}" for number in range(50)])]
    mesh.pin(ids[3])
    statements: list[str] = []
    with mesh._read() as snapshot:
        snapshot._db.set_trace_callback(statements.append)
        found = snapshot.page(_pinned(mesh._lens(None)), 10, None)
        snapshot._db.set_trace_callback(None)
        plans = [
            str(row)
            for statement in statements
            if "LIMIT" in statement
            for row in snapshot._db.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    assert [memory.id for memory in found] == [ids[3]]
    assert any("version_pinned" in plan for plan in plans)
    assert not any("SCAN v" in plan for plan in plans)
