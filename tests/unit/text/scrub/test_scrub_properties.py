"""What holds for every text: equal in, equal out; twice is once; spans and limits are kept."""

import re

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text.scrub import IN_MESH, ScrubSettings, TextForm, chunks_of, form_of, scrub

SMALL = ScrubSettings(min_tokens=1, max_tokens=40, hard_max_tokens=120, enforce_min_length=False)

VOCABULARY = (
    "deploy never 不要 部署。 بيانات لا नहीं 👨‍👩‍👧‍👦 ❤️ don't “quoted” `code` vector<int> a<b>c "
    "2**10 x*y*z **bold** *em* _em_ __init__ [link](https://a.b/c) ![alt](pic.png) <div> </p> "
    "&amp; &lt;p&gt; \\* C:\\_x -5 > 3 10–20 © 2024 # ## ~~ ``` ` | --- https://a.b/c_d naïve "
    "é… ½ $5 [x]: {{y}} 回 <!--"
)
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
LINES = (
    SENTENCES | st.text(alphabet="ab #*-`<>/p\\[]()|_~=+.1 \t", max_size=24) | st.text(max_size=12)
)


HEADINGS = st.builds(lambda level, text: "#" * level + " " + text, st.integers(1, 6), SENTENCES)
UNDERLINED = st.builds(lambda text, sign: f"{text}\n{sign * 5}", SENTENCES, st.sampled_from("=-"))
ITEMS = st.lists(
    st.builds(
        lambda mark, text: f"{mark} {text}", st.sampled_from(["-", "*", "+", "•", "1."]), LINES
    ),
    min_size=1,
    max_size=4,
).map("\n".join)
CODE = st.builds(
    lambda fence, info, lines: "\n".join([f"{fence}{info}", *lines, fence]),
    st.sampled_from(["```", "~~~", "````"]),
    st.sampled_from(["", "python", "sh title='x y'"]),
    st.lists(LINES, max_size=4),
)
TABLES = st.builds(
    lambda one, two: f"| {one} | b |\n|---|---|\n| {two} | d |", SENTENCES, SENTENCES
)
QUOTES = st.lists(LINES, min_size=1, max_size=3).map(
    lambda lines: "\n".join(f"> {line}" for line in lines)
)
PARAGRAPHS = st.lists(LINES, min_size=1, max_size=4).map("\n".join)
LONG = st.builds(lambda text, times: (text + " ") * times, SENTENCES, st.integers(5, 40))
BOILERPLATE = st.sampled_from(
    [
        "Home | About | Contact",
        "© 2024 Acme Inc.",
        "All rights reserved.",
        "Cookie Policy",
        "Menu:",
        "====*====",
    ]
)
BLOCKS = HEADINGS | UNDERLINED | ITEMS | CODE | TABLES | QUOTES | PARAGRAPHS | LONG | BOILERPLATE
MARKDOWN = st.lists(BLOCKS, min_size=1, max_size=6).map("\n\n".join) | st.lists(
    BLOCKS, max_size=4
).map("\n".join)

TAG_NAMES = "p div h1 h2 ul ol li pre code blockquote table tr td b a sup script style nav title"
TAGS = st.sampled_from(TAG_NAMES.split())


def element(inside):
    return st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        TAGS,
        st.lists(inside, min_size=1, max_size=4),
    )


HTML = st.lists(st.recursive(LINES, element, max_leaves=12), min_size=1, max_size=4).map(
    lambda parts: f"<html><body>{''.join(parts)}</body></html>"
) | st.lists(element(LINES), min_size=1, max_size=5).map("".join)
TEXTS = MARKDOWN | HTML | PARAGRAPHS | st.text(max_size=80) | st.builds(str.__add__, MARKDOWN, HTML)
FORMS = st.sampled_from([None, *TextForm])
LIMITS = st.sampled_from([IN_MESH, SMALL, ScrubSettings()])


@pytest.mark.req("R-000-175")
@given(TEXTS, FORMS, LIMITS)
def test_equal_texts_come_out_equal(text, form, limits):
    assert scrub(text, limits, form=form) == scrub(text, limits, form=form)


