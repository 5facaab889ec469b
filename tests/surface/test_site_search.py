"""What a newcomer types into the search of the site leads to the right page.

The index is the one that the site ships. It is ranked as lunr does in the browser: each section by
BM25 over stems, fields weighted by the boosts of the index, a page by its best section.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import Stemmer

from tests.surface.test_docs_site import build

QUESTIONS = {
    "how do I forget something": "how-to/forget/",
    "what leaves my machine": "what-leaves-my-machine/",
    "how does it scale": "scale/",
    "use it in a FastAPI app": "how-to/web-service/",
    "memory for Cursor": "reference/hosts/",
    "memory for Codex": "reference/hosts/",
    "can it read a PDF": "how-to/documents/",
    "back up the store every night": "how-to/backup-and-restore/",
    "keep several users apart": "how-to/multi-user/",
    "why was a memory not found": "explain/",
    "change the embedding model": "how-to/embedders/",
    "what does an error message mean": "reference/messages/",
}
SHOWN = 3  # results that a reader looks at
WANTED = 11  # of twelve
_STOP_WORDS = """
a about all also an and any are as at be but by can do does for from had has have how i if in
into is it its me my no not of on or our so than that the their them then there these they this
to us was we were what when where which who why will with you your
"""
STOP = frozenset(_STOP_WORDS.split())
K1, B = 1.2, 0.75  # lunr's
_stem = Stemmer.Stemmer("english").stemWord


@dataclass(frozen=True)
class Section:
    """A section of the index: where it is, and the stems of its fields."""

    page: str
    fields: dict[str, Counter[str]]
    boost: float


def stems(text: str) -> list[str]:
    """The words that search compares."""
    words = re.findall(r"\w+", re.sub(r"<[^>]+>", " ", text).lower())
    return [_stem(word) for word in words if word not in STOP]


class Index:
    """The search index of a built site."""

    def __init__(self, file: Path) -> None:
        """Read the file that the site ships."""
        read = json.loads(file.read_text(encoding="utf-8"))
        boosts = read["config"]["fields"]
        self.boosts = {name: float(boosts[name]["boost"]) for name in ("title", "text")}
        self.sections = [
            Section(
                entry["location"].partition("#")[0],
                {name: Counter(stems(entry[name])) for name in self.boosts},
                float(entry.get("boost", 1)),
            )
            for entry in read["docs"]
        ]
        self.lengths = {
            name: sum(each.fields[name].total() for each in self.sections) / len(self.sections)
            for name in self.boosts
        }
        self.holding = Counter(
            word for each in self.sections for word in set().union(*each.fields.values())
        )

    def pages(self, question: str) -> list[str]:
        """The pages, best first."""
        words = stems(question)
        best: dict[str, float] = defaultdict(float)
        for section in self.sections:
            best[section.page] = max(best[section.page], self._score(section, words))
        return sorted((page for page in best if best[page]), key=lambda page: -best[page])

    def _score(self, section: Section, words: Sequence[str]) -> float:
        return section.boost * sum(
            boost * self._idf(word) * self._often(section.fields[name], word, self.lengths[name])
            for name, boost in self.boosts.items()
            for word in words
        )

    def _idf(self, word: str) -> float:
        holding = self.holding[word]
        return math.log(1 + abs((len(self.sections) - holding + 0.5) / (holding + 0.5)))

    @staticmethod
    def _often(field: Counter[str], word: str, usual: float) -> float:
        count = field[word]
        return (K1 + 1) * count / (K1 * (1 - B + B * field.total() / usual) + count)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("site")
    search = {"lang": ["en"], "separator": r"[\s\-]+", "pipeline": ["stemmer"]}
    assert build(folder, plugins=["material/meta", {"material/search": search}]) == []
    return Index(folder / "site/search/search_index.json")


@pytest.mark.slow
def test_a_newcomer_finds_the_page_among_the_first_three(index: Index) -> None:
    found = {question: index.pages(question)[:SHOWN] for question in QUESTIONS}
    missed = {
        question: found[question]
        for question, page in QUESTIONS.items()
        if page not in found[question]
    }
    assert len(QUESTIONS) - len(missed) >= WANTED, missed


@pytest.mark.slow
def test_records_of_the_project_are_not_in_the_search(index: Index) -> None:
    pages = {section.page for section in index.sections}
    assert len(pages) > 30
    records = ("decisions/0", "spec/", "conformance/", "benchmarks/", "proof/")
    assert {page for page in pages if page.startswith(records)} == set()
