"""Sentences as developers type them: what they state for good, and what passes."""

from pathlib import Path
from typing import Literal

Sort = Literal["person", "project", "passing"]

FOLDER = Path(__file__).parent


def sentences(sort: Sort) -> list[str]:
    """Statements of the person, or of the project, or what is not to be kept."""
    return (FOLDER / f"statements_{sort}.txt").read_text(encoding="utf-8").splitlines()
