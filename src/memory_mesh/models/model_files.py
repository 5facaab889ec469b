"""Model folders: which are known, which are here, and how one comes to be here.

A folder under `<data folder>/models/` holds a model's files and a manifest with their checksums.
It appears whole, under its final name, or not at all. Nothing is fetched unless `pull` is called.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from memory_mesh.base.installed import install_command
from memory_mesh.base.typed import TYPE_CHECKING, Protocol, dataclass
from memory_mesh.model.errors import ModelError, NetworkError
from memory_mesh.platform import extras
from memory_mesh.platform.durable_files import sync
from memory_mesh.platform.locks import locked

if TYPE_CHECKING:
    from memory_mesh.models.http.client import Client

DEFAULT, STATIC = "all-MiniLM-L6-v2", "l2_supercat_256"
MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
STATIC_BYTES = 18_226_892  # of its two files in wordllama 0.4
HUB = "https://huggingface.co"

_NEEDED = (MODEL, TOKENIZER)
_WELCOME = (
    "config.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
)
_POOLING = "1_Pooling/config.json"
_STATIC_PACKAGE = "wordllama"
_BLOCK = 1 << 20

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, how many bytes of it are done, and of how many if that is known."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A file on a model hub, and what it must be."""

    path: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that can be pulled: where it lies and what it consists of."""

    repository: str
    revision: str
    max_tokens: int
    files: tuple[Remote, ...]

    @property
    def size(self) -> int:
        """All its bytes."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """What a model folder says of itself: its files by checksum, and how much text it reads."""

    name: str
    files: Mapping[str, str]
    max_tokens: int | None = None

    @property
    def revision(self) -> str:
        """What tells this model from another of the same name."""
        return self.files[MODEL][:12]


@dataclass(frozen=True, slots=True)
class Installed:
    """A model folder that is here."""

    name: str
    folder: Path
    size: int


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The vectors and the tokenizer of the static embedder."""

    folder: Path

    @property
    def weights(self) -> Path:
        """A vector for each token."""
        return self.folder / "weights" / f"{STATIC}.safetensors"

    @property
    def tokenizer(self) -> Path:
        """What cuts a text into tokens."""
        return self.folder / "tokenizers" / "l2_supercat_tokenizer_config.json"

    @property
    def size(self) -> int:
        """Their bytes."""
        return self.weights.stat().st_size + self.tokenizer.stat().st_size


class ModelSettings(Protocol):
    """The settings that decide which model is used."""

    @property
    def embedder(self) -> str | None:
        """The provider that was chosen."""

    @property
    def embedder_model(self) -> str | None:
        """The model that was chosen."""

    @property
    def model_dir(self) -> Path | None:
        """A model folder, stated."""

    @property
    def models_dir(self) -> Path:
        """Where models are installed."""