@pytest.mark.req("R-000-176")
@given(TEXTS, FORMS, LIMITS)
def test_scrubbing_twice_changes_nothing(text, form, limits):
    once = scrub(text, limits, form=form)
    twice = scrub(once.content, limits, form=form)
    assert (twice.content, twice.chunks) == (once.content, once.chunks)


@pytest.mark.req("R-000-176")
@given(HTML | MARKDOWN, st.sampled_from([None, TextForm.HTML, TextForm.DOCUMENT]))
def test_what_was_a_page_is_no_page_any_more(text, form):
    once = scrub(text, IN_MESH, form=form or form_of(text))
    if form is TextForm.DOCUMENT and form_of(text) is TextForm.HTML:
        return  # stated to be no page, so it stays one
    twice = scrub(once.content, IN_MESH)
    assert (twice.content, twice.chunks) == (once.content, once.chunks)


@given(TEXTS, FORMS)
def test_the_chunks_follow_from_the_content_alone(text, form):
    scrubbed = scrub(text, IN_MESH, form=form)
    assert chunks_of(scrubbed.content) == scrubbed.chunks


@given(TEXTS | TEXTS.map(lambda text: text.replace("\n", "\r")))
def test_a_text_that_was_never_scrubbed_has_chunks_too(text):
    chunks = chunks_of(text)
    assert bool(chunks) or not re.search(r"\w{3}", text)
    assert all(text[chunk.start : chunk.stop].strip() for chunk in chunks)


@given(TEXTS, FORMS, LIMITS)
def test_spans_are_in_the_content_in_order_and_apart(text, form, limits):
    scrubbed = scrub(text, limits, form=form)
    last = 0
    for chunk in scrubbed.chunks:
        assert last <= chunk.start < chunk.stop <= len(scrubbed.content)
        assert scrubbed.content[chunk.start : chunk.stop].strip()
        last = chunk.stop


@pytest.mark.req("R-000-181", "R-000-183")
@given(TEXTS, FORMS, LIMITS)
def test_no_chunk_is_empty_or_passes_a_limit(text, form, limits):
    for chunk in scrub(text, limits, form=form).chunks:
        assert chunk.text.strip()
        assert chunk.tokens <= limits.hard_max_tokens
        if limits.min_tokens <= 1 and not re.search(r"(?i)```|~~~|    |\t|---|<pre", text):
            assert chunk.tokens <= limits.max_tokens
        if limits.enforce_min_length:
            assert chunk.tokens >= limits.min_tokens


@given(TEXTS.filter(lambda text: form_of(text) is not TextForm.HTML))
def test_every_word_of_a_text_is_in_a_chunk(text):
    scrubbed = scrub(text, IN_MESH)
    fences = re.compile(r"(?m)^[ \t>*+\d.-]*(?:```|~~~).*$")
    words = re.findall(r"[^\W_]{3,}", fences.sub("", scrubbed.content))
    assert [word for word in words if word not in scrubbed.plain] == []


@given(PARAGRAPHS | st.text(max_size=80))
def test_plain_text_keeps_every_character_but_blanks_at_its_edges(text):
    content = scrub(text, IN_MESH, form=TextForm.TEXT).content
    assert re.sub(r"\s", "", content) == re.sub(r"\s", "", text)


@given(TEXTS, FORMS)
def test_an_error_of_the_redaction_comes_out_and_nothing_else(text, form):
    class Broken(Exception): ...

    def broken(_):
        raise Broken

    with pytest.raises(Broken):
        scrub(text, IN_MESH, form=form, redact=broken)


@given(
    MARKDOWN | PARAGRAPHS,
    st.sampled_from(["s{}ecret", "s**{}ecret**", "_se_{}cret", "sec\\ret{}", "`sec`ret{}"]),
)
def test_what_redaction_hides_is_in_no_chunk_and_not_in_the_content(text, disguise):
    def redact(given):
        return given.replace("secret", "[hidden]")

    scrubbed = scrub(f"{text}\n\n# x\n\n{disguise.format('')} {text}", IN_MESH, redact=redact)
    assert "secret" not in scrubbed.content
    assert "secret" not in scrubbed.plain
    assert chunks_of(scrubbed.content) == scrubbed.chunks
