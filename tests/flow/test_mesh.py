"""The faces: settings, lifecycle, the async twin, threads."""

import asyncio
import inspect
import os
import re
import sqlite3
import threading

import pytest

import memory_mesh
from memory_mesh import MemoryMesh as AsyncMesh, config
from memory_mesh.mesh import mesh as sync
from memory_mesh.model import errors
from memory_mesh.model.errors import InvalidInput, StoreIsNewer


@pytest.mark.req(
    "R-000-104", "R-000-131", "R-000-136", "R-000-137", "R-000-138", "R-000-139", "R-000-140"
)
def test_all_options_are_optional_and_have_the_rfc_defaults():
    settings = sync.MemoryMesh().config
    assert settings.agent_id == "YAMO_AGENT"
    assert (settings.enable_yamo, settings.enable_llm, settings.enable_memory) == (True, True, True)
    assert settings.enable_wisdom_distillation is False
    assert settings.lesson_min_confidence == 0.7
    assert settings.lesson_retention_days == 365
    assert settings.enable_heritage_tracking is False
    assert settings.max_heritage_depth == 5
    assert settings.namespace == "default"


@pytest.mark.req("R-000-135", "R-000-105", "R-000-106", "R-000-248")
def test_db_dir_says_where_init_opens_and_close_releases(tmp_path):
    mesh = sync.MemoryMesh(db_dir=tmp_path / "here")
    mesh.init()
    mesh.add("tea is hot")
    mesh.close()
    assert (tmp_path / "here" / "namespaces" / "default.db").exists()


def test_files_are_their_owners_alone(tmp_path):
    with sync.MemoryMesh(db_dir=tmp_path / "here") as mesh:
        mesh.add("tea is hot")
        folder = tmp_path / "here" / "namespaces"
        assert {path.stat().st_mode & 0o077 for path in [folder, *folder.iterdir()]} == {0}


@pytest.mark.req("R-000-130")
def test_without_persistence_nothing_is_left(tmp_path):
    with sync.MemoryMesh(db_dir=tmp_path / "here", enable_memory=False) as mesh:
        mesh.add("tea is hot")
        assert mesh.search("tea")
        folder = mesh.folder
        assert folder != tmp_path / "here"
    assert not folder.exists()
    assert not (tmp_path / "here").exists()


@pytest.mark.req("R-000-124")
def test_stats_count(mesh):
    mesh.add_many(["tea", "cake"])
    stats = mesh.stats()
    assert (stats.memories, stats.skills, stats.blocks, stats.seq) == (2, 0, 2, 1)
    assert stats.bytes > 0


def test_the_environment_names_the_folder_and_an_option_beats_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_MESH_DIR", str(tmp_path / "env"))
    assert sync.MemoryMesh().config.db_dir == tmp_path / "env"
    assert sync.MemoryMesh(db_dir=tmp_path / "opt").config.db_dir == tmp_path / "opt"


def test_a_file_is_read_and_each_value_says_where_it_came_from(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('namespace = "work"\nlesson_min_confidence = 1\nagent_id = "file"\n')
    environment = {"MEMORY_MESH_CONFIG": str(path), "MEMORY_MESH_AGENT": "env", "HOME": "/home/me"}
    loaded = config.load({"project": "p", "session": None}, environment)
    assert (loaded.namespace, loaded.lesson_min_confidence, loaded.agent_id) == ("work", 1.0, "env")
    assert loaded.origins["namespace"] == f"file {path}"
    assert loaded.origins["agent_id"] == "environment MEMORY_MESH_AGENT"
    assert loaded.origins["project"] == "option"
    assert loaded.origins["db_dir"] == "default"
    assert "session" not in loaded.origins


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense = 1", ": unknown setting 'nonsense'; memory-mesh config lists all of them"),
        ("namespace = 3", ", namespace: must be a text, not 3"),
        ("enable_yamo = 'maybe'", ", enable_yamo: must be true or false, not 'maybe'"),
        ("lesson_min_confidence = 'a'", ", lesson_min_confidence: must be a number, not 'a'"),
        ("max_heritage_depth = -1", ", max_heritage_depth: must be a whole number, 0 or more"),
        ("skill_directories = 5", ", skill_directories: must be a path or a list of paths, not 5"),
        ("predicates = 5", ", [predicates.NAME]: must be one table per predicate, not 5"),
        ("= broken", " is not valid TOML: "),
        ("privacy = 3", ", privacy: must be a table: kinds, and rules under [[privacy.rules]]"),
        ("[[privacy.rule]]", ", privacy: unknown key 'rule'; the keys are kinds and rules"),
        ("[privacy.rules]", ", [[privacy.rules]]: must be a list of tables, one per rule"),
        (
            "[[privacy.rules]]",
            ", [[privacy.rules]]: privacy rule 1 needs a name of lower-case letters",
        ),
        (
            "privacy_rules = []\n[[privacy.rules]]",
            ": set either [[privacy.rules]] or privacy_rules, not both",
        ),
        (
            "[[privacy.rules]]\nname = 'a'\ncolor = 'red'",
            ", [[privacy.rules]]: the privacy rule 'a' has an unknown key 'color'; the keys",
        ),
        (
            "[[privacy.rules]]\nname = 'a'\npattern = '('",
            ", [[privacy.rules]]: the pattern of the privacy rule 'a' is not valid RE2: missing )",
        ),
    ],
)
def test_a_bad_configuration_file_is_explained(tmp_path, text, said):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(f"file {path}{said}")):
        config.load({}, {"MEMORY_MESH_CONFIG": str(path), "HOME": str(tmp_path)})


