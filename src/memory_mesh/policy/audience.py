"""Who may see a memory within a namespace."""

from memory_mesh.model import Scope


def sees(reader: Scope, audience: Scope) -> bool:
    """True when each part of the audience is empty or equal to the reader's."""
    return (
        audience.project in {None, reader.project}
        and audience.agent in {None, reader.agent}
        and audience.session in {None, reader.session}
    )
