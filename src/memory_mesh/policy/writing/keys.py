"""Idempotency keys belong to a writer: one audience, channel and agent.

The ledger holds a key together with its owner as one text, so that two writers who choose the same
key do not meet.
"""

import json

from memory_mesh.model import Draft


def owned_key(draft: Draft, agent: str) -> str | None:
    """Returns the draft's key with its owner, as the ledger holds it."""
    if draft.key is None:
        return None
    scope = draft.scope
    owner = (draft.source.channel.value, agent, scope.project, scope.agent, scope.session)
    return json.dumps([draft.key, *owner], ensure_ascii=False)


def given_key(owned: str) -> str:
    """Returns the key as the writer gave it; stores of earlier versions hold only that."""
    return str(json.loads(owned)[0])
