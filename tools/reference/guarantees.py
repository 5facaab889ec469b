"""The page of guarantees: each with what was tried, in the figures of results/proof/*.json."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.faults.suites import SUITES

PROOF = Path(__file__).resolve().parent.parent.parent / "results/proof"
RESULTS = "https://github.com/memory-mesh/memory-mesh/blob/main/results/proof"
NOT_PUBLISHED = (
    "waits", "side-doors", "secrets", "leaks", "patterns", "long-texts", "fuzzing", "damage",
    "erase", "pages", "cold",
)  # fmt: skip
AT_NIGHT = frozenset(("service-fuzzing", "service-kills", "service-restarts", "service-shares"))
SAMPLED = (  # what, before a merge, at night
    ("personal data searched for in every byte of a store", "every fifth text", "every text"),
    ("hostile texts in mistyped commands", "each text, and each place", "each text in each place"),
    ("kills of an import, of a move back", "every 9th and 29th step", "every step"),
    ("kills of upkeep over PostgreSQL", "every other step", "every step"),
    ("salvage after a cut log", "every third cut of 12", "every cut"),
    ("damage to the body of an index", "each part, and each harm", "each harm to each part"),
    ("faults of a model that extracts", "60", "1,000"),
    ("costs that do not grow with a namespace", "1,000 and 4,000 memories", "2,000 and 10,000"),
    ("cost of a search beside memories of others", "1,500 and 5,000", "1,500 and 10,000"),
    ("questions to the languages, to LoCoMo", "96 and 60", "240 and 105"),
    ("both versions of Claude Code", "one of them in most tests", "both in every test"),
)
# heading: (what can be relied on, what was tried, the suites). {suite:path/to/figure} is a figure,
# {suite+suite:figure} the sum of those of several suites.
ROWS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "Nothing is lost": (
        (
            "An acknowledged write is on disk; if the process is killed, it is still there.",
            (
                "{crash-one-writer+crash-three-writers:kills} kills of one writer and of three, "
                "{crash-one-writer+crash-three-writers:acknowledged} acknowledged writes: "
                "{crash-one-writer+crash-three-writers:lost} lost"
            ),
            ("crash-one-writer", "crash-three-writers"),
        ),
        (
            "A write is complete or absent, together with its audit block.",
            (
                "a kill at each of {crash-points:points} steps of {crash-points:operations} "
                "operations and at {crash-system-calls:points} system calls: "
                "{crash-points+crash-system-calls:torn} half done"
            ),
            ("crash-points", "crash-system-calls"),
        ),
        (
            "A full or failing disk refuses a write and harms no other.",
            (
                "{disk-full:acknowledged} writes on a disk that fills up, "
                "{disk-errors:acknowledged} on one with errors: {disk-full+disk-errors:lost} lost"
            ),
            ("disk-full", "disk-errors"),
        ),
        (
            "An import of another tool's file that is killed goes on when it is run again.",
            (
                "{moving-in:entries} entries of {moving-in:users} users, killed "
                "{moving-in:kills} times: none lost, none doubled"
            ),
            ("moving-in",),
        ),
        (
            "Any number of processes share a store, and each reads what was just acknowledged.",
            (
                "{processes:processes} processes, {processes:operations} operations: "
                "{processes:lost} lost, {processes:duplicates} twice, {processes:counters "
                "wrong} counters wrong"
            ),
            ("processes", "meaning-processes"),
        ),
        (
            "A fork of a process that uses a store is safe.",
            (
                "{fork:rounds} rounds, {fork:acknowledged} writes: {fork:deadlocks} deadlocks, "
                "{fork:lost} lost"
            ),
            ("fork",),
        ),
        (
            (
                "A store in PostgreSQL loses no acknowledged write, whoever is killed: the server, "
                "its processes or those that write."
            ),
            (
                "{postgres-crash:kills} kills, {postgres-crash:acknowledged} acknowledged writes: "
                "{postgres-crash:lost} lost, {postgres-crash:forks} forks of the chain; "
                "{postgres-race:threads} threads of {postgres-race:processes} processes at once: "
                "{postgres-race:lost} lost, {postgres-race:twice} twice"
            ),
            ("postgres-crash", "postgres-race"),
        ),
        (
            "What a replica of the service acknowledged is there, once, whoever is killed.",
            (
                "{service-kills:kills} kills of two replicas and a worker under load, "
                "{service-kills:acknowledged} acknowledged writes: {service-kills:lost} lost, "
                "{service-kills:doubled} twice, {service-kills:jobs lost} jobs lost"
            ),
            ("service-kills",),
        ),
        (
            "Replicas behind a balancer are replaced under load without a failed call.",
            (
                "{service-restarts:restarts} restarts during {service-restarts:requests} calls, "
                "none of them repeated: {service-restarts:failed requests} failed"
            ),
            ("service-restarts",),
        ),
        (
            "A bulk load of one tenant leaves room for the others: at most 150 % of their median.",
            (
                "{service-shares:searches} searches beside eight bulk loaders: "
                "{service-shares:percent} % of the median of as many without them"
            ),
            ("service-shares",),
        ),
        (
            "The service answers as its description says, whatever it is sent.",
            (
                "{service-fuzzing:cases} cases of schemathesis, at least "
                "{service-fuzzing:fewest of a route} for each of {service-fuzzing:routes} routes: "
                "{service-fuzzing:undocumented answers} answers that are not described"
            ),
            ("service-fuzzing",),
        ),
        (
            (
                "A bad network between a process and PostgreSQL loses and doubles nothing, and "
                "nothing waits for ever."
            ),
            (
                "{postgres-proxy:faults} connections cut, delayed or swallowed: "
                "{postgres-proxy:lost} lost, {postgres-proxy:torn} half done, "
                "{postgres-proxy:hung} hung"
            ),
            ("postgres-proxy",),
        ),
        (
            "The index can be deleted, or its builder killed; searches stay complete.",
            (
                "{index-kills:kills} kills while it is built: {index-kills:missing} missing, "
                "{index-kills:doubled} doubled, {index-kills:ghosts} left over"
            ),
            ("index-kills", "meaning-index"),
        ),
        (
            "Agents that share a store through hooks and MCP lose nothing when the daemon dies.",
            (
                "{agents:agents} agents, {agents:operations} operations, {agents:daemons killed} "
                "daemons killed: {agents:lost} lost, {agents:duplicated} doubled"
            ),
            ("agents",),
        ),
    ),
    "What was can be read, checked and brought back": (
        (
            "A backup is one moment of each namespace, and is made while others write.",
            (
                "{backups:backups} backups beside {backups:writers} writers, "
                "{backups:acknowledged} writes: {backups:lost} lost"
            ),
            ("backups",),
        ),
        (
            "A kill during backup, restore, move or repair leaves the old or the new store, whole.",
            (
                "{keeping-kills:killed} kills: {keeping-kills:half} half, {keeping-kills:rerun "
                "failed} failed when run again"
            ),
            ("keeping-kills",),
        ),
        (
            "An archive brings back the same answers.",
            "{round-trip:queries} questions, {round-trip:hits} hits: {round-trip:unequal} unequal",
            ("round-trip",),
        ),
        (
            "`as_of` shows what was recorded at that time ([time](../time.md)).",
            (
                "{as-of:reads compared} reads of the past in {as-of:examples} random histories: "
                "{as-of:wrong} wrong"
            ),
            ("as-of",),
        ),
        (
            "Tampering is found ([audit](../time.md#audit)).",
            (
                "{audit:mutations} changes of a store, and {audit:every_edit/mutations} edits "
                "of single columns, compared with a checkpoint: {audit:undetected} not found"
            ),
            ("audit",),
        ),
        (
            "So is a change of rows by the owner of a PostgreSQL database.",
            (
                "{postgres-tamper:mutations} changes, {postgres-tamper:refused by the database} "
                "refused by the database itself: {postgres-tamper:undetected} not found outside "
                "the list of what no row vouches for: records of searches, the description of "
                "spaces, single vectors, versions of the schema"
            ),
            ("postgres-tamper",),
        ),
    ),
    "Nobody reads or changes what is not theirs": (
        (
            "Users are apart: no search, merge, conflict or link crosses from one to another.",
            (
                "{users:statements} statements of several users: {users:returned across} returned, "
                "{users:merged across} merged, {users:conflicts across} in conflict across"
            ),
            ("users", "namespaces"),
        ),
        (
            (
                "In PostgreSQL the database itself keeps namespaces apart, also from a process "
                "that sends any statement ([how](../how-to/postgresql.md))."
            ),
            (
                "{isolation:statements} hostile statements as the role of the application: "
                "{isolation:foreign rows seen} foreign rows seen, {isolation:foreign rows changed} "
                "changed"
            ),
            ("isolation",),
        ),
        (
            (
                "[The page](page.md) shows what was stored as text alone, and no reader more than "
                "their key may see or do."
            ),
            (
                "{pages:memories} hostile memories in every field of {pages:pages} pages, and "
                "{pages:readers/pages} random pages and keys, {pages:readers/refused} of them "
                "refused: none told or offered more"
            ),
            ("pages",),
        ),
        (
            "A key of the service opens what it was made for, whatever path or token is sent.",
            (
                "{service-tenants:calls} calls of {service-tenants:routes} routes by "
                "{service-tenants:roles} roles: {service-tenants:foreign rows} foreign rows seen, "
                "{service-tenants:foreign changes} changed"
            ),
            ("service-tenants",),
        ),
        (
            (
                "A reader sees what is for its project, agent and session, and nothing tells "
                "of the rest ([who sees what](../how-to/multi-user.md#who-sees-what))."
            ),
            (
                "{leaking:reads} reads by every method, {graph-leaks:calls} of the graph: "
                "{leaking+graph-leaks:leaks} leaks"
            ),
            ("leaking", "graph-leaks"),
        ),
        (
            (
                "A less trusted source never takes the place of a more trusted one "
                "([trust](../trust.md))."
            ),
            (
                "{poisoning:attacks} attacks that state a claim and "
                "{poisoning:unstated/attacks} that do not: {poisoning:superseded upward} "
                "superseded, {poisoning:raised} raised themselves"
            ),
            ("poisoning",),
        ),
        (
            "Of contradicting claims at most one is active, whoever writes at the same time.",
            (
                "{contradicting:writes} writes of several processes: {contradicting:several "
                "active} times two"
            ),
            ("contradicting",),
        ),
        (
            (
                "A pack never has more tokens than its budget, and no text in it can pose as the "
                "prompt ([context](../context.md))."
            ),
            "{packing:cases} packs, {packing:hostile texts} hostile texts",
            ("packing",),
        ),
        (
            "`explain` names what kept a memory out of an answer ([explain](../explain.md)).",
            "{explaining:cases} planted cases: {explaining:wrong gate} named wrong",
            ("explaining",),
        ),
    ),
    "Files and maintenance": (
        (
            "A mirror folder loses no edit, whoever writes at the same time; killed, it goes on.",
            (
                "{mirror:during_runs/rounds} rounds of edits during runs: "
                "{mirror:during_runs/lost_edits} lost; {mirror:killed/kills} kills: "
                "{mirror:killed/different} different"
            ),
            ("mirror", "memory-files"),
        ),
        (
            "Jobs that are killed go on where they were, and do nothing twice.",
            (
                "a kill at each of {consolidation:points} steps of consolidation: "
                "{consolidation:different} different; {retention:rounds} rounds of retention: "
                "{retention:touched} touched what they must not"
            ),
            ("consolidation", "retention", "distilling"),
        ),
        (
            (
                "Another embedding model is brought in while searches go on; killed, it goes on "
                "([how](../how-to/embedders.md#change-the-model))."
            ),
            (
                "20,000 memories on each ledger, {re-embed:kills} kills each: {re-embed:returned "
                "less} and {re-embed:postgres/returned less} searches returned less"
            ),
            ("re-embed",),
        ),
        (
            "The live page stays small and answers while memories pour in.",
            (
                "{pages:feed/arrived} memories in {pages:feed/seconds} seconds: "
                "{pages:feed/shown or counted} shown or counted, {pages:feed/lines in the page} "
                "lines kept, {pages:feed/pages answered} other pages answered beside it"
            ),
            ("pages",),
        ),
        (
            "A migration of foreign tables that is killed can be finished or undone.",
            "{migrating:killed} kills: {migrating:torn} torn, {migrating:not undone} not undone",
            ("migrating",),
        ),
    ),
}


def page() -> str:
    """Every guarantee with its figures and proof, and the suites that did not hold."""
    parts = [
        "# Guarantees, and the proof of each",
        (
            "Each line is shown by a suite of faults: real processes that are killed, disks "
            "that fill up, files that are changed. `just prove NAME` runs a suite in full and "
            "writes `results/proof/NAME.json` with its date, commit, seed and figures; this page "
            "takes its figures from there. `just test-all`, which CI runs, has two per cent of "
            "each suite and every kind of case at least once, drawn anew for every tree "
            "([what runs when](#what-runs-when)). `just prove` needs `fiu-run` and `strace`."
        ),
    ]
    for heading, rows in ROWS.items():
        head = "| what you can rely on | what was tried | proof |\n|---|---|---|\n"
        parts.append(f"## {heading}\n\n{head}" + "\n".join(_row(*row) for row in rows))
    parts.append("## Where it does not hold\n\n" + "\n".join(_limits()))
    head = "| suite | before every merge | `just prove` |\n|---|---|---|\n"
    parts.append(f"## What runs when\n\n{head}" + "\n".join(_sizes()))
    head = "| other tests | before every merge | `just night` |\n|---|---|---|\n"
    parts.append(head + "\n".join(_sampled()))
    return "\n\n".join(parts) + "\n"


def _row(promise: str, tried: str, suites: tuple[str, ...]) -> str:
    links = ", ".join(f"[{name}]({RESULTS}/{name}.json)" for name in suites)
    return f"| {promise} | {_filled(tried)} | {links} |"


def _sizes() -> Iterator[str]:
    """A line for each suite: what of it runs when."""
    for name, parts in SUITES.items():
        gate = "; ".join(_size(of, part.counts) for of, part in parts.items())
        gate = "not run" if name in AT_NIGHT else gate
        night = "; ".join(_size(of, part.wholes) for of, part in parts.items())
        yield f"| `{name}` | {gate} | {night} |"


def _size(of: str, given: Mapping[str, object]) -> str:
    """The counts among arguments in words."""
    said = [
        f"{name} {value:,}"
        for name, value in given.items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    if isinstance(share := given.get("share"), float):
        said.append("every point" if share == 1 else f"{share:.0%} of the points")
    return f"{of.replace('_', ' ')}: {', '.join(said) or 'all'}".removeprefix(": ")


def _sampled() -> Iterator[str]:
    """A line for what other tests take a share of before a merge."""
    for what, gate, night in SAMPLED:
        yield f"| {what} | {gate} | {night} |"


def _limits() -> Iterator[str]:
    for path in sorted(PROOF.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not found["held"]:
            what = "; ".join(found["failures"])
            link = f"[{path.stem}]({RESULTS}/{path.name})"
            yield f"- {link} did not hold in its last full run: {what}."
    missing = [f"`{name}`" for name in NOT_PUBLISHED if not (PROOF / f"{name}.json").exists()]
    if missing:
        yield (
            f"- Full runs of {', '.join(missing)} are not published yet; the sample in CI runs "
            f"them."
        )
    yield (
        "- The suites run on Linux. A proof is of the commit that it names; `just check` warns "
        "when the code below it has changed since."
    )
    yield (
        "- What is not promised at all is in [SECURITY.md](https://github.com/memory-mesh/"
        "memory-mesh/blob/main/SECURITY.md#what-does-not-hold): what is erased stays in copies "
        "out of reach, files are not encrypted, no rule finds every secret."
    )


def _filled(text: str) -> str:
    done, rest = "", text
    while "{" in rest:
        before, _, rest = rest.partition("{")
        name, _, rest = rest.partition("}")
        done += f"{before}{_figure(name):,}"
    return done + rest


def _figure(name: str) -> int:
    suites, _, path = name.partition(":")
    return sum(_one(suite, path) for suite in suites.split("+"))


def _one(suite: str, path: str) -> int:
    found = json.loads((PROOF / f"{suite}.json").read_text(encoding="utf-8"))["figures"]
    for part in path.split("/"):
        found = found[part]
    return int(found)
