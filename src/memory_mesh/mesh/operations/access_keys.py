"""Make, list and end the keys of the service."""

from collections.abc import Mapping

from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.view import View
from memory_mesh.model import NotAllowed
from memory_mesh.model.care import AccessKey
from memory_mesh.rules.trust import is_authoritative
from memory_mesh.write.access import Access

_HOURS = 24  # that a key lives on beside its successor


class AccessKeyVerbs(View):
    """The keys of the service over a store: `mesh.care.access_keys`."""

    def add(
        self,
        name: str,
        *,
        grants: Mapping[str, str],
        speaks_as: str = "agent",
        days: int | None = None,
    ) -> AccessKey:
        """Makes a key; its `text` is in the result and nowhere else.

        Options:
            grants: what it may do where: `{"team": "editor", "user:ann": "owner"}`. A place is a
                namespace, user:NAME, user:* or *; a role is reader, editor, reviewer, owner or
                admin, or scopes such as read+write.
            speaks_as: whose word its texts are at most: user or agent.
            days: after so many days it ends.
        """
        own, said = self._of_the_user(), self._redacted(name)
        return flows.access_keys.add(
            own, self._now(), said, grants=grants, speaks_as=speaks_as, days=days
        )

    @reads
    @needs("admin")
    def get_all(self) -> list[AccessKey]:
        """Lists every key without its text, the newest first; revoked ones too."""
        return flows.access_keys.get_all(self._of_the_user())

    def revoke(self, id: str) -> AccessKey:
        """Ends a key; processes of the service believe it for 5 seconds more."""
        return flows.access_keys.revoke(self._of_the_user(), self._now(), id)

    def rotate(self, id: str, *, hours: int = _HOURS) -> AccessKey:
        """Makes a key with the same grants, and ends the old one later.

        Options:
            hours: the old one opens the store for so many hours more.
        """
        return flows.access_keys.rotate(self._of_the_user(), self._now(), id, hours=hours)

    def _of_the_user(self) -> Access:
        if not is_authoritative(self._kind):
            raise NotAllowed("only the user makes and ends keys, and an agent speaks here")
        own = self._of_same_store(flows.access_keys.NAMESPACE, None, None)
        return own._access()  # noqa: SLF001  # a view of the same class
