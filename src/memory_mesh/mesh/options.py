"""Options that several operations share: their type, and the one line that says what they do.

An option of a single operation is described in that operation's docstring, under `Options:`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Annotated, TypeAlias
from memory_mesh.config.tables import MainSettings, Settings
from memory_mesh.model import Channel, Scope, Status
from memory_mesh.model.ports import LLM, Clock, Embedder, Reranker, Sink

Across: TypeAlias = Annotated[
    Iterable[str], "parts of the scope to ignore: project, agent, session"
]
AsOf: TypeAlias = Annotated[
    datetime | str | None, "answer from what was recorded then; a day is its first moment"
]
AsOwner: TypeAlias = Annotated[
    bool, "show what is for others, too: every project, agent and session"
]
Audience: TypeAlias = Annotated[Scope | None, "the project, agent and session that may see it"]
Condition: TypeAlias = Annotated[
    str | Mapping[str, object] | None,
    "a condition, such as \"team = 'core' AND priority >= 3\", or a mapping",
]
Limit: TypeAlias = Annotated[int, "the largest number of results, 1 to 1,000"]
LinkTypes: TypeAlias = Annotated[Iterable[str], "only links of these types"]
Progress: TypeAlias = Annotated[
    Callable[[int], None] | None, "called with the number of texts embedded so far"
]
Reader: TypeAlias = Annotated[
    Scope | None, "who reads; by default the project, agent and session of this mesh"
]
Reason: TypeAlias = Annotated[str, "the reason, stored in the audit block"]
Statuses: TypeAlias = Annotated[
    Iterable[Status | str], "further statuses to show beside active, such as quarantined"
]
ValidAt: TypeAlias = Annotated[datetime | str | None, "show what is true at this time"]


class MeshOptions(MainSettings, total=False):
    """What the constructors take: the main settings, and objects instead of configured ones."""

    settings: Annotated[Settings, "further settings by name, such as {'session_days': 0}"]
    channel: Annotated[Channel | str, "where texts come from; it limits how far they are trusted"]
    key: Annotated[str | None, "the key of a service behind a URL, else MEMORY_MESH_ACCESS_KEY"]
    clock: Annotated[Clock | None, "the clock to use instead of the system's"]
    sinks: Annotated[Sequence[Sink], "objects that are handed every write"]
    custom_embedder: Annotated[
        Embedder | None, "an embedder object to use instead of a configured one"
    ]
    custom_llm: Annotated[LLM | None, "a language model object to use instead of a configured one"]
    custom_reranker: Annotated[
        Reranker | None, "a reranker object to use instead of a configured one"
    ]
