"""What every Ledger promises of memories that have triggers, as tests."""

from datetime import timedelta

from memory_mesh.model import Lens, Scope
from memory_mesh.model.trigger import Triggered
from memory_mesh.ports import Ledger
from memory_mesh.testing.clock import FrozenClock
from memory_mesh.testing.ledger_values import EmptyLedger, put

FIRST, SECOND, THIRD = "mem_1_000001", "mem_1_000002", "mem_1_000003"


class CallingContract(EmptyLedger):
    """The suite of triggers."""

    def test_memories_with_triggers_are_read_newest_first(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Those without triggers, and those the lens does not see, are left out."""
        put(ledger, FIRST, "tea is hot", triggers=("tea|kettle",), importance=0.8)
        put(ledger, SECOND, "milk is cold")
        put(ledger, THIRD, "for others", triggers=("tea",), scope=Scope(project="other"))
        put(ledger, "mem_1_000004", "cups are blue", triggers=("cup",))
        with ledger.read("default") as snapshot:
            newest, oldest = snapshot.triggered(Lens(clock.now()), 10)
            assert newest.triggers == ("cup",)
            assert (oldest.triggers, oldest.importance) == (("tea|kettle",), 0.8)
            (cut,) = snapshot.triggered(Lens(clock.now()), 1)
            assert cut == newest
            also = snapshot.triggered(Lens(clock.now()), 1, [oldest.version, newest.version])
            assert also == [newest, Triggered(oldest.version, oldest.triggers, 0.8)]
            seen = snapshot.triggered(Lens(clock.now(), across=frozenset({"project"})), 10)
            assert len(seen) == 3

    def test_the_past_has_its_own_triggers(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A read of the past sees what was recorded then."""
        then = clock.now()
        put(ledger, FIRST, "tea is hot", triggers=("tea",))
        clock.advance(timedelta(days=1))
        with ledger.read("default") as snapshot:
            lens = Lens(clock.now(), as_of=then - timedelta(days=1))
            assert snapshot.triggered(lens, 10) == []
            assert snapshot.triggered(Lens(clock.now(), as_of=clock.now()), 10)

    def test_a_description_has_everything_but_the_text(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """A stated title goes before the beginning of the text."""
        put(ledger, FIRST, "# Tea\n" + "hot " * 500, triggers=("tea",), tags=("kitchen",))
        put(ledger, SECOND, "cups", triggers=("cup",), extra={"title": "Blue cups"})
        with ledger.read("default") as snapshot:
            versions = [each.version for each in snapshot.triggered(Lens(clock.now()), 10)]
            second, first = sorted(snapshot.described(versions), key=lambda each: -each.version)
        assert (second.id, second.title) == (SECOND, "Blue cups")
        assert (first.id, first.tags, first.usefulness) == (FIRST, ("kitchen",), 1.0)
        assert first.title.startswith("# Tea\n")
        assert len(first.title) < 500
