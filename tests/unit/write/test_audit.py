from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.model import BlockOperation, Entry, Head
from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules import audit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENTRY = Entry(
    "yamo_retain_1_000001", BlockOperation.RETAIN, "me", NOW, ("mem_1_000001",), "wire", {"a": 1}
)
START = audit.genesis("default")
BLOCK = audit.seal(ENTRY, 1, 1, START, b"salt" * 4)


def test_an_untouched_block_has_no_flaw():
    assert audit.flaw(BLOCK, 1, START) is None


@pytest.mark.parametrize(
    "changed",
    [
        replace(BLOCK, entry=replace(ENTRY, id="yamo_retain_1_000002")),
        replace(BLOCK, entry=replace(ENTRY, operation=BlockOperation.CHANGE)),
        replace(BLOCK, entry=replace(ENTRY, agent="you")),
        replace(BLOCK, entry=replace(ENTRY, agent=None)),
        replace(BLOCK, entry=replace(ENTRY, at=NOW + timedelta(milliseconds=1))),
        replace(BLOCK, entry=replace(ENTRY, memories=())),
        replace(BLOCK, entry=replace(ENTRY, wire="other")),
        replace(BLOCK, entry=replace(ENTRY, wire=None)),
        replace(BLOCK, entry=replace(ENTRY, metadata={})),
        replace(BLOCK, salt=b"other salt"),
        replace(BLOCK, salt=None),
        replace(BLOCK, digest=b"\0" * 32),
        replace(BLOCK, digest=b"short"),
        replace(BLOCK, digest=None),
        replace(BLOCK, hash=b"\0" * 32),
        replace(BLOCK, prev_hash=b"\0" * 32),
        replace(BLOCK, position=2),
        replace(BLOCK, seq=2),
    ],
)
def test_any_change_of_a_block_is_a_flaw(changed):
    assert audit.flaw(changed, 1, START) is not None


def test_an_erased_block_still_holds_its_place():
    erased = replace(BLOCK, entry=replace(ENTRY, wire=None, metadata={}), salt=None, erased=True)
    assert audit.flaw(erased, 1, START) is None


def test_two_namespaces_have_two_beginnings():
    assert audit.genesis("a") != audit.genesis("b")


def test_a_checkpoint_survives_its_own_text():
    head = Head("näme", 7, 5, b"\1" * 32, NOW)
    mark = audit.read_checkpoint(audit.checkpoint(head, NOW))
    assert (mark.namespace, mark.position, mark.hash) == ("näme", 5, b"\1" * 32)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"namespace": "a", "position": 1, "hash": "zz"}']
)
def test_other_text_is_no_checkpoint(text):
    with pytest.raises(InvalidInput, match="--checkpoint"):
        audit.read_checkpoint(text)


def test_digests_are_those_that_other_tools_compute():
    # printf default | openssl dgst -sha256
    expected = "37a8eec1ce19687d132fe29051dca629d164e2c4958ba141d5f4133a33f0688f"
    assert audit.genesis("default").hex() == expected
    # printf 'wire\n{"a":1}' | openssl dgst -sha256 -hmac saltsaltsaltsalt
    expected = "42cc904be00be7ae22a2d77d1c23baaa5ec056cd8babcc40ae257c2ff33082ed"
    assert audit.digest("wire", '{"a":1}', b"salt" * 4).hex() == expected
