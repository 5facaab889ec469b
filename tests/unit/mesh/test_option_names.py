"""Options that a method does not have, and what was meant by them."""

import pytest

import memory_mesh
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh


@pytest.mark.parametrize(
    ("call", "option", "told"),
    [
        ("search", "top_k", "MemoryMesh.search() has no option 'top_k'; did you mean limit?"),
        ("search", "filters", "did you mean filter?"),
        ("add", "importnce", "did you mean importance?"),
        ("context", "token_budget", "did you mean max_tokens?"),
        ("get_all", "limti", "did you mean limit?"),
        ("add", "xyzzy", "its options are in help(MemoryMesh.add)"),
        ("close", "now", "MemoryMesh.close() has no option 'now'"),
    ],
)
def test_an_unknown_option_names_the_one_that_was_meant(
    tmp_path: object, call: str, option: str, told: str
) -> None:
    mesh = MemoryMesh(db_dir=str(tmp_path))
    with pytest.raises(TypeError) as refused:
        getattr(mesh, call)(*(["tea"] if call != "close" else []), **{option: 5})
    assert told in str(refused.value)


@pytest.mark.parametrize("face", [MemoryMesh, memory_mesh.MemoryMesh])
def test_an_unknown_setting_names_the_one_that_was_meant(face: type[MemoryMesh]) -> None:
    with pytest.raises(
        TypeError, match=r"MemoryMesh\(\) has no option 'path'; did you mean db_dir"
    ):
        face(path="store")  # type: ignore[call-arg]  # the mistake
    with pytest.raises(InvalidInput, match=r'for_user\("alice"\)'):
        face(user_id="alice")  # type: ignore[call-arg]  # the mistake


def test_a_plain_with_on_the_async_class_says_what_to_write() -> None:
    with pytest.raises(TypeError, match="async with MemoryMesh"), memory_mesh.MemoryMesh():  # type: ignore[attr-defined]  # the mistake
        pass
