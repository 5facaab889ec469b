"""The front page: short, and its pictures are what the code draws and the commands print."""

from pathlib import Path

from tools import draw_pictures, terminal_picture

ROOT = Path(__file__).parent.parent.parent


def test_the_readme_has_at_most_150_lines():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_drawings_are_what_the_tool_draws():
    for name, picture in draw_pictures.DRAWN.items():
        file = draw_pictures.PICTURES / f"{name}.svg"
        assert file.read_text(encoding="utf-8") == draw_pictures.drawn(*picture)


def test_the_picture_of_the_terminal_shows_what_the_commands_print():
    shown = terminal_picture.PICTURE.read_text(encoding="utf-8")
    today = terminal_picture.drawn(terminal_picture.session(), terminal_picture.TITLE)
    assert terminal_picture.words_of(shown) == terminal_picture.words_of(today)


def test_a_line_longer_than_the_terminal_goes_on_in_the_next_row():
    line = terminal_picture.pieces("\x1b[1m" + "a" * 70 + "\x1b[0m" + "b" * 20)
    rows = terminal_picture.wrapped(line)
    assert [sum(len(piece.text) for piece in row) for row in rows] == [78, 12]
    assert [piece.bold for piece in rows[0]] == [True, False]
