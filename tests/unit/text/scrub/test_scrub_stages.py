"""The six stages of RFC-0011 section 6.1, one after the other."""

import re
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.text.scrub import (
    IN_MESH,
    STANDALONE,
    Chunk,
    ScrubSettings,
    TextForm,
    chunks_of,
    scrub,
    tokens,
)
from memory_mesh.text.scrub.tokens import Piece, annotated, validated

NOW = datetime(2026, 1, 31, tzinfo=UTC)
CODE = "```python\nif a*b*c <  d:   \n    print('“x”')  # \u2026\n```"


def plain(text, **options):
    return scrub(text, IN_MESH, **options).plain


# --- 1: structural cleaning -----------------------------------------------------------------------


@pytest.mark.req("R-000-177")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("# The *big* plan\n\nDo it", "The big plan\nDo it"),
        ("Use **bold** and __two words__", "Use bold and two words"),
        ("# A\n\nrun `npm ci` now", "A\nrun npm ci now"),
        ("See [the page](https://a.b/c)", "See the page (https://a.b/c)"),
        ("# A\n\n![a chart](chart.png)", "A\na chart (chart.png)"),
        ("# A\n\n> quoted\n> words", "A\nquoted words"),
        ("# A\n\nof   many\t\tblanks", "A\nof many blanks"),
        ("# A\n\none\ntwo", "A\none two"),
        ("# A\n\nnot \\*this\\*", "A\nnot *this*"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2"),
        ("~~~\ncode  here\n~~~", "code  here"),
    ],
)
def test_markdown_is_read_without_its_syntax(text, read):
    assert plain(text) == read
    assert scrub(text, IN_MESH).content == text


@pytest.mark.req("R-000-177")
def test_scripts_and_styles_of_a_page_go():
    page = (
        "<html><head><style>p{color:red}</style><script>track('x')</script></head>"
        "<body><p>Hello</p><script>more()</script></body></html>"
    )
    scrubbed = scrub(page, IN_MESH)
    assert scrubbed.content == scrubbed.plain == "Hello"
    assert scrubbed.removed == ("style", "script", "script")


def test_lines_end_one_way_and_without_blanks():
    assert scrub("\r\n\r\none  \r\ntwo\t\r\rthree\n \n", IN_MESH).content == "one\ntwo\n\nthree"


def test_code_is_kept_to_the_byte():
    for form in (None, TextForm.MARKDOWN, TextForm.DOCUMENT):
        scrubbed = scrub(f"# A\n\n{CODE}", IN_MESH, form=form)
        assert scrubbed.content == f"# A\n\n{CODE}"
        assert scrubbed.plain == "A\n" + "\n".join(CODE.split("\n")[1:-1])


# --- 2: semantic filtering ------------------------------------------------------------------------

NOTICES = [
    "© 2024 Acme Inc.",
    "Copyright © 2019-2024 Acme and Sons. All rights reserved.",
    "Copyright 2024 Acme GmbH",
    "All rights reserved",
    "Home | Products | About us",
    "Home > Docs > Install",
    "Navigation:",
    "Menu",
    "Sidebar",
    "Last updated: 2024-03-01",
    "Cookie Policy",
    "Privacy Policy | Terms of Service | Contact",
    "Table of Contents",
    "Jump to section",
    "Skip to main content",
    "This site uses cookies to improve your experience. Accept all",
]


@pytest.mark.req("R-000-178")
@pytest.mark.parametrize("notice", NOTICES)
def test_boilerplate_is_left_out_of_documents_only(notice):
    page = f"Deploy on Monday.\n\n{notice}\n\nNever on Friday."
    scrubbed = scrub(page, IN_MESH, form=TextForm.DOCUMENT)
    assert scrubbed.content == "Deploy on Monday.\n\nNever on Friday."
    assert len(scrubbed.removed) == 1
    assert scrub(page, IN_MESH).content == page
    assert scrub(page, IN_MESH, form=TextForm.MARKDOWN).content == page


