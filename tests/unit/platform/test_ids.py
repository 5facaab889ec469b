import os
import re
import threading
from datetime import timedelta

import pytest

from memory_mesh.platform.ids import MonotonicIds, SystemClock
from memory_mesh.testing import FrozenClock


@pytest.mark.parametrize(
    ("prefix", "form"),
    [
        pytest.param("mem", r"mem_\d+_[0-9a-f]{6}", marks=pytest.mark.req("R-000-002")),
        pytest.param("skill", r"skill_\d+_[0-9a-f]{6}", marks=pytest.mark.req("R-000-003")),
        pytest.param("lesson", r"lesson_\d+_[0-9a-f]{6}", marks=pytest.mark.req("R-000-004")),
        ("yamo_retain", r"yamo_retain_\d+_[0-9a-f]{6}"),
    ],
)
def test_an_id_has_the_form_of_rfc_0011(prefix, form):
    assert re.fullmatch(form, MonotonicIds(SystemClock()).draw(prefix))


@pytest.mark.req("R-000-006")
def test_the_middle_part_is_unix_milliseconds():
    clock = FrozenClock()
    drawn = MonotonicIds(clock).draw("mem")
    assert int(drawn.split("_")[1]) == int(clock.now().timestamp() * 1000)


@pytest.mark.req("R-000-007")
def test_a_burst_of_100_000_has_no_duplicate_even_in_one_millisecond():
    ids = MonotonicIds(FrozenClock())
    drawn = [ids.draw("mem") for _ in range(100_000)]
    assert len(set(drawn)) == 100_000
    assert drawn == sorted(drawn)


def test_ids_go_on_upwards_when_the_clock_goes_back():
    clock = FrozenClock()
    ids = MonotonicIds(clock)
    first = ids.draw("mem")
    clock.advance(timedelta(minutes=-1))
    assert ids.draw("mem") > first


def test_ids_follow_a_clock_that_was_years_ahead():
    clock = FrozenClock()
    ids, first = MonotonicIds(clock), clock.now()
    clock.advance(timedelta(days=3650))
    ids.draw("mem")
    clock.set(first)
    assert int(ids.draw("mem").split("_")[1]) == int(first.timestamp() * 1000)


def test_the_last_number_of_a_millisecond_is_followed_by_the_next_millisecond():
    ids = MonotonicIds(FrozenClock())
    first = ids.draw("mem")
    ids._number = (1 << 24) - 1
    second = ids.draw("mem")
    assert second.endswith("_000000")
    assert int(second.split("_")[1]) == int(first.split("_")[1]) + 1


def test_eight_threads_draw_no_duplicate():
    ids = MonotonicIds(FrozenClock())
    drawn: list[str] = []
    workers = [
        threading.Thread(target=lambda: drawn.extend(ids.draw("mem") for _ in range(2_000)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(drawn)) == 16_000


def test_a_forked_child_does_not_repeat_its_parent():
    ids = MonotonicIds(FrozenClock())
    ids.draw("mem")
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, "\n".join(ids.draw("mem") for _ in range(50)).encode())
        os._exit(0)
    os.wait()
    theirs = os.read(read, 65_536).decode().split("\n")
    ours = [ids.draw("mem") for _ in range(50)]
    assert not set(theirs) & set(ours)
