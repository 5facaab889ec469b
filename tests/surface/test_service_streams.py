"""What the service streams: changes, progress, files; and updates of one version alone."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from memory_mesh.model import Scope, VersionConflict
from tests.surface.serving import Served, served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("streams"), embedder="none") as found:
        yield found


def opened(service: Served, path: str, data: bytes | None = None, **headers: str) -> Any:
    stated = {"Authorization": f"Bearer {service.key}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return urlopen(Request(f"{service.url}{path}", data, stated), timeout=30)


def refused(service: Served, path: str, data: bytes | None = None, **headers: str) -> int:
    with pytest.raises(HTTPError) as error:
        opened(service, path, data, **headers)
    with error.value:
        return error.value.code


def events(stream: Any) -> Iterator[tuple[str, Any, str | None]]:
    """Each event: its name, its data and its id."""
    held: dict[str, str] = {}
    for line in stream:
        name, mark, value = line.decode().rstrip("\n").partition(": ")
        if mark and name:
            held[name] = value
        elif not mark and held:
            yield held["event"], json.loads(held["data"]), held.get("id")
            held = {}


class TestChanges:
    def test_pages_of_what_was_written(self, service: Served) -> None:
        mesh = service.behind.view(namespace="pages")
        ids = [mesh.add(f"Fact number {number}").id for number in range(3)]
        seen, after = [], 0
        while True:
            path = f"/v1/changes?after={after}&limit=1"
            with opened(service, path, Memory_Mesh_Namespace="pages") as answer:
                found = json.load(answer)
            if not found["items"]:
                break
            assert found["after"] > after
            after = found["after"]
            seen += [each["entry"]["memories"] for each in found["items"]]
        assert [one for memories in seen for one in memories] == ids

    def test_each_write_comes_as_an_event_and_a_client_goes_on(self, service: Served) -> None:
        mesh = service.behind.view(namespace="live")
        first = mesh.add("Before").id
        headers: dict[str, Any] = {"Memory_Mesh_Namespace": "live", "Accept": "text/event-stream"}
        with opened(service, "/v1/changes", **headers) as stream:
            coming = events(stream)
            name, blocks, id_ = next(coming)
            assert (name, blocks[0]["entry"]["memories"]) == ("change", [first])
            second = mesh.add("While it is read").id
            name, blocks, later = next(coming)
            assert (name, blocks[0]["entry"]["memories"]) == ("change", [second])
        with opened(service, "/v1/changes", **headers, Last_Event_ID=str(id_)) as stream:
            assert next(events(stream))[2] == later

    def test_nobody_sees_more_than_a_search_would_show(self, service: Served) -> None:
        mesh = service.behind.view(namespace="lens")
        mesh.add("For p alone", scope=Scope(project="p"))
        shown = mesh.add("For all").id
        key = service.new_key("reader", {"lens": "reader"})
        headers: dict[str, Any] = {"Authorization": f"Bearer {key}", "Memory_Mesh_Project": "other"}
        with opened(service, "/v1/changes", **headers) as answer:
            found = json.load(answer)["items"]
        assert [each["entry"]["memories"] for each in found] == [[shown]]
        assert refused(service, "/v1/changes", **headers, Memory_Mesh_Namespace="live") == 403
        for wrong in ("after=x", "after=-1", f"after={'9' * 5_000}", "limit=0", "limit=1e3"):
            assert refused(service, f"/v1/changes?{wrong}", **headers) == 400, wrong
        assert refused(service, "/v1/changes", **headers, Last_Event_ID="x") == 400

    def test_a_stream_ends_with_its_key(self, service: Served) -> None:
        key = service.new_key("short", {"ended": "reader"})
        headers: dict[str, Any] = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
        with opened(service, "/v1/changes", **headers) as stream:
            service.mesh().care.access_keys.revoke(key.split("_")[1])
            name, problem, _ = next(events(stream))
            assert (name, problem["status"]) == ("problem", 401)
            assert stream.read() == b""


def test_long_work_tells_how_far_it_is(service: Served) -> None:
    headers = {"Memory_Mesh_Namespace": "work", "Accept": "text/event-stream"}
    service.behind.view(namespace="work").add("Something to keep")
    with opened(service, "/v1/care/run_jobs", b'{"dry_run": true}', **headers) as stream:
        told = list(events(stream))
    assert told[-1][0] == "result"
    assert {one["object"] for one in told[-1][1]} == {"JobReport"}
    with opened(service, "/v1/care/run_jobs", b'{"names": ["none"]}', **headers) as stream:
        ((name, problem, _),) = events(stream)
    assert (name, problem["status"]) == ("problem", 400)


def test_files_go_out_and_come_in_line_by_line(service: Served) -> None:
    many = 1_100  # two pages
    source = service.behind.view(namespace="out")
    source.add_many([f"Memory number {number}" for number in range(many)])
    with opened(service, "/v1/export", Memory_Mesh_Namespace="out") as answer:
        lines = answer.read()
    assert len(lines.splitlines()) == many
    with opened(service, "/v1/import", lines, Memory_Mesh_Namespace="in") as answer:
        assert json.load(answer)["outcomes"] == {"stored": many, "refused": 0}
    assert service.behind.view(namespace="in").get_all(limit=1)[0].source.kind == "document"
    key = service.new_key("bot", {"in": "editor"})
    assert refused(service, "/v1/import", lines, Authorization=f"Bearer {key}") == 403
    assert refused(service, "/v1/export?filter=tags%20%3D", Memory_Mesh_Namespace="out") == 400


class TestVersions:
    def test_an_update_of_a_version_that_is_gone_changes_nothing(self, service: Served) -> None:
        mesh = service.mesh().view(namespace="versions")
        id_ = mesh.add("The port is 8080").id or ""
        body = json.dumps({"memory_id": id_}).encode()
        with opened(service, "/v1/get", body, Memory_Mesh_Namespace="versions") as answer:
            version = answer.headers["etag"]
        new = json.dumps({"memory_id": id_, "content": "The port is 9090"}).encode()
        headers: dict[str, Any] = {"Memory_Mesh_Namespace": "versions", "If_Match": version}
        with opened(service, "/v1/update", new, **headers) as answer:
            assert answer.headers["etag"] != version
        assert refused(service, "/v1/update", new, **headers) == 412
        assert refused(service, "/v1/delete", body, **headers) == 403

    @pytest.mark.parametrize("where", ["folder", "url"])
    def test_the_same_in_python(self, service: Served, where: str) -> None:
        mesh = service.behind if where == "folder" else service.mesh()
        mesh = mesh.view(namespace=f"in-a-{where}")
        id_ = mesh.add("The office is in Oslo").id or ""
        old = mesh.get(id_)
        assert old is not None
        assert mesh.update(id_, "It is in Bergen", if_version=old.recorded_from).text
        with pytest.raises(VersionConflict):
            mesh.update(id_, "It is in Narvik", if_version=old.recorded_from)
        assert [one.text for one in mesh.get_many([id_])] == ["It is in Bergen"]
