"""Which document is which memory: by the memory it names, its title, its text, or what is left."""

from memory_mesh.formats.memory_file import MemoryFile, append, parse
from memory_mesh.mirror.match_documents import groups, moved, pair, rewritten, title_key
from memory_mesh.mirror.state import MirroredDocument


def found(path, *documents):
    text = ""
    for document in documents:
        text = append(text, document)
    return groups(path, parse(text).documents)


def held(group, memory):
    return MirroredDocument(memory, group.path, group.title, group.doc, group.body)


def document(title, body="Some text.", **more):
    return MemoryFile(title, body=body, **more)


def test_the_last_document_of_a_title_counts():
    (group,) = found("a.md", document("The Port", "old"), document("the  port", "new"))
    assert group.document.body == "new"
    assert len(group.documents) == 2


def test_documents_of_one_memory_belong_together_whatever_their_titles():
    one, two = document("A", memory_id="mem_1"), document("B", memory_id="mem_1")
    assert len(found("a.md", one, two)) == 1


def test_a_document_is_known_by_its_title_when_its_text_changed():
    (old,) = found("a.md", document("The port", "8080"))
    (new,) = found("a.md", document("The port", "9090"))
    assert pair([new], [held(old, "mem_1")]).known[0][1].memory == "mem_1"


def test_a_new_title_alone_is_no_new_memory():
    old = found("a.md", document("One", "first"), document("Two", "second"))
    new = found("a.md", document("Uno", "first"), document("Two", "second"))
    paired = pair(new, [held(old[0], "mem_1"), held(old[1], "mem_2")])
    assert {known.memory: group.document.title for group, known in paired.known} == {
        "mem_1": "Uno",
        "mem_2": "Two",
    }


def test_one_document_and_one_memory_that_are_left_belong_together():
    (old,) = found("a.md", document("One", "first"))
    (new,) = found("a.md", document("Another", "rewritten"))
    left = pair([new], [held(old, "mem_1")])
    assert not left.known
    assert rewritten(left.new, left.missing, {"a.md"}).known
    assert not rewritten(left.new, left.missing, set()).known


def test_a_copy_of_a_document_is_a_document_of_its_own():
    (old,) = found("a.md", document("One", memory_id="mem_1"))
    (copy,) = found("b.md", document("One", memory_id="mem_1"))
    assert pair([copy], []).new == [copy]
    assert moved([copy], [held(old, "mem_1")]).known[0][0].path == "b.md"


def test_a_moved_document_is_found_by_its_text():
    (old,) = found("a.md", document("One", "the very text"))
    (new,) = found("b/c.md", document("Renamed", "the very text"))
    across = moved([new], [held(old, "mem_1")])
    assert across.known
    assert across.missing == []


def test_titles_are_compared_without_case_and_spacing():
    assert title_key("  The   PORT ") == title_key("the port")
