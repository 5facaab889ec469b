"""What a pack without a question costs: it reads a few rows of each sort, not the namespace."""

from memory_mesh.ledgers.shared.visibility import sight
from tests.stores import grow


def test_it_prices_what_may_have_room_and_not_each_of_the_newest(mesh):
    mesh.add_many([f"note {number} on the order of {number} lamps" for number in range(250)])
    priced: list[str] = []

    def count(text: str) -> int:
        priced.append(text)
        return len(text) // 4

    pack = mesh.context(None, max_tokens=400, count_tokens=count)
    assert len(pack.items) > 10
    assert len(priced) < 80


def test_pinned_memories_are_read_by_an_index(mesh):
    ids = [receipt.id for receipt in mesh.add_many([f"note {number}" for number in range(50)])]
    mesh.pin(ids[3])
    statements: list[str] = []
    with mesh._read() as snapshot:
        grow(snapshot._db)
        snapshot._db.set_trace_callback(statements.append)
        found = snapshot.page(mesh._lens(None), 10, None, pinned=True)
        snapshot._db.set_trace_callback(None)
        plans = [
            str(row)
            for statement in statements
            if "LIMIT" in statement
            for row in snapshot._db.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    assert [memory.id for memory in found] == [ids[3]]
    assert any("version_pinned" in plan for plan in plans)
    assert not any("SCAN v" in plan and "version_pinned" not in plan for plan in plans)


def test_the_index_of_pinned_memories_is_not_used_for_all_the_others(mesh):
    mesh.add_many([f"note {number}" for number in range(50)])
    source, condition, values = sight(mesh._lens(None, filter="pinned = false"))
    with mesh._read() as snapshot:
        grow(snapshot._db)
        plan = snapshot._db.execute(
            f"EXPLAIN QUERY PLAN SELECT 1 FROM {source} WHERE v.text IN "
            f"(SELECT value FROM json_each('[1, 2]')) AND {condition}",
            values,
        ).fetchall()
    assert "version_text" in str(plan)
    assert "version_pinned" not in str(plan)