@pytest.mark.parametrize("notice", NOTICES)
@pytest.mark.parametrize("form", TextForm)
def test_the_last_text_is_never_taken(notice, form):
    assert scrub(notice, IN_MESH, form=form).content == notice


@pytest.mark.req("R-000-178")
def test_what_a_document_says_twice_is_kept_once():
    page = "Header of every page, page\n\none\n\nHeader of every page, page\n\ntwo\ntwo\nthree"
    scrubbed = scrub(page, IN_MESH, form=TextForm.DOCUMENT)
    assert scrubbed.content == "Header of every page, page\n\none\n\ntwo\nthree"
    assert scrubbed.removed == ("repetition", "repetition")
    assert scrub(page, IN_MESH, form=TextForm.TEXT).content == page


def test_short_answers_items_and_code_may_repeat():
    page = f"Fast?\n\nYes.\n\nSafe?\n\nYes.\n\n- no\n- no\n\n{CODE}\n\n{CODE}"
    assert scrub(page, IN_MESH, form=TextForm.DOCUMENT).content == page


@pytest.mark.req("R-000-178")
def test_a_line_of_signs_is_noise_by_the_ratio_that_is_set():
    page = "Real text here\n\n.:.:.:.:.:.a.:.:.:.\n\nmore text"
    assert scrub(page, IN_MESH, form=TextForm.DOCUMENT).content == "Real text here\n\nmore text"
    lenient = ScrubSettings(min_tokens=1, enforce_min_length=False, min_signal=0)
    assert scrub(page, lenient, form=TextForm.DOCUMENT).content == page


# --- 3: normalisation -----------------------------------------------------------------------------


@pytest.mark.req("R-000-179")
@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Title\n=====\n\ntext", "# Title\n\ntext"),
        ("Part\n---\n\ntext", "## Part\n\ntext"),
        ("##   Part ##\n\ntext", "## Part\n\ntext"),
        ("## About C#\n\ntext", "## About C#\n\ntext"),
        ("* one\n• two\n  * three", "- one\n- two\n  - three"),
        ("* 5 apples\n- 5 degrees\n+ more", "* 5 apples\n- 5 degrees\n+ more"),
        ("* marks a required field", "* marks a required field"),
        ("a\n\n***\n\nb", "a\n\n***\n\nb"),
        ("“quoted” – text…", "“quoted” – text…"),
        ("---\n* x: 1\n---\n\n* a\n* b", "---\n* x: 1\n---\n\n- a\n- b"),
    ],
)
def test_a_document_has_one_form_of_heading_and_bullet(text, content):
    assert scrub(text, IN_MESH, form=TextForm.DOCUMENT).content == content


@pytest.mark.req("R-000-179")
def test_what_is_embedded_has_plain_punctuation_outside_of_code():
    assert plain("“Don’t” – wait…") == '"Don\'t" - wait...'
    assert plain("It is `“x”` – not “x”") == 'It is `“x”` - not "x"'
    assert plain("# A\n\n`“x”` – “y”") == 'A\n“x” - "y"'


@pytest.mark.req("R-000-250")
def test_one_content_in_many_surfaces_is_embedded_as_one_text():
    surfaces = [
        '# Deploy\n\nNever on "Fridays" - see the *plan*.\n\n- run the tests\n- tag it',
        "Deploy\r\n======\r\n\r\nNever   on “Fridays” – see\r\nthe _whole_".replace(
            "_whole_", "*plan*."
        )
        + "\r\n\r\n* run the **tests**\r\n* tag it\r\n",
        (
            "<html><head><title>Deploy</title><style>p{}</style></head><body><h1>Deploy</h1>"
            "<p>Never on &quot;Fridays&quot; &ndash; see\n the <em>plan</em>.</p>"
            "<ul><li>run the <b>tests</b></li><li>tag it</li></ul></body></html>"
        ),
    ]
    read = {plain(surface) for surface in surfaces}
    assert read == {'Deploy\nNever on "Fridays" - see the plan.\n- run the tests\n- tag it'}


