"""Write the generated pages of docs: the reference, and the guarantees with their figures.

python -m tools.reference            write them
python -m tools.reference --check    exit 1 when a page is not what the code makes
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.reference import command_line, guarantees, python_api, tables

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs"


def main() -> int:
    """Write the pages, or with --check compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    checking, stale = parser.parse_args().check, 0
    made = dict(pages())
    for name, text in made.items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if checking:
            print(f"docs/{name} is out of date: run `just generate`", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
    if not stale:
        print(f"the {len(made)} generated pages of docs are what the code makes")
    return 1 if checking and stale else 0


def pages() -> Iterator[tuple[str, str]]:
    """The generated pages: path under docs, and text."""
    yield "reference/guarantees.md", guarantees.page()
    yield "reference/cli.md", command_line.page()
    yield "reference/settings.md", tables.settings_page()
    yield "reference/errors.md", tables.errors_page()
    for name, text in python_api.pages():
        yield f"reference/python/{name}", text


if __name__ == "__main__":
    sys.exit(main())
