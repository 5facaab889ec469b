"""A webhook as a sink: signed, told at least once and in order, given up last, and told again."""

import base64
import hashlib
import hmac
import json
import signal
import socket
import subprocess
import sys
import time
from datetime import timedelta

import psycopg
import pytest

from memory_mesh.cli.main import run
from memory_mesh.ledgers.queue import worker as queue_worker
from memory_mesh.ledgers.queue.queue import conninfo
from memory_mesh.mesh import worker
from memory_mesh.model.errors import ForbiddenAddress, InvalidInput
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.models.http.client import Limits
from memory_mesh.models.sinks import webhook
from memory_mesh.models.sinks.webhook import Webhook
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET as STORE_KEY
from tests.servers import Reply, listening, serve

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@pytest.fixture(autouse=True)
def _one_attempt(monkeypatch):
    limits = Limits(connect_seconds=60, read_seconds=60, total_seconds=300, attempts=1)
    monkeypatch.setattr(webhook, "_LIMITS", limits)


def hook(url, **more):
    return Webhook(f"{url}/hooks/1", near_hosts=["127.0.0.1"], secret=SECRET, **more)


def verified(request):
    """What a receiver knows of a message once it has checked it as the standard says."""
    got = {name.lower(): value for name, value in request.headers.items()}
    signed = f"{got['webhook-id']}.{got['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got["webhook-signature"] == f"v1,{digest}"
    data = json.loads(request.body)["data"]
    return got["webhook-id"], data["blocks"][0]["seq"]


def told(requests):
    return [verified(request)[1] for request in requests]


def opened(tmp_path, clock, *sinks):
    return MemoryMesh(db_dir=tmp_path / "store", clock=clock, sinks=sinks)


@pytest.mark.req("R-003-093")
def test_every_commit_is_posted_once_signed_and_in_order(tmp_path, clock):
    with serve(lambda _: Reply(status=204)) as server:
        with opened(tmp_path, clock, hook(server.url)) as mesh:
            first = mesh.add("tea is hot")
            mesh.add_many(["cake is sweet", "jam is red"])
            assert mesh.care.upkeep().sinks_told
        with opened(tmp_path, clock, hook(server.url)):
            pass
    assert told(server.requests) == [1, 2]
    assert verified(server.requests[0])[0].startswith("yamo_retain_")
    body = json.loads(server.requests[0].body)
    assert body["type"] == "memory.commit"
    assert body["data"]["blocks"][0]["memories"] == [first.id]
    assert "tea is hot" in body["data"]["blocks"][0]["yamo_text"]