def test_a_bad_option_or_variable_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="environment MEMORY_MESH_REDACT, redact: must be true"):
        config.load({}, {"MEMORY_MESH_REDACT": "maybe", "HOME": str(tmp_path)})
    with pytest.raises(InvalidInput, match="option, privacy_rules: privacy rule 2 needs a name"):
        sync.MemoryMesh(
            settings={"privacy_rules": [{"name": "a", "pattern": "b"}, {"pattern": "c"}]}
        )


def test_a_secret_is_not_shown():
    assert "s3cret" not in repr(sync.MemoryMesh(llm_api_key="s3cret").config)


def test_the_async_face_does_what_the_blocking_one_does(tmp_path):
    async def story():
        async with AsyncMesh(db_dir=tmp_path) as mesh:
            stored = await mesh.add("tea is hot", {"source": "me"})
            await asyncio.gather(*(mesh.add(f"cake {n}") for n in range(20)))
            found = await mesh.search("tea")
            assert mesh.get_cache_stats().size == 1
            mesh.clear_cache()
            return stored, found, await mesh.stats(), mesh.format_results(found)

    stored, found, stats, text = asyncio.run(story())
    assert found[0].id == stored.id
    assert stats.memories == 21
    assert stored.id in text


def test_the_async_face_has_every_public_verb_of_the_blocking_one():
    public = lambda kind: {name for name in dir(kind) if not name.startswith("_")}  # noqa: E731
    assert public(AsyncMesh) == public(sync.MemoryMesh)
    waiting_for_nothing = {"clear_cache", "get_cache_stats", "format_results", "view", "for_user"}
    for name in public(AsyncMesh) - waiting_for_nothing:
        member = inspect.getattr_static(AsyncMesh, name)
        assert isinstance(member, property) or inspect.iscoroutinefunction(member)


def test_public_names_are_sorted_and_real():
    assert sorted(memory_mesh.__all__) == memory_mesh.__all__
    for name in memory_mesh.__all__:
        assert getattr(memory_mesh, name) is not None
    with pytest.raises(AttributeError):
        memory_mesh.nothing  # noqa: B018


def test_every_error_class_is_a_name_of_the_package():
    public = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert "StoreIsBusy" in public
    assert public <= set(memory_mesh.__all__)
    for name in public:
        assert getattr(memory_mesh, name) is getattr(errors, name)


def test_threads_share_one_mesh(mesh):
    def work(number: int) -> None:
        for step in range(20):
            text = f"thread{number} step{step}"
            mesh.add(text)
            assert text in {hit.content for hit in mesh.search(text)}

    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  # reported below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert mesh.stats().memories == 120
    assert mesh.care.verify().ok


def test_a_store_of_the_future_is_not_touched(mesh):
    mesh.add("tea is hot")
    with sqlite3.connect(mesh.folder / "namespaces" / "default.db") as db:
        db.execute("UPDATE store SET min_writer = 99")
    db.close()
    assert mesh.search("tea")
    with pytest.raises(StoreIsNewer):
        mesh.add("tea is cold")
    with sqlite3.connect(mesh.folder / "namespaces" / "default.db") as db:
        db.execute("UPDATE store SET min_reader = 99")
    db.close()
    with pytest.raises(StoreIsNewer):
        mesh.search("tea", use_cache=False)


def test_a_forked_child_uses_the_mesh_it_was_born_with(mesh):
    mesh.add("tea of the parent")
    child = os.fork()
    if child == 0:
        try:
            mesh.add("tea of the child")
            ok = len(mesh.search("tea")) == 2
        except BaseException:  # noqa: BLE001  # the exit code says it
            os._exit(1)
        os._exit(0 if ok else 2)
    assert os.waitpid(child, 0)[1] == 0
    mesh.add("tea again")
    assert len(mesh.search("tea")) == 3
    assert mesh.care.verify().ok
