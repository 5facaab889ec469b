"""Names, places and whatever else Microsoft Presidio recognises, for those who install it.

Nothing here is used unless a host asks for it: `Redactor(key, namespace, presidio_rules())`.
Presidio works with a language model of some hundred megabytes that has to be there already.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from memory_mesh.errors import MissingExtra
from memory_mesh.policy.privacy.rule import Rule, Span
from memory_mesh.values import dataclass

ENTITIES = ("PERSON", "LOCATION", "NRP")


def presidio_rules(
    entities: Sequence[str] = ENTITIES, *, language: str = "en", least_score: float = 0.5
) -> tuple[Rule, ...]:
    """One rule for each of Presidio's entities; they are tried before ours."""
    try:
        from presidio_analyzer import AnalyzerEngine  # type: ignore[import-not-found]  # not a dependency
    except ImportError:
        raise MissingExtra(
            "redaction by Presidio needs two packages more, and a model:"
            " pip install presidio-analyzer spacy && python -m spacy download en_core_web_lg"
        ) from None
    engine = AnalyzerEngine()
    return tuple(
        Rule(
            name=f"presidio_{entity.lower()}",
            label=entity,
            pattern=_Recogniser(engine, entity, language, least_score),
            why=f"Presidio's {entity}",
        )
        for entity in entities
    )


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    stop: int

    def span(self) -> Span:
        return self.start, self.stop


class _Recogniser:
    """One entity of Presidio, asked the way a pattern is."""

    def __init__(self, engine: Any, entity: str, language: str, least_score: float) -> None:  # noqa: ANN401
        self._engine, self._entity = engine, entity
        self._options = {"language": language, "score_threshold": least_score}

    def finditer(self, text: str, /) -> Iterator[_Place]:
        results = self._engine.analyze(text=text, entities=[self._entity], **self._options)
        for result in sorted(results, key=lambda result: (result.start, -result.end)):
            yield _Place(result.start, result.end)
