"""The order of memories that contradict each other: the trusted first, in bounded work."""

from datetime import UTC, datetime, timedelta

from memory_mesh.model import Channel, Claim, Hit, Memory, Scope, Source, SourceKind, Status
from memory_mesh.search.ranking import newer_first

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MANY = 300
USER = Source(SourceKind.USER_EXPLICIT, Channel.LIBRARY)
PAGE = Source(SourceKind.DOCUMENT, Channel.WEB)


def claimed(number, source):
    at = NOON + timedelta(minutes=number)
    claim = Claim(subject="heron", predicate="port", value=str(number))
    return Memory(
        text=f"The port is {number}", scope=Scope(), source=source, claim=claim,
        id=f"mem_{number}", created=at, recorded_from=at,
        status=Status.ACTIVE, status_today=Status.ACTIVE,
    )  # fmt: skip


def placed(memories):
    hits = [Hit(memory, 1.0, {}) for memory in memories]
    found = newer_first.place(hits, [], {memory.id: memory for memory in memories})
    return [hit.memory for hit in found]


def test_many_rivals_are_each_compared_with_few(monkeypatch):
    compared = []
    opposed = newer_first.opposed

    def counted(*pair):
        compared.append(pair)
        return opposed(*pair)

    monkeypatch.setattr(newer_first, "opposed", counted)
    pages = [claimed(number, PAGE) for number in range(MANY)]
    words = [claimed(number, USER) for number in range(MANY, 2 * MANY)]
    found = placed([*pages, *words])
    assert len(found) == 2 * MANY
    assert len(compared) <= 2 * MANY * newer_first.RIVALS
    first = {memory.id for memory in found[: newer_first.RIVALS]}
    assert first == {memory.id for memory in words[: newer_first.RIVALS]}


def test_those_of_one_source_and_audience_keep_their_order():
    words = [claimed(number, USER) for number in range(3)]
    assert placed(words) == words
