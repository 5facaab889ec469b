"""docs/jobs.md shows the settings with their defaults; `test_pages_run.py` runs its examples."""

import re
import tomllib
from pathlib import Path

from memory_mesh import config

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/jobs.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    return str(re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)[-1])


def test_the_page_shows_the_settings_with_their_defaults() -> None:
    shown = tomllib.loads(_block("toml"))
    assert shown == {name: getattr(config.Config(), name) for name in shown}
    assert set(shown) == {
        item for item in config.SETTINGS if item.startswith(("retention_", "consolidate_"))
    }
