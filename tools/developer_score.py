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

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from memory_mesh.policy.privacy import OPTIONAL, Redactor, kinds  # noqa: E402
from tests.corpora.developer_texts import DeveloperText, developer_texts  # noqa: E402

RUN = 4  # as many characters in a row give a secret away
PLACEHOLDER = r"\[[A-Z][A-Z0-9_]*_[0-9a-f]{12}\]"
ALWAYS = Redactor(bytes(32), "report")
WITH_OPTIONS = Redactor(bytes(32), "report", kinds(tuple(OPTIONAL)))


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


def score(texts: Iterable[DeveloperText]) -> dict[str, object]:
    """The counts of one half: as the rules are, and with the kinds that have to be asked for."""
    texts = tuple(texts)
    usual = [text for text in texts if not text.opt_in]
    asked = [text for text in texts if text.opt_in]
    figures = _counts(usual, ALWAYS)
    unasked = sum(ALWAYS.text(text.text) != text.text for text in asked)
    return {
        **figures,
        "opt-in kinds": {**_counts(asked, WITH_OPTIONS), "changed without being asked": unasked},
    }


def missed(text: DeveloperText, redactor: Redactor) -> list[str]:
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


def spoiled(text: DeveloperText, redactor: Redactor) -> bool:
    """True if a text lost what it should keep: all of it, where it has no secret."""
    redacted = redactor.text(text.text)
    if not text.secrets:
        return redacted != text.text
    return any(kept not in redacted for kept in text.keeps)


def _counts(texts: Sequence[DeveloperText], redactor: Redactor) -> dict[str, object]:
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
        "missed by kind": {kind: count for kind, count in sorted(misses.items()) if count},
        "clean texts": len(clean),
        "changed": changed.total(),
        "changed by kind": dict(sorted(changed.items())),
        "lost beside a secret": sum(
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
