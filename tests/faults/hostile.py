"""Texts and names made to break a reader of YAML, Markdown or paths."""
# ruff: noqa: E501 - tables read best when they are dense

import random
from collections.abc import Callable

TEXTS = (
    "", " ", "\n", "\n\n", "\t", "\r", "\r\n", "\x00", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\x85",
    "\xa0", "\u2028", "\u2029", "\ufeff", "\ufeff---\n", "\uffff", "\ufffe", "\U0001f600", "\u202e",
    "---", "---\n", "\n---\n", "\n\n---\n\n", "---\n---\n", "--- ", "---\t", "----", "...", "...\n",
    "---\ntitle: x\n---\n", "\n\n---\n\n---\ntitle: x\n---\n\nbody", "---\ntitle: x", "---\n\n---",
    "---\r\ntitle: x\r\n---\r\n", "---\ntitle: [\n---\n", "---\n- a\n---\n", "---\n{a: 1}\n---\nx",
    "---\ntitle: x\nbodyEnd: 01234567\n---\n\na", "<!-- end of 01234567 -->",
    "---\ntitle: x\nbodyEnd: 01234567\n---\n\na\n<!-- end of 01234567 -->\n\n---\n\n---\ntitle: y\n---",
    "```", "```\n", "~~~", "````\n```\n", "```ts\ncode", "```\n\n---\n\n---\ntitle: x\n---\n```\n",
    "```\n\n---\n\n---\ntitle: x\n---\n\nunclosed", "   ```\nx\n   ```", "`` ` ``", "<!--", "-->",
    "yes", "no", "on", "off", "true", "False", "NULL", "null", "~", "y", "n", "nan", ".nan", ".inf",
    "-.inf", "0", "007", "0x1F", "0o17", "0b1", "1_000", "1e5", "1E400", "+1", "-1", "1.", ".5",
    "12:30:45", "190:20:30", "2026-01-23", "2026-01-23T10:30:00Z", "2026-01-23 10:30:00", "=", "<<",
    "a: b", "a:", ": a", ":", "a : b", "key: [x", "a #b", "#a", "# a", "- a", "-", "? a", "?", "| a",
    "|", ">", ">-", "|+\n a", "&a", "*a", "&a x", "!t", "!!python/object/apply:os.system ['id']",
    "!!str", "%YAML 1.1", "%", "@a", "`a`", "'", "''", "'a", '"', '""', '"a', '"\\', "\\", "\\n",
    "\\x41", "\\ud800", "[", "]", "{", "}", "[a, b]", "{a: b}", ",", ", a", "a, b", "[[a]]", "[[a|b]]",
    "\\---", "\\\\", "a\\", " a", "a ", "  a\n b", "a\n\n\nb", "a\n", "\na", "a\r\nb\nc\rd", "a\tb",
    "# a\n---\nb", "a\n---\nb", "a\n===\n", "* * *", "- - -", "___", "<script>", "{{x}}", "${x}",
    "$(id)", "`id`", "%s%n", "{0}", "\u0000\u0001", "\u0301", "e\u0301", "\u200b", "\u200d", "\xad",
    "\U000e0001", "\U0010ffff", "İ", "ß", "ﬀ", "①", "Ω", "日本語", "العربية", "हिन्दी", "🏳️‍🌈",
    "a" * 5_000, "é" * 3_000, "\n" * 500, "---\n" * 300, "- " * 300, "[" * 300, "{a: " * 300,
    "&a " * 100, "`" * 1_000, "#" * 1_000, "\\" * 999, '"' * 999, "'" * 999, "\u2028" * 99, "a: " * 99,
)  # fmt: skip
TITLES = (
    "", " ", ".", "..", "...", "/", "//", "\\", "../", "..\\", "../../etc/passwd", "/etc/passwd",
    "~", "~root", "~/x", "C:\\Windows", "C:", "c:x", "\\\\server\\share", "file:///etc/passwd", "a/b",
    "a/../b", "a/./b", "a//b", "./a", "a/", "..a", "a..", "a.", "a ", " a", ".hidden", ".git",
    ".git/config", ".obsidian/app.json", "memories/../../x", "x/../../y", "%2e%2e%2f", "..%2f..%2f",
    "%00", "a\x00b", "a\nb", "a\rb", "\n", "\t", "\x1b]0;x\x07", "a\x7f", "con", "CON", "con.md", "prn",
    "aux", "AUX.txt", "nul", "NUL ", "com1", "COM¹", "lpt9", "Lpt1.x", "clock$", "conin$", "con .md",
    "a:b", "a:$DATA", "a::$INDEX", "a|b", "a*b", "a?b", "<a>", '"a"', "'a'", "`id`", "$(id)", "$HOME",
    "; rm -rf /", "&& x", "| x", "-rf", "--help", "-", "--", "---", "- a", "#a", "@a", "!a", "=a",
    "．．／x", "‥/x", "…", "∕etc", "⁄etc", "／etc／passwd", "＼x", "․․/x", "．", "\u2024\u2024", "\ufe52",
    "\u202egnp.exe", "a\u200bb", "\u200b", "\ufeff", "\u2028", "a\u2029b", "\u0301", "e\u0301", "é", "É",
    "ß", "İ", "ı", "ﬁ", "①②", "日本語のメモ", "Привет мир", "العربية", "हिन्दी", "🏳️‍🌈", "😀", "Ω", "\U0010ffff",
    "a" * 80, "a" * 81, "a" * 255, "a" * 5_000, "é" * 300, "日" * 300, "a-" * 300, "-" * 300, "." * 300,
    "../" * 100, "a/" * 100, "a b " * 100, "OAuth2 Integration Was Too Broad", "What's new?", "C++",
    "C#", "100 %", "a.md", "a.md.md", "README", "readme.MD", "index", "A", "a", "ａ", "memory-",
)  # fmt: skip


def hostile_texts(count: int, seed: int) -> list[str]:
    """That many different texts: a fixed list, and combinations of it."""
    return _combined(TEXTS, count, seed)


def hostile_titles(count: int, seed: int) -> list[str]:
    """That many different titles, most of them paths that lead elsewhere."""
    return _combined(TITLES, count, seed)


def _combined(listed: tuple[str, ...], count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    joins: list[Callable[[str, str], str]] = [
        lambda one, other: one + other,
        lambda one, other: f"{one}\n{other}",
        lambda one, other: f"{one}/{other}",
        lambda one, other: f"{one} {other} {one}",
    ]
    found = dict.fromkeys(listed)
    while len(found) < count:
        found[rng.choice(joins)(rng.choice(listed), rng.choice(listed))] = None
    texts = list(found)
    if count < len(texts):  # a sample that takes from the whole list
        texts = rng.sample(texts, count)
    return texts
