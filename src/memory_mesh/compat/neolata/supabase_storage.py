"""A storage in a Supabase project: neolata's tables, reached by its REST interface.

::

    memories, memory_archive    a row per memory; what the columns have no place for stands in
                                `provenance` under `mesh`, with the types of its links
    memory_links                a row per pair of memories
    pending_conflicts, episodes, memory_clusters

Only rows that changed are sent. Rows are written before others are removed, so that a failure in
between loses none. `docs/supabase.sql` makes the tables and the two functions of the search.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from urllib.parse import quote, urlencode

from memory_mesh.base.typed import TypeAlias
from memory_mesh.compat.neolata.storage import Data, Rows
from memory_mesh.mesh.operation import takes_options
from memory_mesh.model import ForbiddenAddress, InvalidInput, Json, NetworkError
from memory_mesh.model.ports import Embedder
from memory_mesh.models.http import address
from memory_mesh.models.http.client import Client, Limits, redacted

# Requests to Supabase's REST interface (PostgREST): tables, functions, errors without secrets.
#
# A request that is limited (429) or that meets a server in trouble is sent again a few times,
# after the time that the server asks for. All requests here can be repeated: rows are written by
# their key.


# method, address, headers, body; answers status, headers, body
Fetch: TypeAlias = Callable[
    [str, str, Mapping[str, str], bytes | None], tuple[int, Mapping[str, str], bytes]
]
Row: TypeAlias = dict[str, Json]

_ROWS = 500  # in one request
_NAMED = 100  # ids in one address
_PAGE = 1_000
_ATTEMPTS = 4
_BACKOFF, _LONGEST_WAIT = 0.25, 10.0  # seconds
_REPEATED = {408, 425, 429, 500, 502, 503, 504}
_GOOD = range(200, 300)
_SHOWN = 200  # characters of what a server says about an error


class Rest:
    """The tables and functions of one Supabase project."""

    def __init__(
        self,
        url: str,
        key: str,
        fetch: Fetch | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the address; nothing is sent yet."""
        if not key:
            raise InvalidInput("supabase_storage needs the key of the project")
        self._base, self._key = f"{url.rstrip('/')}/rest/v1", key
        self._headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        self._client = Client(
            self._base,
            headers=self._headers,
            secrets=[key],
            limits=Limits(attempts=_ATTEMPTS),
            sleep=sleep,
        )
        self._fetch, self._sleep = fetch, sleep

    def __repr__(self) -> str:
        return f"Rest({self._base!r})"

    def pages(self, table: str, wanted: str, key: Sequence[str], **tests: str) -> list[Row]:
        """All rows that meet the tests, page by page, in the order of their key."""
        found = list[Row]()
        while True:
            asked = {"select": wanted, "order": ",".join(key), "limit": str(_PAGE)}
            page = self.rows(table, **asked, offset=str(len(found)), **tests)
            found += page
            if not page:  # a server may give fewer rows than were asked for
                return found

    def rows(self, table: str, **asked: str) -> list[Row]:
        """The rows of one request."""
        return self._read(self._send("GET", f"{table}?{_query(asked)}"))

    def write(self, table: str, rows: Sequence[Row], key: Sequence[str]) -> None:
        """Insert rows, or change those that have the same key."""
        wish = {"Prefer": "resolution=merge-duplicates,return=minimal"}
        path = f"{table}?{_query({'on_conflict': ','.join(key)})}"
        for start in range(0, len(rows), _ROWS):
            self._send("POST", path, list(rows[start : start + _ROWS]), wish)

    def remove(self, table: str, column: str, values: Iterable[str], **tests: str) -> None:
        """Delete the rows whose column has one of the values."""
        for part in named(values):
            self._send("DELETE", f"{table}?{_query({column: part, **tests})}")

    def call(self, function: str, arguments: Mapping[str, Json]) -> list[Row]:
        """The rows that a function answers with."""
        return self._read(self._send("POST", f"rpc/{function}", dict(arguments)))

    def _send(
        self,
        method: str,
        path: str,
        payload: Json = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The answer; ConnectionError without a secret if there is none."""
        try:
            if self._fetch is None:
                return self._client.request(method, path, payload, headers)
            body = None if payload is None else json.dumps(payload, allow_nan=False).encode()
            return self._fetched(self._fetch, method, path, body, headers or {})
        except ForbiddenAddress:
            raise
        except NetworkError as error:
            raise ConnectionError(redacted(str(error), [self._key])) from None

    def _fetched(
        self, fetch: Fetch, method: str, path: str, body: bytes | None, more: Mapping[str, str]
    ) -> bytes:
        """The same by a function of the caller's own."""
        kind = {} if body is None else {"Content-Type": "application/json"}
        headers = {**self._headers, **kind, **more}
        for attempt in range(1, _ATTEMPTS + 1):
            status, said, answer = fetch(method, f"{self._base}/{path}", headers, body)
            if status in _GOOD:
                return answer
            wait = _wait(said, attempt)
            if status not in _REPEATED or attempt == _ATTEMPTS or wait > _LONGEST_WAIT:
                break
            self._sleep(wait)
        told = redacted(_told(answer), [self._key])[:_SHOWN]
        raise NetworkError(f"{self._base} answered {status}{told and f': {told}'}")

    def _read(self, answer: bytes) -> list[Row]:
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError):
            raise ConnectionError(
                f"{self._base} answered with something that is not JSON"
            ) from None
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise ConnectionError(f"{self._base} answered with something that is no list of rows")
        return found


