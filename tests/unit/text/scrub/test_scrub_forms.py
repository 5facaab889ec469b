"""Which form a text has; in doubt it is plain text and nothing happens to it."""

import pytest

from memory_mesh.text.scrub import IN_MESH, TextForm, form_of, scrub

PAGE = "<!DOCTYPE html>\n<html><body><h1>Title</h1><p>Text</p></body></html>"


@pytest.mark.parametrize(
    ("declared", "form"),
    [
        ("html", TextForm.HTML),
        (".HTM", TextForm.HTML),
        ("text/html", TextForm.HTML),
        ("md", TextForm.MARKDOWN),
        (".markdown", TextForm.MARKDOWN),
        ("txt", TextForm.TEXT),
        ("text/plain", TextForm.TEXT),
        ("document", TextForm.DOCUMENT),
        ("application/pdf", TextForm.DOCUMENT),
        ("global", TextForm.TEXT),
        (None, TextForm.TEXT),
    ],
)
def test_what_is_declared_counts_and_other_words_do_not(declared, form):
    assert form_of("a plain line", declared) is form


@pytest.mark.parametrize(
    "text",
    [
        PAGE,
        "\ufeff\n  <html lang='en'>\n<body>\n<p>x</p>\n</body>\n</html>\n",
        "<h1>Title</h1><p>One <b>bold</b> word</p>",
        "<div>\r\n  <ul>\r\n    <li>one</li>\r\n  </ul>\r\n</div>",
        "Forwarded:\n<p>one</p>\n<p>two</p>\n<p>three</p>",
    ],
)
def test_pages_and_parts_of_pages_are_html(text):
    assert form_of(text) is TextForm.HTML
    assert form_of(text, "document") is TextForm.HTML


@pytest.mark.parametrize(
    "text",
    [
        "vector<int> and List<String> x = a<b>c",
        "Use <p>, </p>, <div>, </div>, <ul> and </ul>",
        "Put it between <body> and </body>",
        "<!DOCTYPE html> must be the first line",
        "<div>hello</div>",
        "export const A = () => (\n  <div>\n    <p>{{x}}</p>\n    <ul><li>y</li></ul>\n  </div>\n)",
        "<template>\n<div>\n<p>Hello</p>\n</div>\n</template>\n<script>\nexport {}\n</script>",
        "<script>\nlet x = 1\n</script>\n<main>\n<p>one</p>\n<p>two</p>\n</main>",
        "a < b and c > d",
        "2**10 and src/**/*.py",
        "- 5 degrees",
        "> 5 retries",
        "arr[i](x)",
        "one line\nand another",
    ],
)
def test_a_tag_or_a_sign_alone_is_plain_text(text):
    assert form_of(text) is TextForm.TEXT
    assert scrub(text, IN_MESH).content == text


@pytest.mark.parametrize(
    "text",
    [
        "# Title",
        "Title\n=====\n\ntext",
        "a\n\n## Part\n\nb",
        "- one\n- two",
        "* one\n+ two",
        "```\ncode\n```",
        "a | b\n--- | ---\n1 | 2",
        "**Never** on Fridays",
        "See [the page](https://example.org)",
        "# A page\n\n<div>\n<p>one</p>\n<p>two</p>\n</div>",
        "In code:\n\n```html\n<div><p>one</p><p>two</p></div>\n```",
    ],
)
def test_structure_makes_markdown(text):
    assert form_of(text) is TextForm.MARKDOWN
    assert scrub(text, IN_MESH).content == text


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n ", "\u3000"])
def test_nothing_gives_nothing(text):
    for form in (None, *TextForm):
        assert scrub(text, IN_MESH, form=form).content == ""
        assert scrub(text, IN_MESH, form=form).chunks == ()