def test_the_standards_own_example_verifies(monkeypatch):
    """The example of the Standard Webhooks libraries: one secret, id, time, body and signature."""
    monkeypatch.setattr(time, "time", lambda: 1614265330)
    with serve(lambda _: Reply()) as server:
        posted = Webhook(
            server.url,
            near_hosts=["127.0.0.1"],
            secret="MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        )
        posted.post({"test": 2432232314}, "msg_p5jXN8AQM9LWM0D4loKWxJek")
    assert server.requests[0].body == b'{"test": 2432232314}'
    assert server.requests[0].headers["webhook-signature"] == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@pytest.mark.parametrize("secret", ["", "whsec_", "a word", "whsec_c2hvcnQ=", "whsec_ß"])
def test_a_secret_that_is_none_or_short_is_refused_and_not_repeated(secret):
    with pytest.raises(InvalidInput, match="24 bytes or more in base64") as refused:
        Webhook("https://example.com", secret=secret)
    assert "c2hvcnQ" not in str(refused.value)


@pytest.mark.req("R-003-093")
def test_a_private_address_is_refused_as_a_sink_too():
    for url in ("http://10.0.0.1/x", "http://127.0.0.1/x", "http://169.254.169.254/x"):
        with pytest.raises(ForbiddenAddress):
            Webhook(url, secret=SECRET)


@pytest.mark.parametrize("status", [500, 503, 429, 400, 404, 302])
def test_what_a_receiver_refuses_is_told_again_under_the_same_id(tmp_path, clock, status):
    replies = [Reply(status=status, headers={"Location": "/"}), Reply()]
    with (
        serve(lambda _: replies.pop(0) if len(replies) > 1 else replies[0]) as server,
        opened(tmp_path, clock, hook(server.url)) as mesh,
    ):
        mesh.add("tea is hot")
        mesh.add("cake is sweet")
        assert not mesh.care.upkeep().sinks_told
        assert not mesh.care.upkeep().sinks_told  # it is not time yet
        assert told(server.requests) == [1]
        clock.advance(timedelta(seconds=1))
        assert mesh.care.upkeep().sinks_told
    assert told(server.requests) == [1, 1, 2]
    assert len({verified(request)[0] for request in server.requests}) == 2


def _silent(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.settimeout(5)
    connection.recv(1)  # until the sender leaves


def _closing(connection: socket.socket) -> None:
    connection.recv(1 << 16)


@pytest.mark.parametrize("speak", [_silent, _closing])
def test_a_receiver_that_hangs_or_hangs_up_keeps_no_writer_waiting(
    tmp_path, clock, monkeypatch, speak
):
    monkeypatch.setattr(webhook, "_LIMITS", Limits(read_seconds=0.2, attempts=1))
    with (
        listening(speak) as port,
        opened(tmp_path, clock, hook(f"http://127.0.0.1:{port}")) as mesh,
    ):
        mesh.add("tea is hot")
        assert not mesh.care.upkeep().sinks_told
        assert mesh.add("cake is sweet").outcome == "stored"
        cursor = mesh._store.opened().ledger.sink_cursors("default")["webhook"]
    assert (cursor.seq, cursor.attempts) == (0, 1)


WRITES = """
import sys
from memory_mesh.models.sinks.webhook import Webhook
from memory_mesh.sync import MemoryMesh

folder, url, secret = sys.argv[1:]
sink = Webhook(f"{url}/hooks/1", near_hosts=["127.0.0.1"], secret=secret)
with MemoryMesh(db_dir=folder, sinks=[sink], embedder="none") as mesh:
    mesh.add("tea is hot")
    mesh.add("cake is sweet")
    mesh.care.upkeep()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed so here")
def test_a_process_killed_between_sending_and_noting_it_sends_the_same_again(tmp_path, clock):
    running = list[subprocess.Popen[bytes]]()

    def kill(request):
        running[0].send_signal(signal.SIGKILL)
        running[0].wait()
        return Reply()

    with serve(kill) as server:
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", WRITES, str(tmp_path / "store"), server.url, SECRET]
            )
        )
        assert running[0].wait(60) == -signal.SIGKILL
    before = [verified(request) for request in server.requests]
    with serve(lambda _: Reply()) as server, opened(tmp_path, clock, hook(server.url)) as mesh:
        assert mesh.care.upkeep().sinks_told
    assert [seq for _, seq in before] == [1]
    assert [verified(request) for request in server.requests][:1] == before
    assert told(server.requests) == [1, 2]


def _given_up(mesh, clock, attempts=ATTEMPTS):
    """Every attempt at the next commit fails."""
    for _ in range(attempts):
        assert not mesh.care.upkeep().sinks_told
        clock.advance(timedelta(hours=1))


def test_after_the_last_attempt_a_commit_is_dead_listed_and_told_again_on_demand(
    tmp_path, clock, monkeypatch, capsys
):
    status = [500]
    with (
        serve(lambda _: Reply(b"tea?", status=status[0])) as server,
        opened(tmp_path, clock, hook(server.url)) as mesh,
    ):
        for text in ("tea is hot", "cake is sweet", "jam is red"):
            mesh.add(text)
        assert not mesh.care.upkeep().sinks_told
        (waits,) = worker.queued(mesh)
        assert (waits.number, waits.state, waits.attempts) == (1, "waits", 1)
        assert waits.not_before == clock.now() + timedelta(seconds=1)
        folder = ["--db-dir", str(tmp_path / "store")]
        assert run([*folder, "jobs", "queue"]) == 0
        said = capsys.readouterr().out
        assert "webhooks waits for a process with sinks, 1 attempt, next at 2026-" in said
        assert "webhook: the last attempt failed" in said
        clock.advance(timedelta(hours=1))
        _given_up(mesh, clock, ATTEMPTS - 1)
        _given_up(mesh, clock)
        assert told(server.requests) == [1] * ATTEMPTS + [2] * ATTEMPTS
        dead = worker.queued(mesh)
        assert [(job.number, job.job, job.state, job.attempts) for job in dead] == [
            (1, "webhooks", "dead", ATTEMPTS),
            (2, "webhooks", "dead", ATTEMPTS),
        ]
        assert str(dead[0].failure).startswith("webhook: NetworkError: ")
        assert "500" in str(dead[0].failure)
        assert "hooks" not in str(dead[0].failure)
        status[0] = 200
        assert mesh.care.upkeep().sinks_told
        assert told(server.requests)[2 * ATTEMPTS :] == [3]  # nothing waits for the dead
    assert run([*folder, "jobs", "queue"]) == 0
    said = capsys.readouterr().out
    assert "webhooks dead, number 1, 24 attempts, webhook: NetworkError" in said
    assert run([*folder, "jobs", "retry", "2"]) == 0
    assert run([*folder, "jobs", "retry", "x"]) == 2
    assert run([*folder, "jobs", "retry", "1", "99"]) == 1
    assert "nothing dead has number 99" in capsys.readouterr().err
    with (
        serve(lambda _: Reply(status=500)) as away,
        opened(tmp_path, clock, hook(away.url)) as mesh,
    ):
        assert [job.state for job in worker.queued(mesh)] == ["dead", "waits"]
        mesh.care.upkeep()
        assert told(away.requests) == [2]
        assert [job.state for job in worker.queued(mesh)] == ["dead", "dead"]
    with serve(lambda _: Reply()) as server, opened(tmp_path, clock, hook(server.url)) as mesh:
        assert worker.retry(mesh) == 2
        assert mesh.care.upkeep().sinks_told
        assert worker.queued(mesh) == []
    assert told(server.requests) == [1, 2]


def test_what_was_deleted_meanwhile_is_sent_without_a_word_of_it(tmp_path, clock):
    status = [500]
    with (
        serve(lambda _: Reply(status=status[0])) as server,
        opened(tmp_path, clock, hook(server.url)) as mesh,
    ):
        dead = mesh.add("The first password hint is xylophone")
        _given_up(mesh, clock)
        waits = mesh.add("The second password hint is zeppelin")
        kept = mesh.add("tea is hot")
        mesh.delete(dead.id)
        mesh.delete(waits.id)
        status[0] = 200
        assert worker.retry(mesh) == 1
        server.requests.clear()
        assert mesh.care.upkeep().sinks_told
    sent = b"".join(request.body for request in server.requests)
    assert (len(server.requests), told(server.requests)[0]) == (5, 1)
    assert b"xylophone" not in sent
    assert b"zeppelin" not in sent
    assert b"sha256" in sent  # of what is kept
    for stored in (dead, waits, kept):
        assert stored.id.encode() in sent
    (first,) = json.loads(server.requests[0].body)["data"]["blocks"]
    assert (first["yamo_text"], first["metadata"]) == (None, {})


def test_nothing_of_a_deleted_user_is_sent(tmp_path, clock):
    with serve(lambda _: Reply()) as server:
        with opened(tmp_path, clock) as mesh:
            mesh.for_user("lin").add("tea is hot")
            mesh.delete_user("lin")
        with opened(tmp_path, clock, hook(server.url)) as mesh:
            assert mesh.for_user("lin").care.upkeep().sinks_told
    assert server.requests == []


def test_a_worker_tries_again_and_puts_back_what_is_dead(database, monkeypatch, capsys):
    monkeypatch.setenv("MEMORY_MESH_KEY", STORE_KEY.hex())
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")
    monkeypatch.setattr(webhook, "_LIMITS", Limits(total_seconds=300, attempts=1))
    monkeypatch.setattr("memory_mesh.ledgers.shared.history.ATTEMPTS", 2)
    status = [500]
    with serve(lambda _: Reply(status=status[0])) as server:
        with MemoryMesh(database) as mesh:
            mesh.add("tea is hot")
        with MemoryMesh(database, sinks=[hook(server.url)]) as mesh:
            worker.defer(mesh, ["webhooks"])
            with monkeypatch.context() as slow:  # else a slow machine tries again in the same run
                slow.setattr(queue_worker, "wait_after", lambda _: timedelta(hours=1))
                ended = worker.run(mesh, once=True)
            assert ended.retried == 1
            (job,) = worker.queued(mesh)
            assert (job.state, job.attempts) == ("waits", 1)
            assert str(job.failure).startswith("NetworkError: ")
            with psycopg.connect(conninfo(database)) as db:
                db.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")
            while not any(job.state == "dead" for job in worker.queued(mesh)):
                worker.run(mesh, once=True)
            status[0] = 200
            assert worker.retry(mesh, [1]) == 1
            while worker.queued(mesh):
                worker.run(mesh, once=True)
    assert told(server.requests) == [1, 1, 1]
    assert len({verified(request)[0] for request in server.requests}) == 1
