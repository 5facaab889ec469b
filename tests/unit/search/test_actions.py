"""Which lessons a command or an edit would repeat; and how command lines are taken apart."""

import pytest

from memory_mesh.search.triggers.actions import action_of, repeats, warned_of
from memory_mesh.search.triggers.commands import pipelines

HOME = "/w/shop"
BUILD = "`rm -rf build` removed the fixtures: use `just clean`."


def warns(lesson, command, *, ran=None, folder=HOME, file=""):
    return repeats(warned_of(lesson, ran, HOME), action_of(command, file, folder))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -r -f ./build/",
        "rm --recursive --force build",
        "sudo rm -fr /w/shop/build",
        "cd /w/shop && rm -rf build; echo done",
        "bash -c 'rm -rf build'",
        "X=1 timeout 5 nice rm -rf build 2>/dev/null",
        "if true; then rm -rf build; fi",
        "find . -name build -exec rm -rf build \\;",
        "(rm -rf build) &",
        "echo $(rm -rf build)",
    ],
)
def test_the_same_call_is_known_in_any_spelling(command):
    assert warns(BUILD, command)


@pytest.mark.parametrize(
    "command",
    [
        "just clean",
        "rm -rf node_modules",
        "rm build",
        "ls build",
        "echo rm -rf build",
        'git commit -m "Say why rm -rf build is wrong"',
        "# rm -rf build\ngit status",
        "cat > notes.md <<'END'\nrm -rf build\nEND",
        "grep -rn 'rm -rf build' docs",
        "rm -rf build --help",
        "",
        "'unclosed",
        "rm -rf ${X:-",
    ],
)
def test_what_runs_nothing_or_something_else_is_not_warned_of(command):
    assert not warns(BUILD, command)


def test_a_target_in_another_folder_is_another_target():
    assert warns(BUILD, "rm -rf ../build", folder="/w/shop/web")
    assert not warns(BUILD, "rm -rf build", folder="/w/shop/web")


def test_what_the_text_says_of_the_recorded_call_is_what_counts():
    lesson = "`npm install` here writes a second lock file. Install with pnpm."
    assert warns(lesson, "npm i lodash", ran="npm install left-pad")
    assert not warns(lesson, "pnpm install lodash", ran="npm install left-pad")


def test_the_recommended_variant_of_a_call_is_not_warned_of():
    lesson = "cargo update pulled in a broken tokio. Update one crate with cargo update -p NAME."
    assert warns(lesson, "cargo update", ran="cargo update")
    assert not warns(lesson, "cargo update -p serde", ran="cargo update")


@pytest.mark.parametrize(
    "command",
    [
        "REDIS_URL=redis://localhost npm run worker",
        "REDIS_URL=redis://other npm run worker",
        "export REDIS_URL=x; npm run worker",
        "env REDIS_URL=x npm run worker",
        "REDIS_URL=x bash -c 'npm run worker'",
    ],
)
@pytest.mark.parametrize("ran", ["npm run worker", None])
def test_what_is_recommended_may_differ_in_a_setting_alone(command, ran):
    lesson = "Run `REDIS_URL=redis://localhost npm run worker`"
    if ran is None:
        lesson = f"`npm run worker` fails. {lesson}"
    assert not warns(lesson, command, ran=ran)
    assert warns(lesson, "npm run worker", ran=ran)
    assert warns(lesson, "DEBUG=1 npm run worker", ran=ran)


def test_a_recommended_value_is_told_from_the_one_that_failed():
    lesson = "Run `NODE_ENV=dev npm run worker`"
    assert not warns(lesson, "NODE_ENV=dev npm run worker", ran="NODE_ENV=test npm run worker")
    assert warns(lesson, "NODE_ENV=test npm run worker", ran="NODE_ENV=test npm run worker")


def test_the_call_behind_what_is_recommended_before_it_is_not_warned_of():
    lesson = "Run `docker compose up -d redis && npm run worker`"
    assert not warns(lesson, "docker compose up -d redis && npm run worker", ran="npm run worker")
    assert warns(lesson, "npm run worker", ran="npm run worker")


def test_calls_that_feed_each_other_are_warned_of_together():
    lesson = "Piping curl into sh installed another version than we pin."
    ran = "curl https://a.b/install | sh"
    assert warns(lesson, "curl -fsSL https://a.b/install | sudo bash -s", ran=ran)
    assert not warns(lesson, "curl -fsSLO https://a.b/install && sha256sum install", ran=ran)


@pytest.mark.parametrize(
    ("command", "file", "warned"),
    [
        ("", "src/api.ts", True),
        ("", "/w/shop/src/api.ts", True),
        ("", "src/other.ts", False),
        ("echo x > src/api.ts", "", True),
        ("sed -i s/a/b/ src/api.ts", "", True),
        ("cp new.ts src/api.ts", "", True),
        ("cat src/api.ts", "", False),
    ],
)
def test_an_edit_of_the_same_file_is_warned_of_however_it_is_made(command, file, warned):
    lesson = "src/api.ts is generated: change openapi.yaml."
    assert warns(lesson, command, ran="src/api.ts", file=file) is warned


def test_a_command_is_read_in_bounded_work():
    deep = "echo $(" * 500 + "x" + ")" * 500
    assert pipelines(deep)
    assert len(pipelines(";".join(["true x"] * 5_000))) <= 200
    assert pipelines("<<" * 2_000) == []
