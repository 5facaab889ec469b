"""A repository has one name, however its remote's URL is written, and no secret is in it."""

import pytest

from memory_mesh.platform.git_files import (
    chosen,
    is_abbreviated,
    local_path,
    remote_name,
    rewritten,
)

APP = "github.com/ada/app"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/ada/app.git", APP),
        ("https://github.com/ada/app", APP),
        ("https://github.com/ada/app/", APP),
        ("https://github.com/ada/app.git/", APP),
        ("http://github.com:80/ada/app", APP),
        ("https://GitHub.com/Ada/App.git", APP),
        ("https://www.github.com/ada/app", APP),
        ("https://ada@github.com/ada/app.git", APP),
        ("https://ada:ghp_0123456789abcdef@github.com/ada/app.git", APP),
        ("https://x-access-token:s3cr%40t@github.com:443/ada/app.git", APP),
        ("git@github.com:ada/app.git", APP),
        ("github.com:ada/app", APP),
        ("git@github.com:/ada/app.git", APP),
        ("org-1234@github.com:ada/app.git", APP),
        ("ssh://git@github.com/ada/app.git", APP),
        ("ssh://git@github.com:22/ada/app.git", APP),
        ("ssh://git@ssh.github.com:443/ada/app.git", APP),
        ("git+ssh://git@github.com/ada/app", APP),
        ("git://github.com/ada/app.git", APP),
        ("git://github.com:9418/ada/app.git", APP),
        (" https://github.com/ada//app.git\t", APP),
        ("https://github.com/ada/app.git?x=1#y", APP),
        ("https://gitlab.com/Group/Sub/App.git", "gitlab.com/group/sub/app"),
        ("https://git.example.org/Ada/App.git", "git.example.org/Ada/App"),
        ("https://git.example.org:8443/ada/app", "git.example.org:8443/ada/app"),
        ("ssh://git@git.example.org:2222/ada/app", "git.example.org/ada/app"),
        ("ssh://ada@git.example.org/~ada/app", "git.example.org/~ada/app"),
        ("ada@git.example.org:app.git", "git.example.org/~ada/app"),
        ("bob@git.example.org:app.git", "git.example.org/~bob/app"),
        ("ada@git.example.org:/srv/app.git", "git.example.org/srv/app"),
        ("git@ssh.dev.azure.com:v3/org/team/app", "dev.azure.com/org/team/_git/app"),
        ("https://org@dev.azure.com/org/team/_git/app", "dev.azure.com/org/team/_git/app"),
        ("https://[2001:DB8::1]:8443/ada/app", "[2001:db8::1]:8443/ada/app"),
        ("ssh://git@[2001:db8::1]:22/ada/app", "[2001:db8::1]/ada/app"),
        ("https://example.org/caf%C3%A9/app", "example.org/café/app"),
        ("https://example.org./ada/app", "example.org/ada/app"),
    ],
)
def test_every_form_of_a_url_has_one_name(url: str, name: str) -> None:
    assert remote_name(url) == name


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "/srv/app.git", "../app", "file:///srv/app.git", "C:/work/app", "https://", "https://host",
        "https://host/", "https://host/.git", "https://host/a/../../etc", "ext::sh -c evil",
        "codecommit::eu-west-1://app", "https://host/a\nb", "https://host/a%0ab", "git@host:",
        f"https://host/{'a' * 600}",
    ],
)  # fmt: skip
def test_what_names_no_repository_has_no_name(url: str) -> None:
    assert remote_name(url) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/srv/app.git", "/srv/app.git"),
        ("../app", "../app"),
        ("file:///srv/my%20app", "/srv/my app"),
        ("file://localhost/srv/app", "/srv/app"),
        ("file://other/srv/app", None),
        ("git@host:app", None),
        ("https://host/app", None),
        ("", None),
    ],
)
def test_a_path_on_this_machine_is_told_from_a_host(url: str, path: str | None) -> None:
    assert local_path(url) == path


def test_origin_names_the_project_then_upstream_then_the_first_by_name() -> None:
    assert chosen({"zeta": "", "origin": "", "upstream": "", "alpha": ""}) == [
        "origin", "upstream", "alpha", "zeta",
    ]  # fmt: skip
    assert chosen({}) == []


def test_the_longest_beginning_is_rewritten() -> None:
    bases = [("git@github.com:", "gh:"), ("git@github.com:ada/", "gh:ada-")]
    assert rewritten("gh:bob/app", bases) == "git@github.com:bob/app"
    assert rewritten("gh:ada-app", bases) == "git@github.com:ada/app"
    assert rewritten("https://x/y", bases) == "https://x/y"


@pytest.mark.parametrize(
    ("url", "short"),
    [
        ("gh:ada/app", True),
        ("git@github.com:ada/app", False),
        ("https://gh/app", False),
        ("/a", False),
    ],
)
def test_a_host_without_a_dot_may_be_short_for_another(url: str, short: bool) -> None:  # noqa: FBT001
    assert is_abbreviated(url) is short
