"""`memory-mesh init` as a user runs it: a process, a home of its own, and a claude on PATH."""

import json
import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from memory_mesh.agents import journal
from memory_mesh.agents.hosts import claude_code, places, undo
from memory_mesh.agents.hosts.undo import FileChange
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.surface.command import SCRIPT, CommandLine
from tests.until import until

SETTINGS = (
    b'{\r\n\t"model": "opus",\r\n\t"permissions": {"allow": ["Read",  "Edit"]},\r\n'
    b'\t"x": "\\u00e9"\r\n}'
)
PLUGIN = "memory-mesh@memory-mesh"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home with space"
    (folder / "bin").mkdir(parents=True)
    claude = folder / "bin" / "claude"
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    return folder


@pytest.fixture
def cli(home):
    path = f"{home / 'bin'}{os.pathsep}/usr/bin:/bin"
    return CommandLine(home, start=(str(SCRIPT),), variables={"PATH": path})


def _all(folder):
    """Every file with its bytes and mode, and every folder."""
    return {
        path.relative_to(folder): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        if path.is_file()
        else None
        for path in folder.rglob("*")
        if ".local" not in path.parts
    }


def _settings(home):
    return json.loads((home / ".claude/settings.json").read_bytes())


def _write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {".claude/settings.json": b"{}"},
        {".claude/settings.json": b""},
        {".claude/settings.json": SETTINGS},
        {".claude/settings.json": b'{"enabledPlugins": {"memory-mesh@memory-mesh": false}}\n'},
        {
            ".claude/settings.json": b'{\n  "enabledPlugins": {\n    "other@place": true\n  }\n}\n',
            ".claude/plugins/installed_plugins.json": b'{"version": 2, "plugins": {"a@b": []}}',
            ".claude/plugins/known_marketplaces.json": b'{"place": {"source": {}}}\n\n',
        },
    ],
)
def test_init_then_undo_leaves_every_file_byte_equal_and_twice_changes_nothing(home, cli, files):
    for name, data in files.items():
        _write(home / name, data)
    before = _all(home)

    first = cli("init", "--yes")
    assert first.code == 0, first.err
    assert _settings(home)["enabledPlugins"][PLUGIN] is True
    installed = _all(home)

    again = cli("init", "--yes")
    assert again.code == 0
    assert "Nothing to change" in again.out
    assert _all(home) == installed

    undone = cli("init", "--undo", "--yes")
    assert undone.code == 0, undone.err
    assert _all(home) == before
    assert "Nothing to undo" in cli("init", "--undo", "--yes").out


