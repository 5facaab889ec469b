"""What a Ledger promises whose vectors an index of its own may absorb, as tests."""

from memory_mesh.model import Body, Lens
from memory_mesh.ports import Ledger
from memory_mesh.testing.clock import FrozenClock
from memory_mesh.testing.ledger_values import SPACE, EmptyLedger, axis, near, put


class BodyContract(EmptyLedger):
    """The suite of a ledger beside an index; one that searches vectors itself needs none."""

    def test_the_body_answers_for_what_it_absorbed(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Below its highest number the body is asked, above it the scan is exact."""
        for number in range(4):
            put(ledger, f"mem_1_{number:06x}", f"tea {number}", vectors=(axis(number),))
        numbers = [row[0] for block in ledger.vectors("default", SPACE, 0) for row in block]
        assert len(numbers) == 4
        ledger.absorbed("default", SPACE, None, Body(7, numbers[1], 2))
        ledger.absorbed("default", SPACE, None, Body(8, numbers[3], 4))  # too late
        asked: list[tuple[Body, int]] = []

        def body(which: Body, limit: int, _: object) -> list[tuple[int, float]]:
            asked.append((which, limit))
            return [(numbers[0], 0.5)][:limit]

        found = near(ledger, axis(3), Lens(clock.now()), body=body)
        assert found == [("tea 3", 1.0), ("tea 0", 0.5), ("tea 2", 0.0)]
        assert asked[0][0] == Body(7, numbers[1], 2)
        gone = near(ledger, axis(0), Lens(clock.now()), body=lambda _body, _limit, _among: None)
        assert gone[0] == ("tea 0", 1.0)
        assert len(gone) == 4
