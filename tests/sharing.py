"""The order in which tests are shared out to the processes of a run.

xdist cuts the list into as many pieces as there are processes. Who is done takes the second half of
the longest piece that is left::

    as collected   agents contract faults | flow surface | … | unit unit unit
    as dealt       agents, faults … unit  | contract, flow … unit  | surface … unit

The files that take long come first and go round; what is left at the end, and is taken from each
other, takes milliseconds.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def dealt(
    items: Sequence[T],
    processes: int,
    *,
    file_of: Callable[[T], Hashable],
    is_quick: Callable[[T], bool],
) -> list[T]:
    """All items: for each process some whole files, and quick items up to its piece."""
    files = defaultdict[Hashable, list[T]](list)
    quick = deque[T]()
    for item in items:
        (quick if is_quick(item) else files[file_of(item)]).append(item)
    found = list[T]()
    for number in range(processes):
        piece = (len(items) - len(found)) // (processes - number) + len(found)
        for file in list(files.values())[number::processes]:
            found += file
        while quick and len(found) < piece:
            found.append(quick.popleft())
    return [*found, *quick]
