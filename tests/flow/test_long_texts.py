"""Long texts: one memory, a vector per chunk, and an answer that says which part it is in."""

import pytest

from memory_mesh.model import Channel, SourceKind
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.receipts import memory_of

FILLER = "The weather report of that day says nothing about computers or people. " * 40
LONG = f"""# Handbook

## Gardening

Tomatoes want sun and water in the morning. {FILLER}

## Deployment

The production database password is rotated every ninety days by the platform team. {FILLER}

```python
def rotate(vector<int> keys):
    return [key for key in keys if key != "old"]
```

## Cooking

Bread needs flour, salt and a night of patience. {FILLER}
"""


@pytest.mark.req("R-000-180")
def test_the_answer_says_which_part_it_is_in(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        stored = mesh.add(LONG)
        short = mesh.add("Tomatoes are red")
        assert "def rotate(vector<int> keys):" in stored.content
        assert "# Handbook" in stored.content
        assert mesh.stats().spaces[0].vectors > 3
        for question, wanted in (
            ("how often do we change the database credentials", "ninety days"),
            ("baking at home", "flour, salt"),
        ):
            hit = next(hit for hit in mesh.search(question, min_relevance=0) if hit.id == stored.id)
            assert wanted in hit.excerpt
            assert len(hit.excerpt) < len(stored.content) / 2
        hit = next(hit for hit in mesh.search("red tomatoes") if hit.id == short.id)
        assert (hit.span, hit.excerpt) == (None, "Tomatoes are red")


def test_without_a_model_the_words_tell_the_part(mesh):
    stored = mesh.add(LONG)
    (hit,) = mesh.search("flour and salt")
    assert (hit.id, "flour, salt" in hit.excerpt) == (stored.id, True)
    assert "ninety days" not in hit.excerpt


def test_a_text_stored_without_a_model_gets_the_same_parts_later(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "late") as without:
        without.add(LONG)
    with MemoryMesh(db_dir=tmp_path / "late", custom_embedder=real_embedder) as late:
        late.care.upkeep()
        excerpt = late.search("baking at home", min_relevance=0)[0].excerpt
        vectors = late.stats().spaces[0].vectors
    with MemoryMesh(db_dir=tmp_path / "now", custom_embedder=real_embedder) as now:
        now.add(LONG)
        assert now.search("baking at home", min_relevance=0)[0].excerpt == excerpt
        assert now.stats().spaces[0].vectors == vectors


def test_a_page_is_stored_as_readable_text(mesh):
    head = "<html><head><script>alert(1)</script></head>"
    page = f"{head}<body><h1>Title</h1><p>Use <b>tea</b>.</p></body></html>"
    stored = mesh.add(page, {"type": "html"})
    assert "alert" not in stored.content
    assert "Title" in stored.content
    assert "tea" in stored.content
    assert "<p>" not in stored.content


def test_a_channel_s_ceiling_lowers_what_was_stated(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.WEB) as web:
        stored = web.add("the page says so", source_kind="user_explicit")
        assert memory_of(web, stored).source.kind is SourceKind.DOCUMENT


def test_a_text_that_add_refuses_is_not_put_in_by_an_update(mesh):
    stored = mesh.add("The office closes at six.").id
    with pytest.raises(InvalidInput, match="100001 characters; the limit is 100000"):
        mesh.update(stored, "x" * 100_001)
    assert mesh.get(stored).text == "The office closes at six."
