"""Objects on S3-compatible storage: the archives of namespaces that nobody uses.

The address names what belongs to all processes of a store. Who may use the storage is said by the
variables, files and roles that every client of S3 knows, and never by the address.
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.model.errors import InvalidInput, StoreError, StoreIsAway, StoreIsDamaged, shown
from memory_mesh.platform.extras import need

DAYS, KEEP_DAYS = 90, 35
MOST_BYTES = 4 << 30  # of one object: a storage takes five at once
_PART = 1 << 20  # bytes read at once
_SECONDS = {"connect_timeout": 5, "read_timeout": 20}
_GONE = {"404", "NoSuchKey"}
_FORM = (
    "must be written s3://BUCKET/PREFIX, and after `?` endpoint=URL, days=90 and keep_days=35 "
    "where they differ"
)
_AWAY = (
    "the object storage cannot be reached or refused ({}). Nothing was changed: namespaces that "
    "are in use go on, one that is cold waits there. Look at its address (memory-mesh setup-server "
    "--cold) and at the credentials of this process, then retry"
)
_MISSING = (
    "the archive of this namespace is not on the object storage any more ({}). Put it back from a "
    "copy or an earlier version of the bucket, then retry"
)


@dataclass(frozen=True, slots=True)
class StorageAddress:
    """Where archives lie, after how long a namespace goes there, how long one is kept after use."""

    bucket: str
    prefix: str
    endpoint: str | None = None
    days: int = DAYS
    keep_days: int = KEEP_DAYS

    @classmethod
    def of(cls, text: str) -> "StorageAddress":
        """The parts of an address."""
        parts = urlsplit(text)
        asked = dict(parse_qsl(parts.query))
        endpoint = asked.pop("endpoint", None)
        numbers = {name: asked.pop(name, "") for name in ("days", "keep_days")}
        given = {name: int(value) for name, value in numbers.items() if value.isdecimal()}
        wrong = asked or any(name not in given and value for name, value in numbers.items())
        if parts.scheme != "s3" or not parts.hostname or parts.username or wrong:
            raise InvalidInput(f"the object storage {shown(text)} {_FORM}")
        return cls(parts.hostname, parts.path.strip("/"), endpoint, **given)


class ObjectStorage:
    """The objects below one prefix of a bucket; safe in threads and after a fork."""

    def __init__(self, at: StorageAddress) -> None:
        self.at = at
        self._clients: dict[int, Any] = {}  # by process
        self._opening = threading.Lock()

    def name(self, *parts: str) -> str:
        """The name of an object."""
        return "/".join(filter(None, (self.at.prefix, *parts)))

    def put(self, name: str, path: Path) -> None:
        """Writes a file as an object of a name that is not there yet, and reads it back."""
        if path.stat().st_size > MOST_BYTES:
            raise StoreError(f"an archive of more than {MOST_BYTES >> 30} GB stays in the database")
        client = self._client()
        with _told(name), path.open("rb") as file:
            client.put_object(Bucket=self.at.bucket, Key=name, Body=file, IfNoneMatch="*")
        back = path.with_suffix(".back")
        with path.open("rb") as file:
            if self.get(name, back) != hashlib.file_digest(file, "sha256").hexdigest():
                raise StoreIsDamaged(f"the object storage does not return what was written: {name}")
        back.unlink()

    def get(self, name: str, to: Path) -> str:
        """Reads an object into a file; its SHA-256."""
        client, hashed = self._client(), hashlib.sha256()
        with _told(name), to.open("wb") as file:
            found = client.get_object(Bucket=self.at.bucket, Key=name)
            with closing(found["Body"]) as body:
                for part in body.iter_chunks(_PART):
                    hashed.update(part)
                    file.write(part)
        return hashed.hexdigest()

    def remove(self, name: str) -> None:
        """Deletes an object with every version of it that the bucket keeps."""
        client, at = self._client(), {"Bucket": self.at.bucket}
        with _told(name):
            client.delete_object(**at, Key=name)
            listed = client.list_object_versions(**at, Prefix=name)
            for each in (*listed.get("Versions", ()), *listed.get("DeleteMarkers", ())):
                if each["Key"] == name:
                    client.delete_object(**at, Key=name, VersionId=each["VersionId"])

    def _client(self) -> Any:  # noqa: ANN401  # botocore makes its classes when it runs
        with self._opening:
            if os.getpid() not in self._clients:
                need("botocore", extra="cold", purpose="An archive on object storage")
                import botocore.config
                import botocore.session

                config = botocore.config.Config(
                    **_SECONDS,
                    retries={"total_max_attempts": 2},
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                    s3={"addressing_style": "path"} if self.at.endpoint else None,
                )
                session = botocore.session.get_session()
                region = session.get_config_variable("region") or "us-east-1"
                self._clients[os.getpid()] = session.create_client(
                    "s3", region_name=region, endpoint_url=self.at.endpoint, config=config
                )
            return self._clients[os.getpid()]


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Raises faults of the storage in our words."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        if str(error.response.get("Error", {}).get("Code")) in _GONE:
            raise StoreIsDamaged(_MISSING.format(name)) from error
        raise StoreIsAway(_AWAY.format(error)) from error
    except BotoCoreError as error:
        raise StoreIsAway(_AWAY.format(error)) from error