def named(values: Iterable[str]) -> list[str]:
    """The test that a column is one of the values, in parts that fit into an address."""
    held = list(values)
    quoted = ['"{}"'.format(each.replace("\\", "\\\\").replace('"', '\\"')) for each in held]
    starts = range(0, len(quoted), _NAMED)
    return [f"in.({','.join(quoted[start : start + _NAMED])})" for start in starts]


def _query(asked: Mapping[str, str]) -> str:
    return urlencode(asked, quote_via=quote)


def _wait(headers: Mapping[str, str], attempt: int) -> float:
    """The seconds until the next attempt, as the server says or as we do."""
    said = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    return float(said) if said.isascii() and said.isdigit() else _BACKOFF * 2 ** (attempt - 1)


def _told(answer: bytes) -> str:
    """The message of an error, on one line."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    message = found.get("message") if isinstance(found, dict) else None
    return " ".join(message.split()) if isinstance(message, str) else ""


COLUMNS = (
    "id", "agent_id", "content", "category", "tags", "importance", "access_count", "created_at",
    "updated_at", "claim", "provenance", "confidence", "status", "quarantine", "reinforcements",
    "disputes", "superseded_by", "supersedes",
)  # fmt: skip
_BESIDE = ("event_time", "session_id", "mesh")  # of a row, and no column
_ID, _ENDS = ("id",), ("source_id", "target_id")
_BATCH = 64  # texts embedded at once


@takes_options
def supabase_storage(
    *,
    url: str,
    key: str,
    fetch: Fetch | None = None,
    embedder: Embedder | None = None,
    near_hosts: Iterable[str] = (),
) -> "SupabaseStorage":
    """A storage that keeps memories in a Supabase project.

    Options:
        url: the address of the project, such as https://PROJECT.supabase.co.
        key: a key that may read and write the tables; it appears in no error.
        fetch: a function to use instead of our own client: method, address, headers and body.
        embedder: makes the vectors that `search` compares; without one none are stored.
        near_hosts: hosts on this machine or in your network that may be reached.
    """
    if fetch is None:
        address.refuse_near(address.parse(url), near_hosts, "a storage reaches")
    return SupabaseStorage(Rest(url, key, fetch), embedder)


class SupabaseStorage:
    """Keeps memories in neolata's tables."""

    def __init__(self, rest: Rest, embedder: Embedder | None = None) -> None:
        """Take the project; nothing is sent before the first use."""
        self._rest, self._embedder = rest, embedder
        self._sent: dict[tuple[str, str], dict[str, bytes]] = {}  # digests by table and agent
        self._texts: dict[str, str] = {}  # of memories whose vectors are stored

    def agents(self) -> list[str]:
        """The agents that have memories here."""
        found, test = list[str](), "not.is.null"
        while page := self._rest.rows(
            "memories", select="agent_id", agent_id=test, order="agent_id", limit="1"
        ):
            found.append(str(page[0]["agent_id"]))
            test = f"gt.{found[-1]}"
        return found

    def load(self, agent: str) -> Data | None:
        """The memories and links of an agent."""
        oldest_first = ("created_at", "id")
        rows = self._rest.pages("memories", ",".join(COLUMNS), oldest_first, agent_id=f"eq.{agent}")
        self._sent["memories", agent] = {str(row["id"]): b"" for row in rows}
        kept = self._links_of([str(row["id"]) for row in rows])
        self._sent["memory_links", agent] = {_pair(link): b"" for link in kept}
        unpacked = [_unpacked(row) for row in rows]
        return {
            "memories": [row for row, _ in unpacked],
            "links": _typed(kept, [each for _, links in unpacked for each in links]),
        }

    def save(self, agent: str, data: Data) -> None:
        """Write what changed, then remove what is gone: first links, then memories."""
        told: dict[str, list[Mapping[str, Json]]] = {}
        for link in data["links"]:
            told.setdefault(str(link["source_id"]), []).append(link)
        packed = [_packed(row, told.get(str(row["id"]), [])) for row in data["memories"]]
        links = list(
            {
                _pair(link): {name: link.get(name) for name in (*_ENDS, "similarity", "created_at")}
                for link in data["links"]
            }.values()
        )
        self._write("memories", agent, packed, _ID)
        self._write("memory_links", agent, links, _ENDS)
        self._embed(data["memories"])
        self._remove_links(agent, {_pair(link) for link in links})
        self._remove("memories", agent, {str(row["id"]) for row in packed})

    def archive(self, agent: str, ids: Collection[str]) -> None:
        """Copy memories to the archive, then remove them; a failure leaves them in both."""
        own = f"eq.{agent}"
        for part in named(ids):
            rows = self._rest.rows("memories", select="*", id=part, agent_id=own)
            self._rest.write("memory_archive", rows, _ID)
        for end in _ENDS:
            self._rest.remove("memory_links", end, ids)
        self._rest.remove("memories", "id", ids, agent_id=own)
        gone, sent = frozenset(ids), self._sent.get(("memories", agent), {})
        self._sent["memories", agent] = {id_: sent[id_] for id_ in sent if id_ not in gone}
        pairs = self._sent.get(("memory_links", agent), {})
        self._sent["memory_links", agent] = {
            pair: pairs[pair] for pair in pairs if not gone & {*json.loads(pair)}
        }

    def search(
        self,
        agent: str | None,
        query: str | Sequence[float],
        *,
        limit: int = 10,
        min_similarity: float = 0.0,
    ) -> Rows:
        """The nearest memories of an agent, or of all, as rows with their `similarity`.

        The project compares vectors itself, so that nothing has to be loaded.

        Options:
            limit: the largest number of results.
            min_similarity: leave out memories less similar than this.
        """
        asked: dict[str, Json] = {
            "query_embedding": self._vector(query),
            "match_count": limit,
            "similarity_threshold": min_similarity,
        }
        if agent is None:
            return self._rest.call("search_memories_global", asked)
        return self._rest.call("search_memories_semantic", asked | {"agent_filter": agent})

    def load_episodes(self, agent: str) -> Rows:
        """The episodes of an agent."""
        return self._held("episodes", agent)

    def save_episodes(self, agent: str, rows: Rows) -> None:
        """Keep these episodes."""
        self._replace("episodes", agent, rows)

    def load_clusters(self, agent: str) -> Rows:
        """The labelled clusters of an agent."""
        return self._held("memory_clusters", agent)

    def save_clusters(self, agent: str, rows: Rows) -> None:
        """Keep these clusters."""
        self._replace("memory_clusters", agent, rows)

    def load_pending_conflicts(self, agent: str) -> Rows:
        """The conflicts of an agent's memories that wait for a decision."""
        return self._held("pending_conflicts", agent)

    def save_pending_conflicts(self, agent: str, rows: Rows) -> None:
        """Keep these conflicts."""
        self._replace("pending_conflicts", agent, rows)

    def _held(self, table: str, agent: str) -> list[Row]:
        rows = self._rest.pages(table, "*", ("agent_id", "id"), agent_id=f"eq.{agent}")
        self._sent[table, agent] = {str(row["id"]): b"" for row in rows}
        return rows

    def _replace(self, table: str, agent: str, rows: Rows) -> None:
        if (table, agent) not in self._sent:
            self._held(table, agent)
        owned: list[Row] = [{**row, "agent_id": agent} for row in rows]
        self._write(table, agent, owned, ("agent_id", "id"))
        self._remove(table, agent, {str(row["id"]) for row in owned})

    def _write(self, table: str, agent: str, rows: Sequence[Row], key: Sequence[str]) -> None:
        """Send the rows that differ from what was sent last."""
        sent = self._sent.setdefault((table, agent), {})
        digests = {
            _name(row): sha256(json.dumps(row, sort_keys=True).encode()).digest() for row in rows
        }
        changed = [row for row in rows if sent.get(_name(row)) != digests[_name(row)]]
        self._rest.write(table, changed, key)
        sent |= digests

    def _remove(self, table: str, agent: str, kept: Collection[str]) -> None:
        sent = self._sent[table, agent]
        self._rest.remove(table, "id", sorted(sent.keys() - kept), agent_id=f"eq.{agent}")
        self._sent[table, agent] = {id_: sent[id_] for id_ in kept}

    def _remove_links(self, agent: str, kept: Collection[str]) -> None:
        sent = self._sent["memory_links", agent]
        for pair in sorted(sent.keys() - kept):
            source, target = json.loads(pair)
            self._rest.remove("memory_links", "source_id", [source], target_id=f"eq.{target}")
        self._sent["memory_links", agent] = {pair: sent[pair] for pair in kept}

    def _links_of(self, ids: Sequence[str]) -> list[Row]:
        wanted = "source_id,target_id,similarity,created_at"
        return [
            link
            for part in named(ids)
            for link in self._rest.pages("memory_links", wanted, _ENDS, source_id=part)
        ]

    def _embed(self, rows: Rows) -> None:
        """Store the vectors of new and changed texts, where there is an embedder."""
        if self._embedder is None:
            return
        texts = {str(row["id"]): str(row["content"]) for row in rows}
        new = [id_ for id_, text in texts.items() if self._texts.get(id_) != text]
        by_id = {str(row["id"]): row for row in rows}
        for start in range(0, len(new), _BATCH):
            part = new[start : start + _BATCH]
            made = self._embedder.embed([texts[id_] for id_ in part]).vectors
            given: list[Row] = [
                {
                    **{
                        name: by_id[id_].get(name)
                        for name in ("id", "agent_id", "content", "created_at")
                    },
                    "embedding": _written(vectors[0]),
                }
                for id_, vectors in zip(part, made, strict=True)
                if vectors
            ]
            self._rest.write("memories", given, _ID)
            self._texts |= {id_: texts[id_] for id_ in part}

    def _vector(self, query: str | Sequence[float]) -> str:
        if not isinstance(query, str):
            return json.dumps([float(each) for each in query])
        if self._embedder is None:
            raise InvalidInput("a storage without an embedder searches by a vector, not by words")
        return _written(self._embedder.embed([query], query=True).vectors[0][0])


