"""Tests are dealt to processes: the long files first and in turns, the quick ones behind them."""

import pytest

from tests.sharing import dealt

SLOW = [f"{file}{number}" for file in "ABCDE" for number in range(4)]
QUICK = [f"q{number}" for number in range(31)]


def shared(items, processes):
    return dealt(
        items, processes, file_of=lambda item: item[0], is_quick=lambda item: item in QUICK
    )


def pieces(items, processes):
    """As xdist cuts a list."""
    found, left = [], list(items)
    for number in range(processes):
        size = len(left) // (processes - number)
        found.append(left[:size])
        del left[:size]
    return found


@pytest.mark.parametrize("processes", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("items", [SLOW + QUICK, QUICK + SLOW, SLOW, QUICK, [], SLOW[:1]])
def test_every_item_is_dealt_once(items, processes):
    assert sorted(shared(items, processes)) == sorted(items)


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_each_process_begins_with_whole_long_files_and_ends_with_quick_items(processes):
    for number, piece in enumerate(pieces(shared(SLOW + QUICK, processes), processes)):
        files = "ABCDE"[number::processes]
        long = [f"{file}{each}" for file in files for each in range(4)]
        assert piece[: len(long)] == long
        assert piece[len(long) :]
        assert set(piece[len(long) :]) <= set(QUICK)


def test_one_process_keeps_the_order_but_for_the_quick_ones():
    assert shared(QUICK + SLOW, 1) == SLOW + QUICK
