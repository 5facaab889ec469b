"""What a call costs the processor, in a measure that neither a slow nor a busy machine changes."""

import time
from collections.abc import Callable

_TURNS = 300_000  # of the bare loop: 5 to 10 milliseconds


def effort(work: Callable[[], object]) -> float:
    """The processor time of a call, over that of a bare loop which runs before and after it.

    A pattern that grows with the square costs hundreds of times what it should, so a test asks for
    less than ten times and more of what the call costs today.
    """
    before = _bare()
    began = time.thread_time()
    work()
    spent = time.thread_time() - began
    return spent / max(before, _bare())


def _bare() -> float:
    began = time.thread_time()
    for _ in range(_TURNS):
        pass
    return time.thread_time() - began
