"""Figures that are older than the code they measure."""

import json
import subprocess

import pytest

from tools import bench_ages


@pytest.fixture
def repository(tmp_path):
    """A repository with one file of code and a function that commits everything."""

    def git(*words):
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "change")
        return git("rev-parse", "HEAD")

    git("init", "-q")
    tmp_path.joinpath("results/benchmarks").mkdir(parents=True)
    return tmp_path, commit


def state(root):
    return {age.figure: age.state for age in bench_ages.ages(root)}


def figure(root, name, **content):
    (root / "results/benchmarks" / name).write_text(json.dumps(content), encoding="utf-8")


def test_a_figure_is_old_once_its_paths_changed(repository):
    root, commit = repository
    first = commit("src/one.py", "1")
    figure(root, "a.json", commit=first, paths=["src/one.py"])
    figure(root, "b.json", part={"commit": first, "paths": ["src"]}, other={"commit": first})
    assert state(root) == {"a.json": "fresh", "b.json part": "fresh", "b.json other": "unknown"}
    commit("src/two.py", "2")
    bench_ages._changed.cache_clear()
    assert state(root)["a.json"] == "fresh"
    assert state(root)["b.json part"] == "old"
    assert bench_ages.main([], root) == 0
    assert bench_ages.main(["--strict"], root) == 1


def test_what_cannot_be_told_fails_a_release_only(repository, tmp_path_factory, capsys):
    root, commit = repository
    commit("src/one.py", "1")
    figure(root, "a.json", commit="0" * 40, paths=["src"])
    assert state(root) == {"a.json": "unknown"}
    bare = tmp_path_factory.mktemp("bare")
    assert bench_ages.main([], bare) == 0
    assert bench_ages.main(["--strict"], bare) == 1
    assert "no git checkout" in capsys.readouterr().out


def test_the_list_has_paths_for_files_without_them_and_leaves_experiments_out(repository):
    root, commit = repository
    first = commit("src/one.py", "1")
    listed = 'experiments = ["old-*.json"]\n[[group]]\nfiles = ["b*.json"]\npaths = ["src"]\n'
    (root / "results/benchmarks/paths.toml").write_text(listed, encoding="utf-8")
    figure(root, "old-one.json", anything=1)
    figure(root, "bars.json", commit=first)
    figure(root, "dirty.json", commit=first, dirty=True, paths=["src"])
    assert state(root) == {"bars.json": "fresh", "dirty.json": "old"}
