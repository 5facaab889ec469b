"""A user id as the name of a namespace, and back."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.ledgers.sqlite import namespace_places
from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.arguments import (
    MAX_USER_BYTES,
    check_plain_namespace,
    for_user_call,
    shown_namespace,
    user_namespace,
    user_of,
)

IDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: len(text.encode()) <= MAX_USER_BYTES
)
ODD = [
    "alice", "Alice", "ALICE", "alice@example.com", "a/b", "../../etc/passwd", "..", ".", " ",
    "con", "NUL", "com1.txt", "a_b", "_", "__", "_41lice", "user.alice", "😀", "é", "e\u0301",
    "a\nb", "\u202e", "default", "%41", "auth0|5f7c8ec7", "x" * MAX_USER_BYTES,
    "X" * MAX_USER_BYTES,
    "😀" * (MAX_USER_BYTES // 4), "a" * 74 + "B", "a" * 73 + "B", "a" * 72 + "B",
]  # fmt: skip


@pytest.mark.parametrize("user_id", ODD)
def test_an_odd_id_has_a_file_and_is_read_back(user_id):
    namespace = user_namespace(user_id)
    file = namespace_places.file_name(namespace)
    assert user_of(namespace) == user_id
    assert shown_namespace(namespace) == f"user.{user_id}"
    assert file == f"{namespace}.db"
    assert namespace_places.namespace(file) == namespace
    assert file.startswith("user.")
    assert len(file) <= 240


def test_odd_ids_have_different_files_where_case_is_ignored():
    files = {namespace_places.file_name(user_namespace(user_id)).casefold() for user_id in ODD}
    assert len(files) == len(ODD)


@given(IDS)
def test_every_id_is_read_back(user_id):
    namespace = user_namespace(user_id)
    assert user_of(namespace) == user_id
    assert set(namespace) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._")


@given(IDS, IDS)
def test_two_ids_never_share_a_namespace(one, two):
    assert (one == two) == (user_namespace(one) == user_namespace(two))


@given(st.from_regex(r"user\.[a-z0-9._-]{0,90}", fullmatch=True))
def test_a_name_is_a_users_only_if_that_user_has_it(namespace):
    user_id = user_of(namespace)
    assert user_id is None or user_namespace(user_id) == namespace


@pytest.mark.parametrize(
    "namespace",
    ["alice", "user", "user.", "user._4", "user._zz", "user._61", "user.__", "user.__0", "user._ff",
     "user.Alice", "user.__me", "user._00"],
)  # fmt: skip
def test_other_names_are_nobodys(namespace):
    assert user_of(namespace) is None
    assert shown_namespace(namespace) == namespace


@pytest.mark.parametrize("user_id", ["", "x" * (MAX_USER_BYTES + 1), "a\0b", "\ud800", 7, None])
def test_what_cannot_be_a_user_id_is_refused(user_id):
    with pytest.raises(InvalidInput, match=r"user.id"):
        user_namespace(user_id)


@pytest.mark.parametrize("namespace", ["user.", "user.alice", "user.alice_40example.com"])
def test_a_plain_namespace_does_not_begin_as_a_users_does(namespace):
    with pytest.raises(InvalidInput, match="for_user"):
        check_plain_namespace(namespace)


@pytest.mark.parametrize("namespace", ["user", "users", "user-alice", "User.alice", "my.user.x"])
def test_names_that_only_resemble_a_users_are_plain(namespace):
    assert check_plain_namespace(namespace) == namespace


def test_a_message_shows_the_call_to_use():
    assert for_user_call("alice") == 'mesh.for_user("alice")'
    assert for_user_call('say "é"') == r'mesh.for_user("say \"é\"")'
    assert len(for_user_call("x" * 10_000)) < 120