KNOWN: Mapping[str, ModelSource] = {
    DEFAULT: ModelSource(
        "sentence-transformers/all-MiniLM-L6-v2",
        "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        256,
        (
            Remote(
                "onnx/model.onnx",
                MODEL,
                90_405_214,
                "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
            ),
            Remote(
                TOKENIZER,
                TOKENIZER,
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            Remote(
                "config.json",
                "config.json",
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
        ),
    )
}


def find_model(settings: ModelSettings) -> Path | None:
    """The folder of the local model: the stated one, else the installed one, else none."""
    if (
        settings.model_dir is not None and settings.embedder != "fastembed"
    ):  # else it is fastembed's
        return settings.model_dir
    local = settings.embedder in {None, "local"}
    name = (settings.embedder_model if local else None) or DEFAULT
    folder = settings.models_dir / name
    return folder if (folder / MODEL).is_file() else None


def in_use(settings: ModelSettings) -> str | None:
    """The name of the model or service that answers by the settings; None for keywords only."""
    if settings.embedder not in {None, "local", "static"}:
        return None if settings.embedder == "none" else settings.embedder
    folder = None if settings.embedder == "static" else find_model(settings)
    if folder is not None and extras.is_installed("onnxruntime"):
        return folder.name
    return STATIC if find_static() is not None else None


def find_static() -> StaticFiles | None:
    """The files that the extra `local` installs, found without importing their package."""
    found = find_spec(_STATIC_PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        files = StaticFiles(Path(folder))
        if files.weights.is_file() and files.tokenizer.is_file():
            return files
    return None


def installed(models: Path) -> list[Installed]:
    """The models that are here, by name."""
    if not models.is_dir():
        return []
    return [
        Installed(folder.name, folder, sum(file.stat().st_size for file in folder.iterdir()))
        for folder in sorted(models.iterdir())
        if not folder.name.startswith(".") and (folder / MODEL).is_file()
    ]


def opened(folder: Path) -> ModelManifest:
    """The folder's manifest, its files checked against it; without one it is made on the spot."""
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise ModelError(f"the model folder {folder} lacks {' and '.join(missing)}; {_REMEDY}")
    known = _manifest(folder)
    if known is None:
        return _described(folder, folder.name)
    _check(folder, known)
    return known


def install(
    source: Path, models: Path, *, name: str | None = None, progress: Progress | None = None
) -> Path:
    """Copy a model folder in, with checksums; a model of that name is replaced when all is done."""
    name = _plain(name or source.resolve().name)
    stated = opened(source)
    _refuse_other_pooling(source)
    with _alone(models):
        partial = _fresh(models / f".{name}.copying")
        try:
            for file in stated.files:
                _copy(source / file, partial / file, progress or _silent)
            copied = ModelManifest(name, stated.files, stated.max_tokens)
            _check(partial, copied)
            return _finish(partial, models / name, copied)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def pull(
    name: str,
    models: Path,
    *,
    base_url: str = HUB,
    known: Mapping[str, ModelSource] = KNOWN,
    progress: Progress | None = None,
) -> Path:
    """Fetch a known model; what an interrupted pull left is not fetched again."""
    from memory_mesh.models.http.client import Client, Limits

    if name not in known:
        raise ModelError(
            f"there is no known model {name!r}; there is: {', '.join(known)}. Any other comes from "
            "a folder: memory-mesh models install FOLDER"
        )
    source, show = known[name], progress or _silent
    manifest = ModelManifest(
        name, {file.name: file.sha256 for file in source.files}, source.max_tokens
    )
    with _alone(models):
        partial = models / f".{name}.pulling"
        partial.mkdir(exist_ok=True)
        for file in source.files:
            client = Client(base_url, redirects=5, limits=Limits(max_bytes=file.size))
            try:
                _fetch(client, source, file, partial / file.name, show)
            except NetworkError as error:
                raise type(error)(
                    f"{error}. Without a network: memory-mesh models install FOLDER"
                ) from error
        return _finish(partial, models / name, manifest)


def digest(file: Path) -> str:
    """The file's SHA-256."""
    import hashlib  # it loads OpenSSL, and a search has no use for it

    try:
        with file.open("rb") as opened_file:
            return hashlib.file_digest(opened_file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}; {_REMEDY}") from None


def _check(folder: Path, manifest: ModelManifest) -> None:
    for name, wanted in manifest.files.items():
        if digest(folder / name) != wanted:
            raise ModelError(f"the file {folder / name} is damaged; {_REMEDY}")


def _fetch(
    client: "Client", source: ModelSource, remote: Remote, file: Path, show: Progress
) -> None:
    if file.is_file() and file.stat().st_size == remote.size and digest(file) == remote.sha256:
        return
    if file.is_file() and file.stat().st_size >= remote.size:
        file.unlink()

    def progress(done: int, _: int | None) -> None:
        show(remote.name, done, remote.size)

    path = f"{source.repository}/resolve/{source.revision}/{remote.path}"
    client.download(path, file, progress=progress)
    if digest(file) != remote.sha256:
        file.unlink()
        raise ModelError(
            f"what was fetched as {remote.name} has another checksum than it must have; nothing "
            "was installed. Try again, or install from a folder that you trust"
        )


def _described(folder: Path, name: str) -> ModelManifest:
    """A manifest made from what lies in the folder."""
    files = [*_NEEDED, *(file for file in _WELCOME if (folder / file).is_file())]
    stated = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    most = stated if isinstance(stated, int) else None
    return ModelManifest(name, {file: digest(folder / file) for file in files}, most)


def _manifest(folder: Path) -> ModelManifest | None:
    if not (folder / MANIFEST).is_file():
        return None
    stored = _json(folder / MANIFEST)
    match stored:
        case {"name": str(name), "files": dict(files)} if set(_NEEDED) <= files.keys():
            most = stored.get("max_tokens")
            files = {str(file): str(sha256) for file, sha256 in files.items()}
            return ModelManifest(name, files, most if isinstance(most, int) else None)
    raise ModelError(f"{folder / MANIFEST} is no manifest of a model; {_REMEDY}")


def _json(file: Path) -> dict[str, object]:
    """The object in a JSON file; an empty one when there is none."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refuse_other_pooling(folder: Path) -> None:
    stated = _json(folder / _POOLING)
    if stated and not stated.get("pooling_mode_mean_tokens"):
        raise ModelError(
            f"the model in {folder} does not take the mean of its token vectors, and would give "
            f"wrong ones here. Use it through fastembed: {install_command('fastembed')}"
        )


@contextmanager
def _alone(models: Path) -> Iterator[None]:
    """Keep a second pull or install out while this one runs."""
    models.mkdir(parents=True, exist_ok=True)
    with locked(models / ".lock", wait=False) as mine:
        if not mine:
            raise ModelError(
                f"another process is putting a model into {models}; wait until it is done"
            )
        yield


def _fresh(folder: Path) -> Path:
    """The folder, empty: what an interrupted copy left is dropped."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _copy(source: Path, target: Path, show: Progress) -> None:
    total, done = source.stat().st_size, 0
    with source.open("rb") as read, target.open("wb") as written:
        while block := read.read(_BLOCK):
            done += written.write(block)
            show(source.name, done, total)


def _finish(partial: Path, folder: Path, manifest: ModelManifest) -> Path:
    """Seal the folder with its manifest and put it in place."""
    stated = {"name": manifest.name, "max_tokens": manifest.max_tokens, "files": manifest.files}
    (partial / MANIFEST).write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
    for file in partial.iterdir():
        sync(file)
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return folder


def _plain(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name):
        raise ModelError(f"a model's name has letters, digits, dots and dashes, unlike {name!r}")
    return name


def _silent(_name: str, _done: int, _total: int | None) -> None:
    """Show no progress."""


_REMEDY = "fetch it anew: memory-mesh models pull, or memory-mesh models install FOLDER"
