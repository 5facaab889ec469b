"""`memory-mesh config`."""

import argparse
import os
from dataclasses import fields

from memory_mesh.cli import options as cli_options, output
from memory_mesh.config import Config
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.policy.privacy import masked
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process.project import identity_of
from memory_mesh.settings import VARIABLES, about

EXAMPLE = "memory-mesh config"
_FOUND_BY = {"set": "config", "remote": "remote", "root": "root commit", "path": "work tree"}
_SECRETS = {"embedder_api_key", "llm_api_key", "reranker_api_key"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: only the common options apply."""


def run(options: argparse.Namespace) -> int:
    """Prints each setting, its value, its origin and what it does; API keys are hidden."""
    config = cli_options.mesh_of(options, meaning=True).config
    settings = {
        item.name: (_shown(item.name, config), config.origins.get(item.name, "default"))
        for item in fields(Config)
        if item.name != "origins"
    }
    if "project" not in config.origins and (found := identity_of(cli_options.here())) is not None:
        settings["project"] = (found.name, f"git {_FOUND_BY[found.how]}")
    if options.user is not None:
        name = safe_text(shown_namespace(config.namespace), keep_newlines=False)
        settings["namespace"] = (name, "option --user")
    if options.json:
        plain: dict[str, Json] = {
            name: {"value": value, "origin": origin, "about": about(name)}
            for name, (value, origin) in settings.items()
        }
        output.say_json(plain | _variables())
        return 0
    lines = {
        name: f"{value}  ({origin})  {about(name)}" for name, (value, origin) in settings.items()
    }
    for name, variable in _variables().items():
        lines[name] = f"{variable['value']}  ({variable['origin']})  {variable['about']}"
    for line in output.pairs(lines):
        print(line)
    return 0


def _variables() -> dict[str, dict[str, str | None]]:
    """Each variable that is no setting of a store, with its value and what it does."""
    return {
        name: {
            "value": masked(os.environ[name]) if name in os.environ else None,
            "origin": f"environment {name}" if name in os.environ else "not set",
            "about": said,
        }
        for name, said in VARIABLES.items()
    }


def _shown(name: str, config: Config) -> Json:
    value = getattr(config, name)
    if name in _SECRETS and value is not None:
        return "***"
    if name == "store" and value is not None:
        from memory_mesh.process.store_urls import shown

        return shown(value)
    if value is None or isinstance(value, bool | int | float | str):
        return masked(value) if isinstance(value, str) else value
    if isinstance(value, tuple):
        return [masked(str(item)) for item in value]
    return masked(str(value))
