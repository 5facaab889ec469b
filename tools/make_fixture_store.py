"""Write the fixture store of the version that runs into tests/fixtures/stores.

Run it when a migration is added or ANALYZER is raised, and commit the file it writes. It uses the
public verbs alone, each only where the version has it, so that an earlier version can be run too::

    PYTHONPATH=EARLIER/src python tools/make_fixture_store.py
    PYTHONPATH=EARLIER/src python tools/make_fixture_store.py --upon schema-3-analyzer-1

`--upon` opens a fixture of an earlier version, migrates it and adds one memory to it.
"""

import argparse
import gzip
import os
import shutil
import sys
import tempfile
from pathlib import Path

STORES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "stores"
TEXTS = (
    ("臺灣的颱風季節從七月開始", ("氣象",)),  # traditional Chinese
    ("数据库每天晚上备份一次", ("运维",)),
    ("المُدَرِّسَةُ تكتب التقارير في المكتبة", ("تعليم",)),
    ("Собаки охраняют склад по ночам", ("охрана",)),
    ("Frau Müller prüft die Rechnungen", ("Buchhaltung",)),
    ("The deploy script calls getUserName twice", ("release-notes", "scripts")),
)
UPDATED = "臺北辦公室的門禁卡每年更換"
DELETED = "Старые пароли хранились в таблице"
LATER = "The printer on the third floor is blue"
LESSON = {
    "situation": "a deploy on a Friday",
    "error_pattern": "deploy without a backup",
    "oversight": "nobody looked at the backups",
    "fix": "restored yesterday's copy",
    "preventative_rule": "Check the backup before every deploy.",
    "severity": "high",
    "applicable_scope": "deploys",
}
CLAIM = {"subject": "office", "predicate": "closes at", "value": "18:00"}
SKILL = "---\nname: 資料備份\nintent: keep a copy of all records\n---\n1. 複製\n2. Save work"


def main(arguments: list[str]) -> int:
    """Make the store in a folder of its own and pack it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--upon", metavar="NAME", help="a fixture to go on from, without its ending"
    )
    parser.add_argument("--into", type=Path, default=STORES, help="where the file goes")
    options = parser.parse_args(arguments)
    os.environ["MEMORY_MESH_EMBEDDER"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "namespaces" / "default.db"
        if options.upon:
            path.parent.mkdir()
            path.write_bytes(gzip.decompress((STORES / f"{options.upon}.db.gz").read_bytes()))
        write(Path(folder), later=bool(options.upon))
        target = options.into / f"{name(options.upon)}.db.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as store, gzip.GzipFile(target, "wb", mtime=0) as packed:
            shutil.copyfileobj(store, packed)
    print(f"wrote {target.name}, {target.stat().st_size} bytes")
    return 0


def name(upon: str | None = None) -> str:
    """What the fixture of the version that runs is called."""
    from memory_mesh.ledgers.sqlite import schema
    from memory_mesh.text.analyzer import ANALYZER

    made = f"schema-{len(list(schema._FOLDER.glob('[0-9]*.sql')))}-analyzer-{ANALYZER}"  # noqa: SLF001
    return f"{made}-upon-{upon}" if upon else made


def write(folder: Path, *, later: bool) -> None:
    """A handful of memories in several scripts, changed in every way that the version knows."""
    from memory_mesh.sync import MemoryMesh

    with MemoryMesh(db_dir=folder) as mesh:
        if later:
            mesh.add(LATER, tags=["office"])
            return
        for text, tags in TEXTS:
            mesh.add(text, tags=list(tags), metadata={"source": "fixture"})
        changed = str(mesh.add("The door cards of the office are blue", tags=["access"]).id)
        mesh.update(changed, UPDATED)
        mesh.update(changed, tags=["門禁"])
        mesh.delete(str(mesh.add(DELETED).id))
        if hasattr(mesh, "distill_lesson"):
            mesh.distill_lesson(LESSON)
        if hasattr(mesh, "ingest_skill"):
            mesh.ingest_skill(SKILL)
        if hasattr(mesh, "conflicts"):
            mesh.add("The office closes at 18:00", claim=CLAIM)
        mesh.search("office")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