# --- 4: chunking ----------------------------------------------------------------------------------


@pytest.mark.req("R-000-180")
def test_a_heading_opens_a_chunk_and_names_its_section():
    text = "# Guide\n\nintro\n\n## Install\n\npip\n\n### Linux\n\napt\n\n## Use\n\nrun"
    found = [(chunk.section, chunk.text) for chunk in scrub(text, IN_MESH).chunks]
    assert found == [
        (("Guide",), "Guide\nintro"),
        (("Guide", "Install"), "Install\npip"),
        (("Guide", "Install", "Linux"), "Linux\napt"),
        (("Guide", "Use"), "Use\nrun"),
    ]


@pytest.mark.req("R-000-180")
def test_a_heading_stays_with_what_follows_it():
    chunks = scrub("# Guide\n\n## Install\n\npip install", IN_MESH).chunks
    assert [chunk.text for chunk in chunks] == ["Guide\nInstall\npip install"]
    assert chunks[0].section == ("Guide", "Install")


@pytest.mark.req("R-000-180", "R-000-181")
def test_a_long_text_is_cut_at_sentences_below_the_maximum():
    text = " ".join(f"Sentence number {at} tells a little." for at in range(800))
    chunks = scrub(text, IN_MESH).chunks
    assert len(chunks) > 5
    assert all(chunk.tokens <= 500 and chunk.text.endswith(".") for chunk in chunks)
    assert " ".join(chunk.text for chunk in chunks) == text


@pytest.mark.req("R-000-181")
def test_code_stays_whole_up_to_the_hard_maximum_and_is_cut_above():
    lines = [f"value_{at} = compute({at})" for at in range(400)]
    whole = "\n".join(["# Code", "", "```", *lines[:120], "```", "", "after"])
    chunks = scrub(whole, IN_MESH).chunks
    assert [chunk.text.count("\n") for chunk in chunks] == [120, 0]
    assert 500 < chunks[0].tokens <= 2_000
    cut = scrub("\n".join(["```", *lines, "```"]), IN_MESH).chunks
    assert len(cut) > 1
    assert all(chunk.tokens <= 500 for chunk in cut)
    assert "\n".join(chunk.text for chunk in cut) == "\n".join(lines)


