"""Score the privacy rules on the developer texts: counts only, so a half can stay unread.

    python tools/developer_score.py dev           add --show for the texts, dev only
    python tools/developer_score.py held_out

A secret counts as missed when four or more of its characters in a row are left, unless the text has
the same four outside of its secrets. A text without a secret counts as changed by any difference.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from memory_mesh.privacy import OPTIONAL, NamespaceRedactor, kinds  # noqa: E402
from tests.corpora.developer_texts import DeveloperText, developer_texts  # noqa: E402

RUN = 4  # as many characters in a row give a secret away
PLACEHOLDER = r"\[[A-Z][A-Z0-9_]*_[0-9a-f]{12}\]"
ALWAYS = NamespaceRedactor(bytes(32), "report")
WITH_OPTIONS = NamespaceRedactor(bytes(32), "report", kinds(tuple(OPTIONAL)))


class Counts(TypedDict):
    """What was found and changed in some texts."""

    texts: int
    secrets: int
    missed: int
    missed_by_kind: dict[str, int]
    clean_texts: int
    changed: int
    changed_by_kind: dict[str, int]
    lost_beside_a_secret: int


class Score(TypedDict):
    """The counts of the usual texts, and of those for the kinds on request."""

    always: Counts
    on_request: Counts
    changed_without_request: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one half."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", choices=("dev", "held_out"))
    parser.add_argument("--show", action="store_true", help="print the texts, of dev only")
    options = parser.parse_args(arguments)
    texts = developer_texts(options.half)
    print(json.dumps(score(texts), indent=2))
    if options.show and options.half == "dev":
        for text in texts:
            _show(text)
    return 0


def score(texts: Iterable[DeveloperText]) -> Score:
    """The counts of one half: as the rules are, and with the kinds that have to be asked for."""
    texts = tuple(texts)
    usual = [text for text in texts if not text.opt_in]
    asked = [text for text in texts if text.opt_in]
    return {
        "always": _counts(usual, ALWAYS),
        "on_request": _counts(asked, WITH_OPTIONS),
        "changed_without_request": sum(ALWAYS.text(text.text) != text.text for text in asked),
    }


def missed(text: DeveloperText, redactor: NamespaceRedactor) -> list[str]:
    """The secrets of a text of which something is left."""
    left = re.sub(PLACEHOLDER, "\0", redactor.text(text.text))
    outside = text.text
    for secret in sorted(text.secrets, key=len, reverse=True):
        outside = outside.replace(secret, "\0")
    return [
        secret
        for secret in text.secrets
        if any(run in left and run not in outside for run in _runs(secret))
    ]


def spoiled(text: DeveloperText, redactor: NamespaceRedactor) -> bool:
    """True if a text lost what it should keep: all of it, where it has no secret."""
    redacted = redactor.text(text.text)
    if not text.secrets:
        return redacted != text.text
    return any(kept not in redacted for kept in text.keeps)


def _counts(texts: Sequence[DeveloperText], redactor: NamespaceRedactor) -> Counts:
    planted = Counter[str]()
    misses = Counter[str]()
    for text in texts:
        planted[text.kind] += len(text.secrets)
        misses[text.kind] += len(missed(text, redactor))
    clean = [text for text in texts if not text.secrets]
    changed = Counter(text.kind for text in clean if spoiled(text, redactor))
    return {
        "texts": len(texts),
        "secrets": planted.total(),
        "missed": misses.total(),
        "missed_by_kind": {kind: count for kind, count in sorted(misses.items()) if count},
        "clean_texts": len(clean),
        "changed": changed.total(),
        "changed_by_kind": dict(sorted(changed.items())),
        "lost_beside_a_secret": sum(
            spoiled(text, redactor) for text in texts if text.secrets and text.keeps
        ),
    }


def _runs(secret: str) -> list[str]:
    size = min(RUN, len(secret))
    return [secret[at : at + size] for at in range(len(secret) - size + 1)]


def _show(text: DeveloperText) -> None:
    redactor = WITH_OPTIONS if text.opt_in else ALWAYS
    found = [f"missed {secret!r}" for secret in missed(text, redactor)]
    found += ["changed"] if spoiled(text, redactor) else []
    for what in found:
        print(f"{text.id} {what}: {redactor.text(text.text)!r}")


if __name__ == "__main__":
    sys.exit(main())
