"""What a receipt says: nothing that a caller stated is dropped without a sentence."""

import pytest

from memory_mesh.model import Channel, Outcome, Receipt, Scope, Status, Wording, record
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules import receipts
from tests.receipts import id_of, memory_of

CARD, MAIL = "4111 1111 1111 1111", "bob@example.com"


class Broken:
    """An embedder whose model is gone."""

    def embed(self, texts, *, query=False):
        raise EmbeddingError("the model file is missing")

    def close(self):
        """Nothing is open."""


def said(receipt: Receipt, *parts: str) -> bool:
    """True if one sentence of the receipt has all these parts."""
    return any(all(part in reason for part in parts) for reason in receipt.reasons)


def test_a_plain_memory_needs_no_further_word(mesh):
    receipt = mesh.add("tea is hot")
    assert receipt.reasons == ("stored",)
    assert (receipt.redacted, receipt.vector_pending, receipt.words) == ({}, None, {})


def test_what_was_redacted_is_counted_by_kind_and_never_shown(mesh):
    receipt = mesh.add(f"pay with {CARD}, ask {MAIL} or {MAIL}", tags=["ann@example.com"])
    assert receipt.redacted == {"card": 1, "email": 2}  # different values
    assert said(receipt, "1 card", "2 email", "MEMORY_MESH_KEEP=email,")
    assert not any(value in repr(receipt) for value in (CARD, MAIL, "ann@example.com"))


def test_an_order_number_that_looks_like_a_card_is_told(mesh):
    receipt = mesh.add(f"the parcel {CARD} has arrived")
    assert receipt.redacted == {"card": 1}
    assert "[CARD_" in receipt.content


def test_nothing_is_redacted_where_redaction_is_off(tmp_path):
    with MemoryMesh(db_dir=tmp_path, redact=False) as mesh:
        receipt = mesh.add(f"ask {MAIL}")
    assert (receipt.content, receipt.redacted) == (f"ask {MAIL}", {})


def test_a_placeholder_that_was_given_is_not_counted(mesh):
    shown = mesh.add(f"ask {MAIL}").content
    assert mesh.add(f"{shown} today").redacted == {}


def test_a_superseded_memory_is_named_with_its_first_words(mesh):
    claim = {"subject": "office", "predicate": "closes at"}
    old = mesh.add("The office closes at 18:00 " + "and so on " * 20, claim=claim | {"value": "18"})
    receipt = mesh.add("The office closes at 19:00", claim=claim | {"value": "19"})
    assert receipt.superseded == (old.id,)
    words = receipt.words[id_of(old)]
    assert words.startswith("The office closes at 18:00 and so on")
    assert len(words) <= 61
    assert said(receipt, "supersedes", id_of(old), words)


def test_the_words_of_another_agents_memory_are_not_shown(mesh):
    claim = {"subject": "vault", "predicate": "opens with"}
    scope = Scope(agent="other")
    old = mesh.add("The vault opens with seven", claim=claim | {"value": "seven"}, scope=scope)
    receipt = mesh.add("The vault opens with six", claim=claim | {"value": "six"}, scope=scope)
    assert receipt.superseded == (old.id,)
    assert receipt.words == {}
    assert not any("seven" in reason for reason in receipt.reasons)


def test_what_waits_for_review_is_said_with_the_memory_it_contradicts(mesh):
    claim = {"subject": "office", "predicate": "closes at"}
    old = mesh.add("The office closes at 18:00", claim=claim | {"value": "18"})
    agent = mesh.view(channel=Channel.MCP)
    receipt = agent.add("The office closes at 20:00", claim=claim | {"value": "20"})
    assert receipt.outcome is Outcome.QUARANTINED
    assert receipt.for_review[0] == receipt.id
    assert said(receipt, "waits for review", f"review --id {receipt.id}")
    assert said(receipt, "contradicts", id_of(old), "'The office closes at 18:00'")


def test_a_newer_memory_names_the_one_that_it_follows(mesh):
    old = memory_of(mesh, mesh.add("The office closes at 18:00"))
    new = memory_of(mesh, mesh.add("Coffee is free on Mondays"))
    bare = Receipt(new.id, new.text, {}, new.created, Outcome.STORED, newer_than=(old.id,))
    wording = Wording(new.text, b"", "")
    draft = mesh._draft(new.text, None, {})
    receipt = receipts.stored(bare, draft, wording, new, named=[old], agent="x")
    assert said(receipt, f"newer than {old.id}: 'The office", "this one stands first")


def test_importance_and_pin_beyond_the_channel_are_said(mesh):
    receipt = mesh.view(channel=Channel.MCP).add("tea is hot", importance=0.9, pinned=True)
    assert said(receipt, "importance 0.9 was lowered to 0.5")
    assert said(receipt, "not pinned")


def test_a_source_kind_beyond_the_channel_is_said(mesh):
    view = mesh.view(channel=Channel.MCP)
    receipt = view.add("tea is hot", source_kind="user_explicit")
    assert said(receipt, "source_kind user_explicit was lowered to inference")
    assert not said(view.add("coffee is hot"), "source_kind")


def test_an_option_that_metadata_overrules_is_said(mesh):
    receipt = mesh.add("tea is hot", {"importance_score": 0.2, "tags": ["a"]}, importance=0.9)
    assert said(receipt, "importance was given twice", "0.2", "0.9")
    assert not said(receipt, "tags")


def test_a_link_to_an_unknown_memory_is_said(mesh):
    receipt = mesh.add("tea is hot", derived_from=["mem_1_000000"])
    assert said(receipt, "no link to mem_1_000000")