@pytest.mark.parametrize(
    "text", ["A" * 30_000, "部" * 9_000, "👨‍👩‍👧‍👦" * 900, "x" * 17 + "1" * 9_000]
)
def test_a_text_without_blanks_is_cut_too_and_nothing_is_lost(text):
    chunks = scrub(text, IN_MESH).chunks
    assert all(chunk.tokens <= 500 for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == text


def test_a_chunk_is_not_cut_inside_a_character():
    chunks = scrub("👨‍👩‍👧‍👦" * 900, IN_MESH).chunks
    assert all(chunk.text.startswith("👨") and chunk.text.endswith("👦") for chunk in chunks)


def test_setting_one_limit_leaves_the_others():
    words = "word " * 4_000
    chunks = scrub(words, ScrubSettings(min_tokens=1)).chunks
    assert len(chunks) > 7
    assert all(chunk.tokens <= 500 for chunk in chunks)


def test_together_the_chunks_hold_every_line_that_says_something():
    text = (
        "---\ntitle: Plan\n---\n\n# Plan\n\n[ref]: https://a.b/ref\n\n- [x] one\n\n  inner text\n\n"
        "> quoted\n\n| a | b |\n|---|---|\n| c | d | extra |\n\n    indented code\n\n"
        + "> " * 25
        + "deep quote\n\n***\n\n<div>html</div>\n\nlast"
    )
    read = scrub(text, IN_MESH).plain
    said = re.findall(r"[A-Za-z]+", text)
    assert [word for word in said if word not in read] == []


# --- 5: metadata annotation -----------------------------------------------------------------------


@pytest.mark.req("R-000-182")
def test_a_chunk_says_source_section_hash_and_time():
    scrubbed = scrub("# Guide\n\nintro", IN_MESH, source="guide.md", at=NOW)
    assert scrubbed.chunks == (
        Chunk(
            text="Guide\nintro",
            start=0,
            stop=14,
            section=("Guide",),
            hash=sha256(b"Guide\nintro").hexdigest(),
            tokens=4,
            source="guide.md",
            at=NOW,
        ),
    )


def test_the_span_is_where_the_chunk_stands_in_the_content():
    scrubbed = scrub("\n\n# A\n\n**one**\n\n# B\n\ntwo\n", IN_MESH)
    spans = [scrubbed.content[chunk.start : chunk.stop] for chunk in scrubbed.chunks]
    assert spans == ["# A\n\n**one**", "# B\n\ntwo"]


# --- 6: validation --------------------------------------------------------------------------------


def chunks_with(*texts):
    return annotated([Piece(0, len(text), text) for text in texts])


@pytest.mark.req("R-000-183")
def test_empty_chunks_are_rejected():
    kept, refused = validated(chunks_with("", " \n", "word"), IN_MESH)
    assert [chunk.text for chunk in kept] == ["word"]
    assert refused == ["empty chunk", "empty chunk"]


@pytest.mark.req("R-000-183")
def test_a_chunk_below_the_minimum_is_rejected_where_that_is_enforced():
    chunks = chunks_with("too short", "this one has more than ten words in it, so it stays")
    kept, refused = validated(chunks, STANDALONE)
    assert [chunk.text[:4] for chunk in kept] == ["this"]
    assert refused == ["chunk below the minimum length"]
    assert len(validated(chunks, IN_MESH)[0]) == 2


@pytest.mark.req("R-000-183")
def test_a_chunk_above_the_hard_maximum_is_an_error():
    with pytest.raises(InvalidInput, match="hard maximum"):
        validated(chunks_with("word " * 2_001), IN_MESH)


@pytest.mark.req("R-000-184")
def test_on_its_own_the_scrubber_wants_ten_tokens():
    assert ScrubSettings() == STANDALONE
    assert STANDALONE.min_tokens == 10
    assert scrub("a b c d e f g h i").chunks == ()
    assert len(scrub("a b c d e f g h i j").chunks) == 1


@pytest.mark.req("R-000-184")
def test_a_section_that_is_too_short_joins_its_neighbour():
    text = "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree words here and a few more, up to ten"
    chunks = scrub(text).chunks
    assert [chunk.section for chunk in chunks] == [()]
    assert chunks[0].text.startswith("A\none\nB\ntwo\nC")


@pytest.mark.req("R-000-185")
@pytest.mark.parametrize("text", ["ok", "no", "5", "不", "👍", "Go"])
def test_in_the_mesh_short_memories_are_kept(text):
    assert (IN_MESH.enabled, IN_MESH.min_tokens, IN_MESH.enforce_min_length) == (True, 1, False)
    assert [chunk.text for chunk in scrub(text, IN_MESH).chunks] == [text]


@pytest.mark.req("R-000-181")
def test_the_limits_in_the_mesh_are_one_500_and_2000():
    assert (IN_MESH.min_tokens, IN_MESH.max_tokens, IN_MESH.hard_max_tokens) == (1, 500, 2_000)


@pytest.mark.parametrize(
    "limits",
    [
        ScrubSettings(max_tokens=10),
        ScrubSettings(min_tokens=600),
        ScrubSettings(max_tokens=3_000),
        ScrubSettings(min_tokens=-1),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits):
    with pytest.raises(InvalidInput, match="limits of a chunk"):
        scrub("text", limits)


def test_chunks_are_made_again_from_the_content():
    scrubbed = scrub("# A\n\n**one**\n\n# B\n\n" + "many words " * 900, IN_MESH)
    assert len(scrubbed.chunks) > 3
    assert chunks_of(scrubbed.content) == scrubbed.chunks
    assert all(tokens.count(chunk.text) == chunk.tokens for chunk in scrubbed.chunks)
