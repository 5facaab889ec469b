"""The scrubber as a whole: private data, what it costs, and being switched off."""

import re
import subprocess
import sys

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.text.scrub import (
    IN_MESH,
    Scrubbed,
    ScrubSettings,
    TextForm,
    chunks_of,
    form_of,
    scrub,
)
from tests.effort import effort

HEAVY = ("markdown_it", "selectolax", "semantic_text_splitter")


def hide_emails(text):
    return re.sub(r"[\w.]+@[\w.]+\w", "[EMAIL]", text)


@pytest.mark.parametrize(
    "text",
    [
        "Email bob@example.com about the privacy policy",
        "# Mail\n\nbob@**example**.com",
        "# Mail\n\n- `bob`@example.com\n- other",
        "# Mail\n\nbob\\_x@example.com",
        "<html><body><p>bob@<b>example</b>.com</p></body></html>",
        "<html><body><p>bob&#64;example.com</p></body></html>",
        "© 2024 bob@example.com",
    ],
)
@pytest.mark.parametrize("declared", [None, "document", "html"])
def test_private_data_is_hidden_before_and_after_the_markup_is_gone(text, declared):
    form = form_of(text, declared)
    scrubbed = scrub(text, IN_MESH, form=form, redact=hide_emails)
    for shown in (scrubbed.content, scrubbed.plain, *scrubbed.removed):
        assert "@example" not in hide_emails(shown) == shown
        assert "bob@" not in shown
    assert "[EMAIL]" in scrubbed.plain
    assert chunks_of(scrubbed.content) == scrubbed.chunks


def test_only_the_paragraph_that_hides_something_loses_its_markup():
    text = "# Mail\n\n**Write** to bob@**example**.com\n\n- *never* call\n\n```\na  = 1\n```"
    scrubbed = scrub(text, IN_MESH, redact=hide_emails)
    assert scrubbed.content == text.replace("**Write** to bob@**example**.com", "Write to [EMAIL]")


def test_a_redaction_that_fails_late_lets_nothing_out():
    calls = []

    def fails_at_the_chunks(text):
        calls.append(text)
        if len(calls) > 1:
            raise RuntimeError
        return text

    with pytest.raises(RuntimeError):
        scrub("# A\n\n**one**", IN_MESH, redact=fails_at_the_chunks)


def test_a_redaction_that_never_settles_is_refused():
    with pytest.raises(InvalidInput, match="private data"):
        scrub("# A\n\n**one**", IN_MESH, redact=lambda text: f"{text}!")


def test_a_fact_is_looked_at_once():
    calls = []

    def counted(text):
        calls.append(text)
        return text

    scrub("The port is 8443", IN_MESH, redact=counted)
    assert calls == ["The port is 8443"]


def test_switched_off_it_cleans_nothing_but_still_hides_and_cuts():
    off = ScrubSettings(enabled=False, min_tokens=1, enforce_min_length=False)
    page = "<html><body><p>bob@example.com</p>\r\n</body></html>  "
    scrubbed = scrub(page, off, redact=hide_emails)
    assert scrubbed.content == page.replace("bob@example.com", "[EMAIL]")
    assert len(scrub("word " * 2_000, off).chunks) > 1


def test_the_plain_text_is_all_chunks():
    assert scrub("# A\n\none\n\n# B\n\ntwo", IN_MESH).plain == "A\none\nB\ntwo"
    assert Scrubbed("", ()).plain == ""


def test_plain_facts_load_no_parser():
    code = (
        "import sys; from memory_mesh.text.scrub import IN_MESH, chunks_of, scrub\n"
        "for text in ('Use `vector<int>` if a < 5', '不要部署', 'two\\nlines', 'a\\n\\nb <p> c'):\n"
        "    assert chunks_of(scrub(text, IN_MESH).content)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("The deploy of billing runs on port 8443 and must not use TLS 1.0", 0.2),
        ("# Deploy\n\nNever on **Friday**.\n\n- run the `tests`\n- tag it\n\n" * 16, 15),
    ],
    ids=["a fact", "a kilobyte of Markdown"],
)
def test_scrubbing_is_quick(text, most):
    scrub(text, IN_MESH)
    assert effort(lambda: [scrub(text, IN_MESH) for _ in range(20)]) / 20 < most


@pytest.mark.parametrize(
    "hostile",
    [
        "# x\n\n" + "[" * 20_000,
        "# x\n\n" + "![" * 10_000,
        "# x\n\n" + "[a](" * 5_000,
        "# x\n\n" + "*a _b " * 4_000,
        "# x\n\n" + "` `` ```a " * 2_000,
        "# x\n" + "> " * 10_000 + "x",
        "a\n" + " " * 20_000 + "b",
        "<p " * 7_000,
        "<html><body>" + "<ul><li>x" * 2_000,
        "home" + "|a" * 10_000,
        "# a\n" * 5_000,
    ],
    ids=lambda text: text[:12].strip(),
)
@pytest.mark.parametrize("form", [None, TextForm.DOCUMENT])
def test_no_text_is_slow(hostile, form):
    assert effort(lambda: scrub(hostile, IN_MESH, form=form)) < 1_000


def test_what_two_blocks_show_together_goes_and_both_stay_what_they_are():
    redactor = NamespaceRedactor(b"key" * 11, "default")
    code = "```python\nif x:\n\n    y = 1\n```"
    around = f"# Guide\n\n- **one**\n- two\n\n{code}\n\nPassword:\n\n```\n{{}}\n```"
    content = scrub(around.format("hunter22"), IN_MESH, redact=redactor.text).content
    placeholder = content.rpartition("[")[2].partition("]")[0]
    assert placeholder.startswith("SECRET_")
    assert content == around.format(f"[{placeholder}]")
