"""The time a question asks about: `last spring`, `between May and July`, `vor zwei Wochen`.

What is read is what people mean, which a calendar alone does not tell: "in March" is the latest
March that has begun, "two weeks ago" some days around that day, and "before the move" no time at
all. Nearly every question has no word of time; that is seen before anything else is loaded.
"""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.text.time_expressions import hints

if TYPE_CHECKING:
    from memory_mesh.policy.text.time_expressions.spans import Span

__all__ = ["MAX_CHARS_READ", "Period", "read"]

MAX_CHARS_READ = 2_000  # characters that are read


@dataclass(frozen=True, slots=True)
class Period:
    """From its first moment to the one after its last, both UTC, and the words that said so."""

    start: datetime
    stop: datetime
    words: str


def read(text: str, now: datetime) -> Period | None:
    """The span of time that a question names when it is asked at `now`, on the calendar there."""
    text = text[:MAX_CHARS_READ]
    languages = hints.languages(text)
    if not languages:
        return None
    zone, here = now.tzinfo or UTC, now.replace(tzinfo=None)
    try:
        best = _meant(text, here, languages)
        return (
            Period(_utc(best[0].start, zone), _utc(best[0].stop, zone), best[1]) if best else None
        )
    except (OverflowError, ValueError):  # further back or ahead than the calendar goes
        return None


def _meant(text: str, now: datetime, languages: list[str]) -> "tuple[Span, str] | None":
    """Of all that the languages find, what has a year, else what has the most words."""
    from memory_mesh.policy.text.time_expressions import reading, spans

    english = reading.told(text, now) if "english" in languages else None
    found = [english] if english else []
    others = [name for name in languages if name != "english"]
    if others:
        from memory_mesh.policy.text.time_expressions import languages as time_expressions_languages

        found += time_expressions_languages.told(text, now, languages=others)
    dated = spans.Tie.YEAR
    return max(found, key=lambda one: (one[0].tie is dated, len(one[1])), default=None)


def _utc(moment: datetime, zone: tzinfo) -> datetime:
    if moment == datetime.min:  # noqa: DTZ901  # since ever, whatever the zone
        return moment.replace(tzinfo=UTC)
    return moment.replace(tzinfo=zone).astimezone(UTC)
