"""What the folder's project is called: memories of another one do not appear here."""

from collections.abc import Iterator

from memory_mesh.agents.doctor.finding import Case, Finding, ok

_HOW = {
    "set": "its name was set in git's configuration",
    "remote": "known by its remote: the same in every clone and on every machine",
    "root": "known by its first commit: the same in every clone",
    "path": "known by its path alone: a moved folder is another project",
    "folder": "its name was set for this folder",
}
_NEIGHBOUR = "known by the repository on this machine that its remote leads to"


def project(case: Case) -> Iterator[Finding]:
    """The project that hooks in this folder store for and read."""
    config = case.config
    if "project" in config.origins:
        yield ok("project", f"{config.project or 'none'}, by an option or a setting")
        return
    found = case.mesh.project_at(str(case.here))
    if found is None:
        said = f"{case.here} belongs to no project: what is stored here is for every project"
        yield ok("project", said, "to give it a name: memory-mesh project set NAME")
    else:
        fix = "to keep its name: memory-mesh project set NAME" if found.how == "path" else ""
        how = _NEIGHBOUR if found.is_named_by_a_neighbour else _HOW.get(found.how, found.how)
        yield ok("project", f"{found.name}, {how}", fix)