def test_a_time_that_hides_the_memory_is_said(mesh):
    assert said(mesh.add("tea was hot", valid_until="2001-01-01"), "until 2001-01-01", "valid_at")
    assert said(mesh.add("tea gets hot", valid_from="2999-01-01"), "from 2999-01-01")


def test_parts_that_the_scrubber_left_out_are_said(mesh):
    receipt = mesh.add("<html><body><p>Tea is hot</p><script>x()</script></body></html>")
    assert said(receipt, "left out of the text", "script", "HTML markup")


def test_a_failing_embedder_is_the_reason_for_a_missing_vector(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Broken()) as mesh:
        receipt = mesh.add("tea is hot")
        assert receipt.vector_pending == "the model file is missing"
        assert said(receipt, "vector is missing", "the model file is missing")


def test_no_embedder_is_no_reason_to_wait(mesh):
    assert mesh.add("tea is hot").vector_pending is None


def test_the_json_of_a_receipt_has_every_field(mesh):
    plain = record.record(mesh.add(f"ask {MAIL}"))
    assert plain["redacted"] == {"email": 1}
    assert {"superseded", "merged_into", "added", "for_review", "block_id"} <= plain.keys()


# --- merging --------------------------------------------------------------------------------------


def test_a_repeated_text_adds_new_tags_and_keys(mesh):
    first = mesh.add("tea is hot", {"color": "red"}, tags=["drinks"])
    again = mesh.add("tea is hot", {"cup": "blue"}, tags=["kitchen", "drinks"])
    assert (again.id, again.outcome, again.merged_into) == (first.id, Outcome.MERGED, first.id)
    assert again.added == ("tag kitchen", "metadata cup")
    memory = memory_of(mesh, first)
    assert memory.tags == ("drinks", "kitchen")
    assert (memory.extra["color"], memory.extra["cup"]) == ("red", "blue")
    assert [hit.id for hit in mesh.search("kitchen")] == [first.id]
    assert len(mesh.history(id_of(first))) == 2
    assert mesh.care.blocks()[-1].entry.metadata["changed"] == ["tags", "extra"]
    assert mesh.care.verify().ok


def test_a_stored_value_is_kept_and_the_given_one_is_said(mesh):
    first = mesh.add("tea is hot", {"color": "red"})
    again = mesh.add("tea is hot", {"color": "blue"})
    assert memory_of(mesh, first).extra["color"] == "red"
    assert said(again, "kept color=red; given blue; use update")
    assert mesh.care.blocks()[-1].entry.metadata["not_taken"] == {"metadata": {"color": "blue"}}


def test_a_less_trusted_source_adds_nothing_and_nothing_is_lost(mesh):
    first = mesh.add("tea is hot", tags=["drinks"], role="user")
    again = mesh.view(channel=Channel.WEB).add("tea is hot", {"cup": "blue"}, tags=["spam"])
    assert again.outcome is Outcome.MERGED
    assert memory_of(mesh, first).tags == ("drinks",)
    assert said(again, "not added: tag spam, metadata cup", "more trusted user_explicit")
    kept = mesh.care.blocks()[-1].entry.metadata["not_taken"]
    assert kept == {"tags": ["spam"], "metadata": {"cup": "blue"}}


def test_what_is_made_from_a_less_trusted_memory_adds_nothing(mesh):
    source = mesh.view(channel=Channel.MCP).add("somebody likes tea")
    first = mesh.add("tea is hot")
    again = mesh.add("tea is hot", tags=["spam"], derived_from=[id_of(source)])
    assert again.added == ()
    assert memory_of(mesh, first).tags == ()


def test_another_wording_of_the_same_claim_is_kept_in_the_block(mesh):
    claim = {"subject": "office", "predicate": "closes at", "value": "18:00"}
    first = mesh.add("The office closes at 18:00", claim=claim)
    again = mesh.add("At 18:00 the office shuts", claim=claim)
    assert again.merged_into == first.id
    assert said(again, "its wording stays 'The office closes at 18:00'")
    assert mesh.care.blocks()[-1].entry.metadata["not_taken"] == {
        "content": "At 18:00 the office shuts"
    }


def test_a_merge_with_new_tags_keeps_its_vector(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        mesh.add("tea is hot")
        mesh.add("tea is hot", tags=["kitchen"])
        assert [state.pending for state in mesh.stats().spaces] == [0]


def test_twins_of_one_batch_join_their_tags(mesh):
    items = [{"content": "tea is hot", "tags": [tag]} for tag in ("a", "b", "c")]
    first = mesh.add_many(items)[0]
    assert memory_of(mesh, first).tags == ("a", "b", "c")
    assert len(mesh.history(id_of(first))) == 1
    assert mesh.care.verify().ok


@pytest.mark.parametrize("again", [{"tags": ["b"]}, {"metadata": {"x": 2}}])
def test_a_repeated_key_says_what_it_did_not_change(mesh, again):
    mesh.add("tea is hot", {"x": 1}, tags=["a"], key="once")
    item = {"content": "tea is hot", "metadata": {"x": 1}, "tags": ["a"], "key": "once"}
    assert mesh.add_many([item])[0].reasons == ("this key was used before for the same text",)
    assert said(mesh.add_many([item | again])[0], "not changed", "use update")


def test_a_repeated_text_that_waits_says_so(mesh):
    view = mesh.view(channel=Channel.MCP)
    first = view.add("tea is hot", quarantine="not sure")
    again = view.add("tea is hot", quarantine="not sure", tags=["a"])
    assert (again.merged_into, again.for_review) == (first.id, (first.id,))
    assert said(again, "not changed: tags")
    (memory,) = mesh.review.waiting()
    assert memory.status is Status.QUARANTINED
