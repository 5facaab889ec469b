"""The command ui: the page of a store in a browser of this machine."""

import argparse
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, argument
from memory_mesh.model import Channel, MissingExtra
from memory_mesh.platform.store_urls import refuse_service
from memory_mesh.rules.arguments import shown_namespace

_HOST, _PORT = "127.0.0.1", 7439
_MOST_PORTS = 65_535


def _run(options: argparse.Namespace) -> int:
    """Serves the page to this machine until the process is asked to end."""
    if not 0 <= options.port <= _MOST_PORTS:
        raise UsageError(f"--port is a number from 0 to {_MOST_PORTS}")
    cli_options.refuse_agent("ui", "what is written on the page counts as your own word")
    if options.export is None:
        store_folder.refuse_one(options, "the page lets you choose one")
    refuse_service(store_folder.config_of(options).store)
    _, export, server = dashboard()
    if options.export is not None:
        with cli_options.mesh_of(options, meaning=True, channel=Channel.LIBRARY) as mesh:
            done = export.export(mesh, Path(options.export), shown_namespace(mesh.config.namespace))
        output.note(f"[MemoryMesh] {done.pages:,} pages, for reading alone: begin with")
        print(done.start)
        if done.left_out:
            most = f"the most is {export.MOST_PAGES:,}"
            output.note(f"[MemoryMesh] {done.left_out:,} more were left out: {most}.")
        return 0
    with (
        suppress(KeyboardInterrupt),  # the way to end it at a terminal
        cli_options.mesh_of(options, meaning=True, channel=Channel.CLI) as mesh,
        server.bound(_HOST, options.port) as listener,
    ):
        page = server.OwnPage(mesh, listener)
        where = output.named(store_folder.shown(mesh.config))
        output.note(f"[MemoryMesh] The page of {where}, for this machine alone; Ctrl-C stops it.")
        output.note("[MemoryMesh] Open this link; it signs one browser in, once:")
        print(page.link, flush=True)
        if options.open:
            webbrowser.open(page.link)
        page.serve()
    return 0


def dashboard() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The modules `app`, `export` and `server` of the page; MissingExtra where it cannot be."""
    try:
        from memory_mesh.dashboard import app, export, server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "memory_mesh":
            raise
        raise MissingExtra.of("ui", "the page") from None
    return app, export, server


UI = Command(
    "memory-mesh ui --open",
    (
        about(
            "A page in your browser: what is remembered, what entered which prompt and why, what\n"
            "waits for review. Looking counts nothing; nothing leaves this machine."
        ),
        argument(
            "--port",
            metavar="N",
            type=int,
            default=_PORT,
            help=f"default: {_PORT}; 0: any free one",
        ),
        argument(
            "--export",
            metavar="DIR",
            help="write the pages of one namespace as files instead, without what only you may see",
        ),
        argument("--open", action="store_true", help="open the link in your browser"),
    ),
    _run,
)
