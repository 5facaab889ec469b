"""A real S3-compatible server for tests, SeaweedFS, in a folder of its own."""

import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "of the tests"}
BUCKET = "archives"
_PATIENCE, _ATTEMPTS = 60.0, 4


class Storage:
    """One server on a port of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mesh-s3-"))
        (self.folder / "identities.json").write_text(_IDENTITIES, encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        for _ in range(_ATTEMPTS):  # others take ports at the same moment
            self._ports = free_ports(8)
            if self.start():
                break

    def start(self) -> bool:
        """Starts it and waits until it answers; False where it ended."""
        program = str(Path(sys.executable).with_name("weed"))
        filer, *others = self._ports[1:]
        names = ("filer.port.grpc", "master.port", "master.port.grpc", "volume.port",
                 "volume.port.grpc", "s3.port.grpc")  # fmt: skip
        more = [f"-{name}={port}" for name, port in zip(names, others, strict=True)]
        self._process = subprocess.Popen(
            [program, "-logtostderr=false", f"-logdir={self.folder}", "server",
             f"-dir={self.folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer",
             f"-s3.port={self._ports[0]}", f"-filer.port={filer}", *more,
             "-s3.config", str(self.folder / "identities.json"),
             "-s3.port.iceberg=0", "-s3.port.lance=0",  # else at the same port for all
             "-master.telemetry=false", "-volume.max=100", "-master.volumeSizeLimitMB=64"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        from botocore.exceptions import BotoCoreError, ClientError

        end = time.monotonic() + _PATIENCE
        while self._process.poll() is None:
            try:
                self.client().create_bucket(Bucket=BUCKET)
                return True
            except (BotoCoreError, ClientError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        return False

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._ports[0]}"

    def address(self, prefix: str, **more: int) -> str:
        """The address of a prefix, as `setup-server --cold` takes it."""
        said = "".join(f"&{name}={value}" for name, value in more.items())
        return f"s3://{BUCKET}/{prefix}?endpoint={self.endpoint}{said}"

    def client(self):
        """A plain client."""
        import botocore.session
        from botocore.config import Config

        session = botocore.session.Session()
        session.set_credentials(*CREDENTIALS.values())
        config = Config(
            s3={"addressing_style": "path"}, retries={"total_max_attempts": 1},
            request_checksum_calculation="when_required", connect_timeout=2, read_timeout=10,
        )  # fmt: skip
        return session.create_client(
            "s3", region_name="us-east-1", endpoint_url=self.endpoint, config=config
        )

    def objects(self, prefix: str = "") -> list[str]:
        """The names of all objects below a prefix."""
        found = self.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for each in found.get("Contents", ())]

    def kill(self) -> None:
        """Ends it at once; what it stored stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ends it, and removes its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


_IDENTITIES = """{"identities": [{"name": "tests", "credentials": [
    {"accessKey": "tests", "secretKey": "of the tests"}],
    "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, below those that the system gives to who connects."""
    found = list[int]()
    while len(found) < count:
        port = secrets.randbelow(12_000) + 20_000
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found


@pytest.fixture(scope="session")
def storage() -> Iterator[Storage]:
    """A storage for all tests of this process."""
    found = Storage()
    yield found
    found.stop()
