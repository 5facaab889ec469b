"""What stands between `<private>` tags is taken out, however the tags are written."""

import pytest

from memory_mesh.formats.private import split_private, without_private


@pytest.mark.parametrize(
    ("text", "public", "private"),
    [
        ("a <private>b</private> c", "a c", "b"),
        ("a <PRIVATE>b\nb</Private> c", "a c", "b b"),
        ("a <private>b", "a", "b"),
        ("a <private>1<private>2</private>3</private> c", "a c", "1 2 3"),
        ("a <private>1<private>2</private>3", "a", "1 2 3"),
        ("a <private>b</private> c <private>d</private> e", "a c e", "b d"),
        ("a < private >b</ private > c", "a c", "b"),
        ('a <private why="x">b</private> c', "a c", "b"),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a c", "b"),
        ("a \uff1cprivate\uff1eb\uff1c/private\uff1e c", "a c", "b"),
        ("a <private/> b", "a", "b"),
        ("a <private", "a", ""),
        ("a <private b\nc", "a", "b c"),
        ("a </private> c", "a c", ""),
        ("a `<private>` b `</private>` c", "a ` ` c", "` b `"),
    ],
)
def test_the_private_part_is_taken_out(text: str, public: str, private: str) -> None:
    shown, hidden = split_private(text)
    assert (" ".join(shown.split()), " ".join(hidden.split())) == (public, private)


@pytest.mark.parametrize(
    "text",
    ["no tag", "what does `<private>` do?", "<private-key>", "<privateer>", "if a < private then"],
)
def test_what_is_no_tag_hides_nothing(text: str) -> None:
    assert without_private(text) == text


@pytest.mark.parametrize("piece", ["<private ", "<private>", "< ", "`<private>`", "</private>"])
def test_the_work_grows_with_the_text_and_not_faster(piece: str) -> None:
    shown, hidden = split_private(piece * 40_000 + "x")
    assert len(shown) + len(hidden) <= 2 * len(piece) * 40_000
