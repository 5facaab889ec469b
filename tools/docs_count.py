"""Count the pages and words of the documentation that a reader is led through.

What is looked up does not count: reference, decisions, the requirement list, conformance.

    python tools/docs_count.py    print both counts; exit 1 above 45 pages or 45,000 words
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
LOOKED_UP = {"reference", "decisions", "spec", "conformance.md"}
MOST_PAGES, MOST_WORDS = 45, 45_000


def main(docs: Path = DOCS) -> int:
    """Print the counts, and fail above the ceiling."""
    counted = {
        page: len(page.read_text(encoding="utf-8").split())
        for page in sorted(docs.rglob("*.md"))
        if page.relative_to(docs).parts[0] not in LOOKED_UP
    }
    words = sum(counted.values())
    print(f"docs: {len(counted)} pages, {words:,} words (without reference and records)")
    if len(counted) <= MOST_PAGES and words <= MOST_WORDS:
        return 0
    longest = sorted(counted, key=lambda page: -counted[page])[:5]
    named = ", ".join(f"{page.relative_to(docs)} {counted[page]:,}" for page in longest)
    print(
        f"At most {MOST_PAGES} pages and {MOST_WORDS:,} words: merge or shorten pages, or move "
        f"what is looked up to docs/reference. The longest: {named}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
