"""A fleet on paper: a seeded simulation, and what a user costs a month at three sizes.

    python -m bench.paper                  results/benchmarks/paper.json and paper.md, a picture
    python -m bench.paper --beside         the same beside what `just prove cold` showed

What an operation takes is read from the files of the other benches; nothing is measured here.
Simulated are users who come and stop coming, the hot ones among them, namespaces that go cold and
come back, servers that fail and places that move. The prediction is committed before the run that
it is compared with, and only ratios are compared: two cores of a laptop are no capacity.
"""

import argparse
import heapq
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import report
from bench.measure import rounded, say
from tests.flow.test_postgres_trips import MOST

OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
PROOF = OUT.parent / "proof" / "cold.json"
SEED, USERS, DAY = 20261120, 5_000, 86_400.0
SIZES = (10**6, 10**8, 10**10)  # memories in all
OF_A_USER = 1_000
# Stated, and not measured: how people come, and what machines cost a month.
ACTIVE, SEARCHES, ADDS, PEAK = 0.1, 20, 5, 5.0  # of all users on a day; of one; over the mean
STAYS = 0.7  # of new users who come again after the first weeks; the others never do
HOT = 1.2  # how unlike users are: sigma of the logarithm of what they do
SERVER = {"bytes": 4e12, "cores": 16.0, "money": 590.0, "fails_a_year": 0.5}
STORE = {"money_a_gigabyte": 0.023, "money_a_request": 5e-6}
FAILOVER, MOVE = 25.0, 0.044  # seconds of a lease of Patroni; the pause of a place that moves
PROCESSES, AT_ONCE = 8, 2  # that serve, and that bring namespaces back in each


