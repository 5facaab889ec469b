"""Real output and real files fit docs/reference/schemas, and another shape does not."""

import json
import re
import tomllib
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from memory_mesh.cli.command_table import COMMANDS
from tests.surface.command import CommandLine
from tools import schemas

FILES = sorted(schemas.FOLDER.glob("*.json"))
_TOML = re.compile(r"(?ms)^```toml\n(.*?)^```")


@cache
def schema(name: str) -> Any:
    return json.loads((schemas.FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def fit(name: str, document: Any) -> None:
    Draft202012Validator(schema(name)).validate(document)


def test_every_schema_is_one_and_is_named_after_what_it_describes() -> None:
    for file in FILES:
        Draft202012Validator.check_schema(schema(file.stem))
        assert file.stem in {*COMMANDS, *schemas.FILES}


def test_what_people_do_fits(cli: CommandLine) -> None:
    home = cli.home
    first = cli.stored("Ben's office is in Oslo", "--tag", "people")
    cli.stored("Ben's office is in Bergen", "--type", "preference", "--importance", "low")
    cli.stored("deploy failed: disk full", "--source", "tool:make", "--meta", "code=3")
    (home / "notes").mkdir()
    (home / "notes/a.md").write_text("# Tea\n\nGreen tea is stored in tin boxes.\n")
    cli("ingest-dir", "notes")
    cli("delete", first)
    for line in (
        "search office of Ben --explain", "search nothing like this", "list --include deleted",
        "stats", "verify", "context office", f"history {first}", "conflicts --all", "config",
        "review", "lessons", "export --to a.mesh", "backup --to b", f"restore --id {first}",
        "upkeep", "store again: Ben's office is in Oslo", "explain --query office " + first,
    ):  # fmt: skip
        words = line.split()
        done = cli(*words, "--json")
        assert done.code == 0, (line, done.err)
        fit(words[0], json.loads(done.out))
    manifest = next((home / "b").glob("*/manifest.json"))
    fit("backup-manifest", json.loads(manifest.read_text()))


def test_the_configuration_in_the_documents_fits() -> None:
    pages = (schemas.ROOT / "docs").rglob("*.md")
    texts = [text for page in pages for text in _TOML.findall(page.read_text(encoding="utf-8"))]
    assert len(texts) > 3
    for text in texts:
        fit("config-file", tomllib.loads(text))


def test_a_configuration_with_another_key_does_not_fit() -> None:
    fit("config-file", {"namespace": "home", "privacy": {"kinds": ["birth_date"]}})
    with pytest.raises(ValidationError):
        fit("config-file", {"namespce": "home"})


def test_another_shape_is_noticed(cli: CommandLine) -> None:
    cli.stored("The user prefers dark themes")
    answer = json.loads(cli("search", "themes", "--json").out)
    fit("search", answer)
    lacking, other, more = (deepcopy(answer) for _ in range(3))
    del lacking["items"][0]["score"]
    other["items"][0]["created_at"] = 3
    more["items"][0]["rank"] = 1
    for changed in (lacking, other, more):
        with pytest.raises(ValidationError):
            fit("search", changed)
