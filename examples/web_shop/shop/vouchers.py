"""Vouchers: a code and what it takes off, kept in vouchers.json."""

import json
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).with_name("vouchers.json")


def vouchers() -> dict[str, int]:
    """Returns the cents that each code takes off."""
    return checked(json.loads(FILE.read_text(encoding="utf-8")))


def save(codes: Mapping[str, float]) -> None:
    """Replaces the vouchers; wrong ones are refused and nothing is written."""
    FILE.write_text(json.dumps(checked(codes), indent=2) + "\n", encoding="utf-8")


def checked(codes: Mapping[str, float]) -> dict[str, int]:
    """Returns the vouchers if each amount is a whole number of cents."""
    good: dict[str, int] = {}
    for code, off in codes.items():
        if not isinstance(off, int) or off <= 0:
            message = f"{code}: {off} is not a whole number of cents"
            raise ValueError(message)
        good[code] = off
    return good
