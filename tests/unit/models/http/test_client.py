"""The outgoing client: what it asks, what it refuses, how it fails, and what it never says."""

import json
import os
import socket
import ssl
import time
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.model.errors import ForbiddenAddress, InvalidInput, NetworkError
from memory_mesh.models.http.client import Client, Kept, Limits, redacted
from memory_mesh.platform import locks
from tests.servers import Reply, Request, listening, ranged, serve
from tests.until import until

PATIENT = Limits(connect_seconds=60, read_seconds=60, total_seconds=300)  # of a busy machine
HASTY = Limits(read_seconds=0.3, total_seconds=1)
GIVEN = Path(__file__).parent / "certificate.pem"  # self-signed, for localhost; worth nothing


class Sleeps(list[float]):
    """Waits that took no time."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client(url: str, **options: Any) -> Client:
    stated: dict[str, Any] = {"limits": PATIENT, "sleep": lambda _: None} | options
    return Client(url, **stated)


def test_json_goes_out_and_comes_back():
    with serve(lambda request: Reply(request.body)) as server:
        asked = {"text": "käse 🧀", "n": [1, 2.5, None]}
        assert client(f"{server.url}/v1/", headers={"X-A": "b"}).post_json("echo", asked) == asked
    (request,) = server.requests
    assert request.path == "/v1/echo"
    assert request.headers["Host"] == f"127.0.0.1:{server.port}"
    assert request.headers["X-A"] == "b"
    assert request.headers["User-Agent"].startswith("memory-mesh/")


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_notice_needs_no_answer(status):
    with serve(lambda _: Reply(b"thanks", status=status)) as server:
        client(server.url).notify("/hook?a=b", {"event": "store"})
        with pytest.raises(NetworkError, match="not JSON"):
            client(server.url).post_json("x", {})
    assert server.requests[0].path == "/hook?a=b"
    assert json.loads(server.requests[0].body) == {"event": "store"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again_and_logged(status, caplog):
    caplog.set_level("DEBUG", logger="memory_mesh")
    replies = iter([Reply(status=status), Reply(status=status), Reply(b"[]")])
    sleeps = Sleeps()
    with serve(lambda _: next(replies)) as server:
        assert client(server.url, sleep=sleeps).post_json("x", {}) == []
    assert sleeps == [0.25, 0.5]
    assert "http retry attempt=2 wait_seconds=0.5" in caplog.text


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_tried_again(status):
    body = json.dumps({"error": {"message": "because  of\nthat"}}).encode()
    with (
        serve(lambda _: Reply(body, status=status)) as server,
        pytest.raises(NetworkError, match=f"answered {status} .*: because of that$"),
    ):
        client(server.url).post_json("x", {})
    assert len(server.requests) == 1


def test_attempts_are_bounded():
    with serve(lambda _: Reply(status=500)) as server, pytest.raises(NetworkError, match="500"):
        client(server.url).post_json("x", {})
    assert len(server.requests) == 3


def test_the_wait_that_a_server_asks_for_is_kept():
    replies = iter([Reply(status=429, headers={"Retry-After": "7"}), Reply(b"{}")])
    sleeps = Sleeps()
    with serve(lambda _: next(replies)) as server:
        assert client(server.url, sleep=sleeps).post_json("x", {}) == {}
    assert sleeps == [7]


@pytest.mark.parametrize(
    "wait",
    ["3600", formatdate(time.time() + 3600), "99999999999999999999"],
    ids=["seconds", "date", "for ever"],  # a date in a test's name would differ in each process
)
def test_a_server_that_asks_for_an_hour_is_given_up(wait):
    sleeps = Sleeps()
    with (
        serve(lambda _: Reply(status=429, headers={"Retry-After": wait})) as server,
        pytest.raises(NetworkError, match="429"),
    ):
        client(server.url, sleep=sleeps).post_json("x", {})
    assert (sleeps, len(server.requests)) == ([], 1)


@pytest.mark.parametrize("wait", ["", "soon", "-1", "nan", "inf", "²"])
def test_a_senseless_wait_is_ignored(wait):
    replies = iter([Reply(status=503, headers={"Retry-After": wait}), Reply(b"{}")])
    sleeps = Sleeps()
    with serve(lambda _: next(replies)) as server:
        assert client(server.url, sleep=sleeps).post_json("x", {}) == {}
    assert sleeps == [0.25]


def test_a_closed_port_is_said_in_plain_words():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(NetworkError, match="refuses the connection: is the service running"):
        client(f"http://127.0.0.1:{port}").post_json("x", {})


def test_nobody_who_cannot_wait_is_kept_by_a_second_attempt():
    sleeps = Sleeps()
    with (
        serve(lambda _: Reply(status=503)) as server,
        locks.at_most(0.2),
        pytest.raises(NetworkError, match="503"),
    ):
        client(server.url, sleep=sleeps).post_json("x", {})
    assert (sleeps, len(server.requests)) == ([], 1)


@pytest.mark.parametrize("reply", [Reply(b"{}", wait=60), Reply(b"[1," * 400, drip=0.05)])
def test_the_deadline_holds_for_a_slow_server_and_a_dripping_one(reply):
    with serve(lambda _: reply) as server:
        with pytest.raises(NetworkError, match="did not answer in time"):
            client(server.url, limits=HASTY).post_json("x", {})
        assert server.answered == []  # the one minute is not over


def test_headers_that_drip_end_at_the_deadline():
    def speak(connection: socket.socket) -> None:
        for _ in range(3_000):
            connection.sendall(b"H")
            time.sleep(0.02)
        spoken.append("all")

    spoken: list[str] = []
    with listening(speak) as port:
        with pytest.raises(NetworkError, match="did not answer in time"):
            client(f"http://127.0.0.1:{port}", limits=HASTY).post_json("x", {})
        assert spoken == []  # the one minute is not over


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n[1, 2",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_no_answer(raw):
    def speak(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(raw)

    with listening(speak) as port, pytest.raises(NetworkError, match=r"broke off|reached"):
        client(f"http://127.0.0.1:{port}").post_json("x", {})


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_refused(body):
    with serve(lambda _: Reply(body)) as server, pytest.raises(NetworkError, match="not JSON"):
        client(server.url).post_json("x", {})


@pytest.mark.parametrize("headers", [{}, {"Content-Length": str(1 << 40)}])
def test_a_huge_answer_is_not_read(headers):
    small = Limits(max_bytes=1000)
    with (
        serve(lambda _: Reply(b"[" * 5000, headers=headers)) as server,
        pytest.raises(NetworkError, match="longer than the 1,000 bytes"),
    ):
        client(server.url, limits=small).post_json("x", {})


def test_an_endless_answer_without_a_length_is_not_read():
    def speak(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 200_000)

    small = Limits(max_bytes=1000)
    with listening(speak) as port, pytest.raises(NetworkError, match="longer than"):
        client(f"http://127.0.0.1:{port}", limits=small).post_json("x", {})


def test_a_compressed_answer_is_refused():
    with (
        serve(lambda _: Reply(b"x", headers={"Content-Encoding": "gzip"})) as server,
        pytest.raises(NetworkError, match="compresses"),
    ):
        client(server.url).post_json("x", {})


def test_a_redirect_is_not_followed_unless_asked():
    with (
        serve(lambda _: Reply(status=307, headers={"Location": "/there"})) as server,
        pytest.raises(NetworkError, match="redirect, which is not followed"),
    ):
        client(server.url).post_json("x", {})
    assert len(server.requests) == 1


@pytest.mark.parametrize("place", ["/there", "http://{host}/there", "//{host}/there"])
def test_a_redirect_is_followed_when_asked(tmp_path, place):
    def answer(request):
        location = place.format(host=request.headers["Host"])
        there = request.path == "/there"
        return Reply(b"file") if there else Reply(status=302, headers={"Location": location})

    with serve(answer) as server:
        client(server.url, redirects=1).download("here", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"file"


def test_redirects_in_circles_end():
    with (
        serve(lambda _: Reply(status=302, headers={"Location": "/x"})) as server,
        pytest.raises(NetworkError, match="circles"),
    ):
        client(server.url, redirects=4).post_json("x", {})
    assert len(server.requests) == 5


@pytest.mark.parametrize("place", ["http://169.254.169.254/latest/meta-data/", "there", ""])
def test_a_redirect_to_metadata_or_nowhere_is_refused(place, tmp_path):
    with (
        serve(lambda _: Reply(status=302, headers={"Location": place})) as server,
        pytest.raises(ForbiddenAddress),
    ):
        client(server.url, redirects=5).download("x", tmp_path / "file")


def test_what_is_sent_is_not_sent_on_to_another_server():
    with (
        serve(lambda _: Reply(status=307, headers={"Location": "https://x.example/"})) as server,
        pytest.raises(NetworkError, match="no text goes there"),
    ):
        client(server.url, redirects=5).post_json("x", {"text": "private"})


def test_another_server_gets_no_headers_of_ours(tmp_path):
    """Both are loopback here, which only the configured one may be: the second is refused."""
    with (
        serve(lambda _: Reply(b"file")) as second,
        serve(lambda _: Reply(status=302, headers={"Location": second.url})) as first,
    ):
        asking = client(first.url, redirects=2, headers={"Authorization": "Bearer secret"})
        with pytest.raises(ForbiddenAddress):
            asking.download("x", tmp_path / "file")
    assert not second.requests


def test_a_name_is_resolved_once_and_the_checked_address_is_used():
    """A second answer of the name server, after the check, has no effect: there is no second."""
    asked = list[str]()

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    with serve(lambda _: Reply(b"{}")) as server:
        near = client(f"http://ollama:{server.port}", resolve=resolve)
        assert near.post_json("x", {}) == {}
        assert server.requests[0].headers["Host"] == f"ollama:{server.port}"
        with pytest.raises(ForbiddenAddress):
            near.post_json("x", {})
    assert asked == ["ollama", "ollama"]


def test_every_address_is_tried():
    with serve(lambda _: Reply(b"{}")) as server:
        near = client(f"http://ollama:{server.port}", resolve=lambda *_: ["::1", "127.0.0.1"])
        assert near.post_json("x", {}) == {}


def test_tls_names_the_host_although_it_connects_to_an_address():
    greetings = list[bytes]()

    def speak(connection: socket.socket) -> None:
        greetings.append(connection.recv(65536))

    with listening(speak) as port, pytest.raises(NetworkError):
        client(
            f"https://gpu.local:{port}", resolve=lambda *_: ["127.0.0.1"], limits=Limits(attempts=1)
        ).post_json("x", {})
    assert b"gpu.local" in greetings[0]


def test_a_certificate_that_nobody_vouches_for_is_refused():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(GIVEN)
    requests = list[bytes]()

    def speak(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            requests.append(secured.recv(65536))

    with listening(speak) as port, pytest.raises(NetworkError, match="no certificate that can be"):
        client(f"https://localhost:{port}", headers={"Authorization": "k"}).post_json("x", {})
    assert not any(requests)


def test_a_file_is_fetched_with_progress(tmp_path):
    content = bytes(range(256)) * 1000
    seen = list[tuple[int, int | None]]()
    with serve(ranged({"/file": content})) as server:
        client(server.url).download(
            "file", tmp_path / "file", progress=lambda done, total: seen.append((done, total))
        )
    assert (tmp_path / "file").read_bytes() == content
    assert seen[-1] == (len(content), len(content))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_a_broken_download_goes_on_where_it_broke(tmp_path):
    content = bytes(range(256)) * 40
    with serve(ranged({"/file": content}, broken_after=3000)) as server:
        client(server.url).download("file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == content
    starts = [request.headers.get("Range") for request in server.requests]
    assert starts == [None, "bytes=3000-", "bytes=6000-", "bytes=9000-"]


def test_a_whole_file_is_not_fetched_again(tmp_path):
    (tmp_path / "file").write_bytes(b"whole")
    with serve(ranged({"/file": b"whole"})) as server:
        client(server.url).download("file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_server_without_ranges_sends_it_all_again(tmp_path):
    (tmp_path / "file").write_bytes(b"who")
    with serve(lambda _: Reply(b"whole")) as server:
        client(server.url).download("file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_download_that_gets_nowhere_ends(tmp_path):
    with serve(lambda _: Reply(missing=10)) as server, pytest.raises(NetworkError, match="broke"):
        client(server.url).download("file", tmp_path / "file")
    assert len(server.requests) == 3


class TestKeptConnections:
    """A client that is given a place to keep them opens a connection once."""

    def test_one_carries_many_requests(self):
        def answer(request: Request) -> Reply:
            return Reply(b"{}", status=404 if request.path == "/none" else 200, keep=True)

        with serve(answer) as server:
            kept = Kept()
            asking = client(server.url, kept=kept)
            for number in range(20):
                if number % 5:
                    asking.post_json("x", {"n": number})
                else:
                    with pytest.raises(NetworkError, match="404"):
                        asking.request("GET", "none")
            client(server.url).post_json("x", {})
            channel = kept._idle[0][0].sock
            assert channel.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY
            )  # else each waits 40 ms
        assert len({request.peer for request in server.requests[:20]}) == 1
        assert len({request.peer for request in server.requests}) == 2
        assert server.requests[-1].headers["Connection"] == "close"

    def test_one_that_the_server_ended_is_not_used(self):
        once = Limits(connect_seconds=60, read_seconds=60, total_seconds=300, attempts=1)
        with serve(lambda _: Reply(b"{}")) as server:  # it closes, and does not say so
            asking = client(server.url, kept=Kept(), limits=once)
            for _ in range(5):
                asking.post_json("x", {})
                until(lambda: len(server.answered) == len(server.requests))
        assert len({request.peer for request in server.requests}) == 5

    def test_one_whose_answer_was_not_read_is_closed(self):
        with serve(lambda _: Reply(b"x" * 200, keep=True)) as server:
            asking = client(server.url, kept=Kept(), limits=Limits(max_bytes=100))
            for _ in range(2):
                with pytest.raises(NetworkError, match="longer"):
                    asking.request("GET", "x")
        assert len({request.peer for request in server.requests}) == 2

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_child_process_opens_its_own(self):
        with serve(lambda _: Reply(b"{}", keep=True)) as server:
            asking = client(server.url, kept=Kept())
            asking.post_json("parent", {})
            child = os.fork()
            if child == 0:
                with suppress(BaseException):
                    asking.post_json("child", {})
                os._exit(0)
            os.waitpid(child, 0)
            asking.post_json("parent", {})
        peers = {request.path: set[int]() for request in server.requests}
        for request in server.requests:
            peers[request.path].add(request.peer)
        assert [len(peers["/parent"]), len(peers["/child"])] == [1, 1]
        assert peers["/parent"] != peers["/child"]


@pytest.mark.parametrize("value", ["a\nb", "a\r\nX: y", "schlüssel", "a\x00"])
def test_a_header_that_cannot_be_sent_is_refused_without_being_shown(value):
    with pytest.raises(InvalidInput) as caught:
        Client("https://api.example.com", headers={"Authorization": value})
    assert value not in str(caught.value)


def echoes(key: str) -> list[Reply]:
    """A key wherever a server can put it, whole and cut off."""
    return [
        Reply(json.dumps({"error": {"message": f"bad key {key}"}}).encode(), status=401),
        Reply(json.dumps({"message": f"key {key[:17]}... is bad"}).encode(), status=500),
        Reply(json.dumps({"error": "x" * 190 + key}).encode(), status=400),
        Reply(status=403, reason=f"Key {key} unknown"),
        Reply(key.encode()),
        Reply(status=302, headers={"Location": f"https://x.example/{key}"}),
        Reply(status=302, headers={"Location": f"http://{key}@x/"}),
        Reply(b"{", missing=5),
    ]


@pytest.mark.req("R-003-096")
def test_no_error_holds_a_secret():
    def resolve(host: str, _port: int) -> list[str]:
        return ["127.0.0.1" if host == "127.0.0.1" else "10.0.0.1"]

    with serve(lambda _: reply) as server:
        for number in range(50):
            key = f"{'sk-' if number % 2 else ''}Zq{number:02}x8Lw0pV7tYb3NmKc5RdHj1Gf"
            asking = client(
                server.url,
                headers={"Authorization": f"Bearer {key}"},
                secrets=[key],
                redirects=number % 3,
                resolve=resolve,
            )
            for reply in echoes(key):  # noqa: B007  # the server sends it
                with pytest.raises(NetworkError) as caught:
                    asking.post_json("x", {})
                shown = f"{caught.value} {caught.value!r} {asking!r} {caught.value.__cause__}"
                assert not any(key[at : at + 8] in shown for at in range(len(key) - 7)), shown


@pytest.mark.req("R-003-096")
@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("the key abcdefghijkl is bad", ["abcdefghijkl"], "the key *** is bad"),
        ("the key cdefghij... is bad", ["abcdefghijkl"], "the key ***... is bad"),
        ("a task-force about skills", [], "a task-force about skills"),
        ("got Bearer xyz", [], "got ***"),
        ("Incorrect API key provided: sk-ab***yz.", [], "Incorrect API key provided: ***"),
        ("pin 1234 is bad", ["1234"], "pin *** is bad"),
    ],
)
def test_secrets_are_redacted(text, secrets, shown):
    assert redacted(text, secrets) == shown