def _packed(row: Mapping[str, Json], links: Rows) -> Row:
    """A row with neolata's columns alone; the rest of it is put into its provenance."""
    beside: dict[str, Json] = {name: row.get(name) for name in _BESIDE}
    beside["links"] = [dict(link) for link in links]
    said = row.get("provenance")
    provenance = {**(said if isinstance(said, Mapping) else {}), "mesh": beside}
    return {name: row.get(name) for name in COLUMNS} | {"provenance": provenance}


def _unpacked(row: Row) -> tuple[Row, list[Row]]:
    """The row as it was, and the links that it came with."""
    said = row.get("provenance")
    beside = said.get("mesh") if isinstance(said, Mapping) else None
    if not isinstance(said, Mapping) or not isinstance(beside, Mapping):
        return row, []
    whole = row | {name: beside[name] for name in _BESIDE if beside.get(name) is not None}
    whole["provenance"] = {name: said[name] for name in said if name != "mesh"}
    links = beside.get("links")
    held = links if isinstance(links, Sequence) and not isinstance(links, str) else ()
    return whole, [dict(link) for link in held if isinstance(link, Mapping)]


def _typed(kept: Iterable[Row], told: Iterable[Row]) -> list[Row]:
    """The links that the table has, with the types that memories tell of them."""
    known: dict[str, list[Row]] = {}
    for link in told:
        known.setdefault(_pair(link), []).append(link)
    return [each for link in kept for each in known.get(_pair(link), [link])]


def _pair(link: Mapping[str, Json]) -> str:
    return json.dumps([link.get(end) for end in _ENDS])


def _name(row: Mapping[str, Json]) -> str:
    return str(row["id"]) if "id" in row else _pair(row)


def _written(vector: bytes) -> str:
    """A vector as pgvector reads it."""
    return json.dumps(memoryview(vector).cast("f").tolist())