def test_every_file_that_is_written_is_shown_and_a_dry_run_writes_none(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    before = _all(home)
    looked = cli("init", "--dry-run")
    assert looked.code == 0
    assert _all(home) == before
    cli("init", "--yes")
    for path in _all(home).keys() - before.keys():
        full = home / path
        if full.is_file() and full.name != "undo.json" and full.parent.name != "backup":
            assert f"+++ {full}" in looked.out
    assert f"--- {home / '.claude/settings.json'}" in looked.out


def test_other_keys_their_order_and_their_bytes_are_kept(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    cli("init", "--yes")
    changed = (home / ".claude/settings.json").read_bytes()
    assert changed.startswith(SETTINGS.removesuffix(b"\r\n}"))
    assert b"\n" not in changed.replace(b"\r\n", b"")
    assert not changed.endswith(b"\n")


def test_undo_takes_only_our_part_out_of_what_the_user_changed_meanwhile(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    cli("init", "--yes", "--host-memory", "off")
    settings = _settings(home)
    assert settings["autoMemoryEnabled"] is False
    settings["enabledPlugins"]["other@place"] = True
    settings["model"] = "sonnet"
    _write(home / ".claude/settings.json", json.dumps(settings, indent=4).encode())

    undone = cli("init", "--undo", "--yes")
    assert "was changed since: only the part of memory-mesh is taken out" in undone.out
    assert "As before: 8 files. Without the part of memory-mesh: 1 file." in undone.out
    assert _settings(home) == {
        "model": "sonnet",
        "permissions": {"allow": ["Read", "Edit"]},
        "x": "é",
        "enabledPlugins": {"other@place": True},
    }
    assert not (home / ".claude/memory-mesh").exists()


def test_undo_gives_back_the_bytes_when_only_the_layout_was_changed(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    cli("init", "--yes")
    _write(home / ".claude/settings.json", json.dumps(_settings(home), indent=8).encode())
    cli("init", "--undo", "--yes")
    assert (home / ".claude/settings.json").read_bytes() == SETTINGS


def test_undo_after_an_upgrade_goes_back_to_before_the_first_installation(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    before = _all(home)
    cli("init", "--yes")
    moved = places.Commands(Path("/elsewhere/memory-mesh-hook"), Path("/elsewhere/mcp"), {})
    place = places.SettingsFolder(home / ".claude")
    planned = claude_code.planned(place, moved, now=FrozenClock().now())
    assert {change.path.name for change in planned} == {"hooks.json", ".mcp.json"}
    undo.write(place.own, planned)
    cli("init", "--undo", "--yes")
    assert _all(home) == before


def test_undo_removes_our_own_files_whatever_was_done_to_them(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    before = _all(home)
    cli("init", "--yes")
    plugin = home / ".claude/memory-mesh/plugin"
    _write(plugin / "hooks/hooks.json", b'{"hooks": {}}')
    assert cli("init", "--yes").code == 0  # the fix that doctor names
    switched = (home / ".claude/settings.json").read_bytes().replace(b"true", b"false")
    _write(home / ".claude/settings.json", switched)
    assert cli("init", "--yes").code == 0
    _write(plugin / "README.md", b"damaged, and not mended")
    undone = cli("init", "--undo", "--yes")
    assert undone.code == 0, undone.err
    assert _all(home) == before


def test_undo_works_after_an_installation_that_was_interrupted(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    before = _all(home)
    place = places.SettingsFolder(home / ".claude")
    commands = places.Commands(Path("/x/memory-mesh-hook"), Path("/x/mcp"), {})
    planned = claude_code.planned(place, commands, now=FrozenClock().now())
    stuck = home / ".claude/stuck"
    stuck.symlink_to(home / "nowhere")
    with pytest.raises(FileExistsError):
        undo.write(place.own, [*planned[:5], FileChange(stuck / "x", None, b""), *planned[5:]])
    assert (place.own / "plugin").is_dir()
    stuck.unlink()
    assert cli("init", "--undo", "--yes").code == 0
    assert _all(home) == before


@pytest.mark.parametrize("broken", [b'{"model": "opus",}', b"// mine\n{}", b"[]", b"\xff{}"])
def test_broken_settings_are_refused_and_nothing_is_touched(home, cli, broken):
    _write(home / ".claude/settings.json", broken)
    before = _all(home)
    done = cli("init", "--yes")
    assert done.code == 1
    assert "settings.json cannot be changed" in done.err
    assert "Nothing was written" in done.err
    assert _all(home) == before


def test_settings_that_break_after_the_installation_stop_an_undo_before_it_touches_a_file(
    home, cli
):
    cli("init", "--yes")
    _write(home / ".claude/settings.json", b"{,}")
    before = _all(home)
    assert cli("init", "--undo", "--yes").code == 1
    assert _all(home) == before


def test_without_a_terminal_nothing_is_written_unless_yes_is_said(home, cli):
    before = _all(home)
    done = cli("init")
    assert done.code == 2
    assert "Add --yes" in done.err
    assert _all(home) == before


def test_a_link_to_the_settings_stays_a_link_and_what_it_leads_to_is_changed(home, cli):
    kept = home / "dotfiles/claude.json"
    _write(kept, SETTINGS)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(kept)
    cli("init", "--yes")
    assert (home / ".claude/settings.json").is_symlink()
    assert json.loads(kept.read_bytes())["enabledPlugins"][PLUGIN] is True
    cli("init", "--undo", "--yes")
    assert (home / ".claude/settings.json").is_symlink()
    assert kept.read_bytes() == SETTINGS


def test_backups_of_settings_are_for_their_owner_only(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    cli("init", "--yes")
    own = home / ".claude/memory-mesh"
    [backup] = (own / "backup").iterdir()
    assert backup.read_bytes() == SETTINGS
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE((own / "undo.json").stat().st_mode) == 0o600


def test_a_secret_in_the_settings_is_not_shown(home, cli):
    key = "sk-ant-api03-" + "a1B2" * 20
    _write(home / ".claude/settings.json", json.dumps({"env": {"K": key}}, indent=2).encode())
    assert key not in cli("init", "--dry-run").out


def test_here_writes_into_the_repository_and_not_into_the_home(home, cli):
    repository = home / "work/shop"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    before = _all(home)
    done = cli("init", "--here", "--yes", cwd=repository / "src")
    assert done.code == 0, done.err
    assert not (home / ".claude").exists()
    local = json.loads((repository / ".claude/settings.local.json").read_bytes())
    assert local["enabledPlugins"] == {PLUGIN: True}
    assert (repository / ".claude/memory-mesh/.gitignore").read_text() == "*\n"
    cli("init", "--here", "--undo", "--yes", cwd=repository)
    assert _all(home) == before


@pytest.mark.parametrize("options", [(), ("--undo",)])
def test_here_is_refused_where_the_folder_is_the_users_own(home, cli, options):
    cli("init", "--yes")
    before = _all(home)
    done = cli("init", "--here", "--yes", *options, cwd=home)
    assert done.code == 2
    assert "Leave --here out" in done.err
    moved = {**cli.variables, "CLAUDE_CONFIG_DIR": str(home / "elsewhere")}
    other = CommandLine(home, start=cli.start, variables=moved)
    assert other("init", "--here", "--yes", *options, cwd=home).code == 2
    assert _all(home) == before


def test_an_undo_takes_no_choice_of_the_hosts_memory(home, cli):
    cli("init", "--yes")
    before = _all(home)
    done = cli("init", "--undo", "--yes", "--host-memory", "off")
    assert done.code == 2
    assert "--undo and --host-memory do not go together" in done.err
    assert _all(home) == before


def test_paths_with_spaces_and_a_stated_store_reach_the_commands(home):
    commands = places.Commands(
        Path("/my tools/memory-mesh-hook"),
        Path("/my tools/memory-mesh-mcp"),
        {"MEMORY_MESH_DIR": "/my store"},
    )
    files = claude_code.plugin_files(commands)
    hooks = json.loads(files["plugin/hooks/hooks.json"])["hooks"]
    assert set(hooks) == {
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "PreCompact",
        "SessionEnd",
        "PreToolUse",
        "PostToolUseFailure",
    }
    [[call]] = [group["hooks"] for group in hooks["Stop"]]
    assert call["command"] == (
        "MEMORY_MESH_DIR='/my store' '/my tools/memory-mesh-hook' --host claude-code Stop"
    )
    assert call["timeout"] == 5
    [server] = json.loads(files["plugin/.mcp.json"])["mcpServers"].values()
    assert server["command"] == "/my tools/memory-mesh-mcp"
    assert server["args"] == ["--host", "claude-code"]
    assert server["env"] == {"MEMORY_MESH_DIR": "/my store"}


def test_where_there_is_no_claude_code_it_says_what_to_do_and_what_works(tmp_path):
    bare = CommandLine(tmp_path, start=(str(SCRIPT),), variables={"PATH": "/nowhere"})
    done = bare("init", "--yes")
    assert done.code == 1
    assert "npm install" in done.out
    assert '"mcpServers"' in done.out
    assert not (tmp_path / ".claude").exists()


@pytest.mark.parametrize(
    ("settings", "variables", "said"),
    [
        ({}, {}, "is on (by its default)"),
        ({"autoMemoryEnabled": False}, {}, "is off (by"),
        ({}, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, "is off (by CLAUDE_CODE_DISABLE"),
    ],
)
def test_it_says_how_the_hosts_own_memory_is_set(home, settings, variables, said):
    _write(home / ".claude/settings.json", json.dumps(settings).encode())
    path = {"PATH": f"{home / 'bin'}:/usr/bin:/bin"}
    cli = CommandLine(home, start=(str(SCRIPT),), variables={**path, **variables})
    assert said in cli("init", "--dry-run").out


def test_the_hosts_own_memory_can_be_switched_off_and_kept_again(home, cli):
    _write(home / ".claude/settings.json", SETTINGS)
    cli("init", "--yes", "--host-memory", "off")
    assert _settings(home)["autoMemoryEnabled"] is False
    assert "Nothing to change" in cli("init", "--yes").out
    cli("init", "--yes", "--host-memory", "keep")
    assert "autoMemoryEnabled" not in _settings(home)
    cli("init", "--undo", "--yes")
    assert (home / ".claude/settings.json").read_bytes() == SETTINGS


def test_the_hosts_own_memory_is_read_in_once_as_documents_of_its_repository(home, cli):
    shop, blog = home / "work/shop.v2", home / "work/blog"
    for repository in (shop, blog):
        (repository / ".git").mkdir(parents=True)
    _write(home / ".claude.json", json.dumps({"projects": {str(blog): {}}}).encode())
    for repository, text in ((shop, "The till opens at nine."), (blog, "Posts are in Welsh.")):
        name = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(repository))
        memory = home / ".claude/projects" / name / "memory"
        _write(memory / "fact.md", text.encode())
        _write(memory / "MEMORY.md", b"# Index\n\n- [A fact](fact.md) - what it says\n")
    _write(home / ".claude/projects/-gone/memory/x.md", b"Nobody knows of what.")

    first = cli("init", "--yes", "--host-memory", "import", cwd=shop)
    assert "Read in 2 files" in first.out
    assert "1 more folders" in first.out
    again = cli("init", "--yes", "--host-memory", "import", cwd=shop)
    assert "Read in 0 files of Claude Code's memory, 2 already known" in again.out

    with MemoryMesh(db_dir=cli.store) as mesh:
        kept = mesh.get_all(across=("project",))
    assert {memory.text for memory in kept} == {"The till opens at nine.", "Posts are in Welsh."}
    assert {memory.source.kind.value for memory in kept} == {"document"}
    assert len({memory.scope.project for memory in kept}) == 2


def _known(cli):
    with MemoryMesh(db_dir=cli.store) as mesh:
        return {memory.text: memory for memory in mesh.get_all(across=("project",))}


def _started(home, cli, here):
    """A session of Claude Code begins; returns when the worker has looked at the files."""
    variables = {**cli.environment, "MEMORY_MESH_DAEMON": "0"}
    told = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(here)}
    before = len(_looked(cli))
    subprocess.run(
        [SCRIPT.with_name("memory-mesh-hook")],
        input=json.dumps({**told, "source": "startup"}).encode(),
        env=variables,
        cwd=here,
        check=True,
    )
    until(lambda: len(_looked(cli)) > before)
    return _looked(cli)[-1]


def _looked(cli):
    return [line for line in journal.read(str(cli.store)) if line["what"] == "host files"]


def test_what_hosts_keep_themselves_is_followed_line_by_line_and_never_written(home, cli):
    shop = home / "work/shop"
    (shop / ".git").mkdir(parents=True)
    rules, agents = shop / "CLAUDE.md", shop / "AGENTS.md"
    _write(rules, b"# Rules\n\n- Run the tests with make check.\n- Prices are in cents, always.\n")
    _write(agents, b"- Prices are in cents, always.\n")
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(shop))
    note = home / ".claude/projects" / name / "memory/till.md"
    _write(note, b"The till opens at nine.\n")
    done = cli("init", "--yes", "--host-memory", "follow", cwd=shop)
    assert "Read 3 lines of this repository's files" in done.out, done.err
    make, cents = "Run the tests with make check.", "Prices are in cents, always."
    assert set(_known(cli)) == {make, cents, "The till opens at nine."}
    assert {one.source.kind.value for one in _known(cli).values()} == {"document"}
    assert _known(cli)[make].source.ref == "CLAUDE.md"

    assert _started(home, cli, shop)["changed"] == 0
    till = _known(cli)["The till opens at nine."]
    with MemoryMesh(db_dir=cli.store, project=till.scope.project) as mesh:
        mesh.update(till.id, "The till opens at ten.")
    lines = b"# Rules\n\n- Run the tests with make test.\n"
    _write(rules, lines)
    note.unlink()
    assert _started(home, cli, shop)["changed"] == 2
    assert set(_known(cli)) == {"Run the tests with make test.", cents, "The till opens at ten."}
    agents.unlink()
    assert _started(home, cli, shop)["changed"] == 1
    assert cents not in _known(cli)
    assert rules.read_bytes() == lines

    ended = [cli("init", "--yes", "--host-memory", "keep", cwd=shop).out for _ in range(2)]
    assert ["are followed no more" in out for out in ended] == [True, False]
    _write(rules, b"- Nobody follows this line any more.\n")
    assert _started(home, cli, shop)["changed"] == 0
    assert "Run the tests with make test." in _known(cli)


def test_a_short_item_of_a_list_is_followed_and_a_single_word_or_a_link_is_not(home, cli):
    shop = home / "work/shop"
    _write(shop / ".git/HEAD", b"")
    rules = ["Answer in English.", "Use ruff.", "Prefer pathlib", "Run ruff before commits."]
    left = ["TypeScript", "[Our style](style.md)"]
    _write(shop / "AGENTS.md", "".join(f"- {line}\n" for line in [*rules, *left]).encode())
    done = cli("init", "--yes", "--host-memory", "follow", cwd=shop)
    assert "Read 4 lines " in done.out, done.err
    assert set(_known(cli)) == set(rules)


def test_another_host_follows_the_rules_of_a_repository_and_has_no_memory_to_switch_off(home, cli):
    shop = home / "work/shop"
    _write(shop / ".git/HEAD", b"")
    _write(shop / "AGENTS.md", b"Run the tests with make check.\n")
    (home / ".codex").mkdir()
    done = cli("init", "--yes", "--host", "codex", "--host-memory", "follow", cwd=shop)
    assert "Read 1 line " in done.out, done.err
    assert set(_known(cli)) == {"Run the tests with make check."}
    assert cli("init", "--yes", "--host", "codex", "--host-memory", "off", cwd=shop).code == 2


def _typed(cli, *words, answers):
    """Run on a terminal, with what a person types."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*cli.start, *words],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cli.home,
        env=cli.environment,
    )
    os.write(ours, answers)
    printed, _ = process.communicate(timeout=300)
    for end in (ours, theirs):
        os.close(end)
    return process.returncode, printed.decode()


def test_on_a_terminal_it_asks_before_it_writes(home, cli):
    before = _all(home)
    code, printed = _typed(cli, "init", answers=b"keep\nn\n")
    assert (code, _all(home)) == (1, before)
    assert "Nothing was written" in printed
    code, printed = _typed(cli, "init", answers=b"off\ny\n")
    assert code == 0
    assert "Write 9 files? [y/N]" in printed
    assert _settings(home)["autoMemoryEnabled"] is False
    assert _typed(cli, "init", "--undo", answers=b"y\n")[0] == 0
    assert _all(home) == before


def test_json_says_what_was_changed(home, cli):
    done = cli("init", "--yes", "--json")
    plain = json.loads(done.out)
    assert plain["written"] is True
    assert str(home / ".claude/settings.json") in plain["changed"]
    assert plain["host_memory"] == {"enabled": True, "files": 0}
    undone = json.loads(cli("init", "--undo", "--yes", "--json").out)
    assert sorted(undone["changed"]) == sorted(plain["changed"])


def test_a_damaged_record_is_named_and_nothing_is_undone(home, cli):
    cli("init", "--yes")
    _write(home / ".claude/memory-mesh/undo.json", b"{")
    before = _all(home)
    done = cli("init", "--undo", "--yes")
    assert done.code == 1
    assert "undo.json is damaged" in done.err
    assert _all(home) == before


def test_a_file_that_changes_while_the_plan_is_looked_at_is_not_overwritten(home):
    place = places.SettingsFolder(home / ".claude")
    commands = places.Commands(Path("/x/memory-mesh-hook"), Path("/x/mcp"), {})
    planned = claude_code.planned(place, commands, now=FrozenClock().now())
    _write(place.settings, b'{"mine": 1}')
    with pytest.raises(InvalidInput, match="was changed while you looked"):
        undo.write(place.own, planned)
    assert place.settings.read_bytes() == b'{"mine": 1}'
    assert not place.own.exists()