@dataclass(frozen=True)
class Measured:
    """What one thing takes today."""

    bytes_warm: float
    bytes_cold: float
    add: float  # seconds of a processor, client and server, at most
    search: float
    send: float
    wake: float
    wake_over_warm: float

    @classmethod
    def read(cls, out: Path) -> "Measured":
        """From the files that `bench.postgres` and `bench.cold` wrote."""
        server, cold = (
            json.loads((out / f"{name}.json").read_text()) for name in ("postgres", "cold")
        )
        one = cold["one"]["figures"]
        return cls(
            bytes_warm=server["sizes"]["figures"]["bytes_a_memory_100000"],
            bytes_cold=one["bytes_a_memory_cold"],
            add=server["commit"]["figures"]["add_ms"] / 1000,
            search=server["sizes"]["figures"]["search_1000_ms"] / 1000,
            send=one["send_ms"] / 1000,
            wake=one["first_search_ms"] / 1000,
            wake_over_warm=one["first_search_ms"] / one["search_warm_ms"],
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, reckon, and write both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--beside", type=Path, nargs="?", const=PROOF, help="what a run showed")
    options = parser.parse_args(arguments)
    path = OUT / "paper.json"
    if options.beside:  # the prediction stays as it was committed
        known = json.loads(path.read_text()) | {"seen": json.loads(options.beside.read_text())}
    else:
        measured, code = Measured.read(OUT), report.code()
        figures = {
            "parameters": vars(measured)
            | {"trips": {name: most[1] for name, most in MOST.items()}},
            "year": (seen := year(measured, USERS)),
            "pauses": pauses(),
            "thousand": together(measured, 1_000),
            "small": small(measured),
            "bills": {str(size): bill(measured, seen, size) for size in SIZES},
        }
        known = report.stamped({}, {"users": USERS, "seed": SEED}, code) | {"figures": figures}
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    text = written(known["figures"], known.get("seen"))
    (OUT / "paper.md").write_text(text, encoding="utf-8")
    chart(OUT.parents[1] / "docs/pictures/bill.svg", known["figures"])
    say(text)
    return 0


def year(measured: Measured, users: int) -> dict[str, float]:
    """A year, day by day: who comes, each as unlike others; who is cold, and who comes back."""
    dice = random.Random(SEED)
    rates = [dice.lognormvariate(0, HOT) for _ in range(users)]
    stays = [dice.random() < STAYS for _ in range(users)]
    scale = ACTIVE * users / sum(rate for rate, stay in zip(rates, stays, strict=True) if stay)
    born = [dice.uniform(-365, 300) for _ in range(users)]
    last, cold = list(born), [False] * users
    came = back = 0
    waits, shares, busiest = list[float](), list[float](), sorted(rates, reverse=True)
    for day in range(-365, 365):
        arrivals = list[float]()
        for user in range(users):
            if born[user] > day or not (stays[user] or day < born[user] + 21):
                continue
            if dice.random() < min(1.0, rates[user] * scale):
                came += day >= 0
                if cold[user]:
                    cold[user] = False
                    busy = dice.random() < PEAK / 25  # a fifth of all in a 25th of the day
                    arrivals.append(dice.uniform(*((0.4, 0.44) if busy else (0, 1))) * DAY)
                last[user] = day
        for user in range(users):
            cold[user] = cold[user] or (born[user] <= day and day - last[user] >= 90)
        if day >= 0:
            back += len(arrivals)
            waits += queued(sorted(arrivals), measured.wake, PROCESSES * AT_ONCE)
            shares.append(sum(cold) / max(1, sum(each <= day for each in born)))
    return {
        "share_cold_at_the_end": rounded(shares[-1]),
        "visits_that_find_it_cold": rounded(back / came),
        "back_a_day_of_a_million_users": rounded(back / 365 / users * 1e6),
        "wait_p99_over_one": rounded(sorted(waits)[int(0.99 * (len(waits) - 1))] / measured.wake),
        "work_of_the_busiest_hundredth": rounded(sum(busiest[: users // 100]) / sum(rates)),
    }


def pauses(servers: int = 24, moves_a_day: int = 40) -> dict[str, float]:
    """A year of failures and moves: the share of calls that waits, and who waits longest."""
    dice, away = random.Random(SEED), [0.0] * servers
    for server in range(servers):
        for _ in range(365):
            fails = dice.random() < SERVER["fails_a_year"] / 365
            away[server] += dice.uniform(20, FAILOVER + 5) if fails else 0.0
    moved = moves_a_day * 365 * MOVE / (servers * 64)  # a move stops one of 64 places of a server
    return {
        "calls_that_wait_for_a_failover_of_a_million": rounded(
            1e6 * sum(away) / servers / 365 / DAY
        ),
        "seconds_a_year_on_the_unluckiest_server": rounded(max(away)),
        "calls_that_wait_for_a_move_of_a_million": rounded(1e6 * moved / 365 / DAY),
    }


def together(measured: Measured, count: int) -> dict[str, float]:
    """So many are asked for in the same second: the last one's wait, by processes that serve."""
    return {
        f"{processes}_processes_last_wait_over_one": rounded(
            max(queued([0.0] * count, measured.wake, processes * AT_ONCE)) / measured.wake
        )
        for processes in (1, 2, 8)
    }


def small(measured: Measured) -> dict[str, float]:
    """The world of `just prove cold`: senders send each once, writers ask at random meanwhile.

    A namespace has a few memories there: a quarter of what a thousand take, a third of a search.
    """
    dice, namespaces, writers, senders, fixed = random.Random(SEED), 1_000, 3, 2, 1 / 4
    send, wake, warm = measured.send * fixed, measured.wake * fixed, measured.search / 3
    cold, calls, found = set[int](), 0, 0
    left = [dice.sample(range(who, namespaces, senders), len(range(who, namespaces, senders)))
            for who in range(senders)]  # fmt: skip
    turns = [(dice.random(), kind, who) for kind, count in (("send", senders), ("ask", writers))
             for who in range(count)]  # fmt: skip
    heapq.heapify(turns)
    while any(left):
        now, kind, who = heapq.heappop(turns)
        if kind == "send":
            if not left[who]:
                continue
            cold.add(left[who].pop())
            heapq.heappush(turns, (now + send * dice.expovariate(1), kind, who))
            continue
        number, calls = dice.choice(range(who, namespaces, writers)), calls + 1
        took = wake if number in cold else warm
        found += number in cold
        cold.discard(number)
        heapq.heappush(turns, (now + took * dice.expovariate(1), kind, who))
    return {
        **dict.fromkeys(("lost", "doubled"), 0),
        "calls_that_find_it_cold": rounded(found / calls),
        "calls_for_each_that_was_sent": rounded(calls / namespaces),
        "cold_at_the_end": rounded(len(cold) / namespaces),
        "back_over_warm": rounded(wake / warm),
    }


def bill(measured: Measured, seen: Mapping[str, float], size: int) -> dict[str, float]:
    """Servers and money a month at so many memories: all warm, and with the cold ones away."""
    users = size / OF_A_USER
    load = users * ACTIVE * (SEARCHES * measured.search + ADDS * measured.add) / DAY * PEAK
    found: dict[str, float] = {"users": users, "cores_at_peak": rounded(load)}
    for name, cold in (("warm", 0.0), ("with_cold", seen["share_cold_at_the_end"])):
        stored = size * (1 - cold) * measured.bytes_warm
        by_bytes, by_load = stored / SERVER["bytes"], load / SERVER["cores"]
        need = max(
            by_bytes, by_load, 0.05
        )  # a smaller server costs its share, a twentieth at least
        servers = 2 * math.ceil(need)  # each has a standby
        objects = size * cold * measured.bytes_cold
        money = (servers if need > 1 else 2 * need) * SERVER["money"] + objects / 1e9 * STORE[
            "money_a_gigabyte"
        ]
        back = users * ACTIVE * 30 * seen["visits_that_find_it_cold"]
        money += back * 4 * STORE["money_a_request"] if cold else 0
        found |= {
            f"{name}_terabytes": rounded(stored / 1e12),
            f"{name}_object_terabytes": rounded(objects / 1e12),
            f"{name}_servers": servers,
            f"{name}_money": rounded(money),
            f"{name}_money_a_user": rounded(money / users),
            f"{name}_first_full": 1.0 if by_bytes > by_load else 0.0,  # else the processors
            f"{name}_days_to_back_up_at_1_gbit": rounded(stored / (servers / 2) / 125e6 / DAY),
        }
    return found


def queued(arrivals: Sequence[float], service: float, servers: int) -> list[float]:
    """How long each waits until it is served, by so many at a time."""
    free, waits = [0.0] * servers, list[float]()
    for at in arrivals:
        begun = max(at, heapq.heappop(free))
        heapq.heappush(free, begun + service)
        waits.append(begun + service - at)
    return waits


def written(figures: Mapping[str, Any], real: Mapping[str, Any] | None) -> str:
    """The tables, in Markdown."""
    lines = ["# A fleet on paper", "", (__doc__ or "").partition("\n\n")[2].strip(), ""]
    for name in ("parameters", "year", "pauses", "thousand"):
        lines += [f"## {name.capitalize()}", "", "| what | figure |", "|---|---|"]
        lines += [f"| {key.replace('_', ' ')} | {value} |" for key, value in figures[name].items()]
        lines += [""]
    bills = figures["bills"]
    lines += ["## Bills", "", f"| | {' | '.join(f'{int(size):,}' for size in bills)} |"]
    lines += ["|---" * (len(bills) + 1) + "|"]
    lines += [
        f"| {key.replace('_', ' ')} | {' | '.join(str(each[key]) for each in bills.values())} |"
        for key in next(iter(bills.values()))
    ]
    seen = {} if real is None else seen_of(real["figures"])
    many = "" if real is None else f", {real['figures']['namespaces']:,} namespaces"
    head = f"| | predicted for 1,000 | `just prove cold`{many} |"
    lines += ["", "## Predicted and seen", "", head, "|---|---|---|"]
    lines += [
        f"| {key.replace('_', ' ')} | {value} | {seen.get(key, 'not run yet')} |"
        for key, value in figures["small"].items()
    ]
    return "\n".join(lines) + "\n"


def seen_of(real: Mapping[str, Any]) -> dict[str, float]:
    """The same ratios of the real run."""
    return {
        **{name: real[name] for name in ("lost", "doubled")},
        "calls_that_find_it_cold": rounded(real["calls that found it cold"]),
        "calls_for_each_that_was_sent": rounded(real["calls"] / real["sent"]),
        "cold_at_the_end": rounded(real["cold at the end"] / real["namespaces"]),
        "back_over_warm": rounded(
            real["ms of a call that brings back"] / real["ms of a warm call"]
        ),
    }


def chart(path: Path, figures: Mapping[str, Any]) -> None:
    """What a user costs a month, by memories in all."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "paper"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.5))
    for name, said in (("warm", "all in PostgreSQL"), ("with_cold", "idle ones on object storage")):
        money = [each[f"{name}_money_a_user"] for each in figures["bills"].values()]
        axes.plot([int(size) for size in figures["bills"]], money, marker="o", label=said)
    axes.set(xscale="log", yscale="log", xlabel="memories in all", ylabel="a user, a month")
    axes.legend()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    raise SystemExit(main())
