"""HTML becomes Markdown that a person reads, and that is never taken for HTML again."""

import pytest

from memory_mesh.text.scrub import IN_MESH, TextForm, form_of, scrub


@pytest.mark.parametrize(
    ("html", "content"),
    [
        ("<h2>Part</h2><p>one<br>two</p>", "## Part\n\none\ntwo"),
        ("<title>Name</title><p>text</p>", "# Name\n\ntext"),
        ("<title>Name</title><h1>Head</h1><p>text</p>", "# Head\n\ntext"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol start=3><li>a</li><li><p>b</p><p>c</p></li></ol>", "3. a\n4. b\n\n   c"),
        ("<ul><li><pre>x\n y</pre></li></ul>", "- ```\n  x\n   y\n  ```"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n\n> b"),
        ("<pre><code>a  &lt; b\n  c</code></pre>", "```\na  < b\n  c\n```"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
        ("<p>use <code>a  b</code> and <kbd>`</kbd></p>", "use `a b` and `` ` ``"),
        (
            "<p>a <a href='https://x.y/z'>link</a>, <a href='/in'>here</a></p>",
            "a [link](https://x.y/z), here",
        ),
        ("<p><a href='https://x.y/z'>https://x.y/z</a></p>", "https://x.y/z"),
        ("<p>10<sup>6</sup> H<sub>2</sub>O 1<sup>st</sup></p>", "10^6 H2O 1st"),
        ("<p><del>old</del> <q>new</q> <img alt='a chart'></p>", '~~old~~ "new" a chart'),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1\\|2 | x y |",
        ),
        (
            "<table><tr><td>a<table><tr><td>b</td></tr></table>c</td></tr></table>",
            "a\n\n| b |\n| --- |\n\nc",
        ),
        ("<p>vector&lt;int&gt; &amp; a &lt; b</p>", "vector<int> & a < b"),
        ("<p>the &lt;p&gt; tag, <code>&lt;p&gt;</code></p>", "the \\<p> tag, `<p>`"),
        ("<p>```x</p><p>text</p>", "\\```x\n\ntext"),
        ("<svg><text>x</text></svg><noscript>y</noscript><template>z</template><p>a</p>", "a"),
        ("<!-- hidden --><p>a</p>", "a"),
        ("<nav><a>Home</a></nav><main><p>a</p></main>", "a"),
        ("<nav><a>Home</a></nav>", "Home"),
        ("no tags, a &lt; b", "no tags, a &lt; b"),
    ],
)
def test_a_page_becomes_markdown(html, content):
    scrubbed = scrub(html, IN_MESH, form=TextForm.HTML)
    assert scrubbed.content == content
    assert form_of(content) is not TextForm.HTML
    assert scrub(content, IN_MESH, form=TextForm.HTML).content == content


def test_a_page_about_html_keeps_what_it_says():
    said = "Write &lt;html&gt;&lt;body&gt;&lt;p&gt;x&lt;/p&gt;&lt;/body&gt;"
    page = f"<html><body><p>{said}</p></body></html>"
    once = scrub(page, IN_MESH)
    assert once.content == "Write \\<html>\\<body>\\<p>x\\</p>\\</body>"
    assert scrub(once.content, IN_MESH).chunks == once.chunks


@pytest.mark.parametrize("tag", ["div", "ul><li", "blockquote", "table><tr><td", "b", "pre", "sup"])
def test_no_nesting_is_too_deep(tag):
    page = f"<html><body>{f'<{tag}>' * 3_000}deep</body></html>"
    assert "deep" in scrub(page, IN_MESH).plain
