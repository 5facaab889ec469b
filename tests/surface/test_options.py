"""Every option of a public method has a name in its signature and a line in its docstring."""

import inspect
import re

import pytest

import memory_mesh
from memory_mesh import InvalidInput
from memory_mesh.compat import neolata
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.mesh import conversation, mesh as sync
from tests.operations import operations

CLASSES = (
    sync.MemoryMesh,
    conversation.MemoryContextManager,
    memory_graph.MemoryGraph,
    memory_mesh.MemoryMesh,
    memory_mesh.MemoryContextManager,
    neolata.MemoryGraph,
)
METHODS = [
    (f"{owner.__module__}.{name}", method)
    for owner in CLASSES
    for name, method in (operations(owner) | {"__init__": owner.__init__}).items()
]
DETAILS = {"scope", "kind", "speaker", "valid_until", "importance", "tags", "source_kind", "claim"}
SETTINGS = {"db_dir", "namespace", "agent_id", "embedder", "llm_provider", "redact"}


def parameters(method):
    return inspect.signature(method).parameters.values()


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[name for name, _ in METHODS])
def test_every_option_is_named_typed_and_described(name, method):
    described = re.findall(r"^ {4}(\w+): \S", inspect.getdoc(method) or "", re.MULTILINE)
    kinds = {parameter.kind for parameter in parameters(method)}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    options = [each for each in parameters(method) if each.kind is each.KEYWORD_ONLY]
    assert all(option.annotation is not option.empty for option in options)
    assert described == [option.name for option in options]


@pytest.mark.parametrize("mesh", [sync.MemoryMesh, memory_mesh.MemoryMesh])
def test_the_options_of_a_memory_are_those_of_add_ingest_and_update(mesh):
    assert {each.name for each in parameters(mesh.add)} >= DETAILS | {"key", "allow_duplicate"}
    assert {each.name for each in parameters(mesh.update)} >= DETAILS
    assert mesh.ingest is mesh.add
    assert "`ingest` is an alias of `add`" in mesh.add.__doc__


@pytest.mark.parametrize("owner", CLASSES)
def test_the_settings_are_options_of_the_constructors(owner):
    assert {each.name for each in parameters(owner.__init__)} >= SETTINGS


def test_an_option_that_does_not_exist_is_named(mesh):
    with pytest.raises(TypeError, match="spaeker"):
        mesh.add("tea", spaeker="Ann")
    with pytest.raises(InvalidInput, match=r"spaeker.*speaker"):
        mesh.add_many([{"content": "tea", "spaeker": "Ann"}])
    with pytest.raises(TypeError, match="namespaec"):
        sync.MemoryMesh(namespaec="x")  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match="namespaec"):
        memory_graph.create_memory(namespaec="x")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="key"):
        mesh.update(mesh.add("tea").id, key="only a new memory has one")


def test_none_states_nothing_when_adding_and_clears_when_updating(mesh, clock):
    unsaid = dict.fromkeys(memory_mesh.write.rules.drafts.DETAILS)
    plain, stated = mesh.add("tea"), mesh.add("milk", **unsaid)
    same = [
        (one.importance, one.tags, one.kind, one.scope, one.source)
        for one in mesh.get_many([plain.id, stated.id])
    ]
    assert same[0] == same[1]
    limited = mesh.update(plain.id, valid_until=clock.now().replace(year=2030), speaker="Ann")
    assert limited.valid_until is not None
    cleared = mesh.update(plain.id, valid_until=None)
    assert (cleared.valid_until, cleared.speaker) == (None, "Ann")
