"""Which folder and namespace a command about whole stores means; no store is opened for it."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options
from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import Config
from memory_mesh.errors import InvalidInput
from memory_mesh.policy.users import user_namespace
from memory_mesh.sync import MemoryMesh


def folder_of(options: argparse.Namespace, instead: str) -> Path:
    """The store's folder; a store in a database is refused with what to do instead."""
    return need_folder(config_of(options), instead)


def need_folder(config: Config, instead: str) -> Path:
    """The same for settings that are there already."""
    if config.store is not None:
        raise InvalidInput(f"this is about stores in a folder, and yours is a database: {instead}")
    return config.db_dir


def config_of(options: argparse.Namespace) -> Config:
    """The settings of the store that the options name."""
    return _mesh(options).config


def shown(config: Config) -> str:
    """Where a store is: its folder, or the address of its database without a password."""
    if config.store is None:
        return str(config.db_dir)
    from memory_mesh.process import store_urls

    return store_urls.shown(config.store)


def namespace_of(options: argparse.Namespace) -> str:
    """The namespace, or that of a user."""
    return _mesh(options).config.namespace


def named_namespace(options: argparse.Namespace) -> str | None:
    """The namespace that the command line names; None if it names none."""
    if options.user is not None:
        return user_namespace(options.user)
    return namespace_of(options) if options.namespace is not None else None


def refuse_one(options: argparse.Namespace, instead: str) -> None:
    """Refuses --namespace and --user where a command takes the whole store; says what to do."""
    if options.namespace is not None or options.user is not None:
        which = "--namespace" if options.user is None else "--user"
        raise UsageError(f"this takes the whole store, and {which} names a part of it: {instead}")


def _mesh(options: argparse.Namespace) -> MemoryMesh:
    return cli_options.mesh_of(options)  # it opens nothing until it is used
