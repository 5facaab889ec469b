"""Keep, find, rate and prune skills."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.options import Across, AsOwner, Audience, Limit, Reader, Statuses
from memory_mesh.mesh.view import View
from memory_mesh.model import (
    InvalidInput,
    NotFound,
    Pruned,
    Reliability,
    Scope,
    Skill,
    SkillHit,
    SkillQuery,
    SkillReceipt,
    Space,
    Status,
    skill as model_skill,
)
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import (
    check_limit,
    check_metadata,
    check_share,
    check_text,
    check_whole,
)
from memory_mesh.rules.trust import bounded_source

if TYPE_CHECKING:
    from memory_mesh.model.learning import Synthesis
    from memory_mesh.model.skill import SkillDraft


class SkillVerbs(View):
    """Named procedures and how reliable they are: `mesh.skills`."""

    def add(
        self,
        yamo_text: str,
        metadata: Mapping[str, object] | None = None,
        source_file_path: str | PathLike[str] | None = None,
        *,
        scope: Audience = None,
    ) -> SkillReceipt:
        """Stores a skill written in YAMO or in Markdown with frontmatter.

        The same text again changes nothing; another text under the same name replaces it.
        """
        ref = None if source_file_path is None else str(source_file_path)
        return self.add_draft(self._skill_draft(yamo_text, metadata, ref, scope))

    def add_draft(self, draft: "SkillDraft") -> SkillReceipt:
        """Stores a skill from a ready draft, as importers make them; never above the ceiling."""
        from memory_mesh.write.rules.drafts import check_ready

        if not isinstance(draft, model_skill.SkillDraft):
            raise InvalidInput(f"draft must be a SkillDraft, not {type(draft).__name__}")
        check_ready(draft)
        source = bounded_source(draft.source, self._channel)
        scope = self._stored_scope(draft.scope)
        return flows.skills.ingest(self._access(), replace(draft, scope=scope, source=source))

    @reads
    def search(self, query: str, *, limit: Limit = 10, scope: Reader = None) -> list[SkillHit]:
        """Searches skills, best first; `Name: …` finds one skill by its name."""
        reader, text = self._access(), check_text(query, "query")
        return flows.skills.search(reader, text, self._reader(scope), check_limit(limit))

    @reads
    def get_all(
        self,
        *,
        limit: Limit = 100,
        include: Statuses = (),
        across: Across = (),
        before: str | None = None,
        scope: Reader = None,
    ) -> list[Skill]:
        """Lists active skills, newest first.

        Options:
            before: the id of the last skill of the page before.
        """
        lens = self._lens(scope, include=include, across=across)
        query = SkillQuery(
            lens.scope,
            check_limit(limit),
            statuses=lens.statuses,
            across=lens.across,
            before=before,
        )
        return flows.skills.listed(self._access(), query)

    def vectors(
        self,
        skills: Sequence[Skill],
        space: Space,
        *,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> dict[str, bytes]:
        """Returns the vectors of visible skills in one of the spaces that `stats` lists."""
        check_whole(space.dimension, "dimension", least=1)
        ids = tuple(skill.id for skill in skills)
        lens = self._owned(scope, as_owner=as_owner)
        query = SkillQuery(lens.scope, len(ids), ids=ids, statuses=frozenset(Status), space=space)
        with self._read() as snapshot:
            found = snapshot.skills(replace(query, across=lens.across))
        return {each.skill.id: each.vector for each in found if each.vector is not None}

    def rate(self, id: str, success: bool, *, scope: Reader = None) -> Reliability:
        """Reports whether a skill worked; its reliability changes by +0.10 or -0.20, within 0 to 1.

        A channel moves no skill of a more trusted source; the use is counted.
        """
        if not isinstance(success, bool):
            raise InvalidInput("success must be true or false")
        return flows.skills.feedback(self._access(), id, self._reader(scope), success=success)

    def prune(self, threshold: float = 0.3, *, scope: Reader = None) -> Pruned:
        """Archives active skills whose reliability is below the threshold.

        A channel leaves those of more trusted sources.
        """
        share = check_share(threshold, "threshold")
        return flows.skills.prune(self._access(), self._reader(scope), share)

    def synthesize(
        self, *, topic: str | None = None, lookback: int = 20, scope: Reader = None
    ) -> "Synthesis":
        """Makes a skill from steps that recur in memories; it is used after `review` approves it.

        Two memories with the same steps are enough, or three that tell them in different words.

        Options:
            topic: what the memories are about; by default the newest are taken.
            lookback: the number of memories to look at.
        """
        return flows.lessons.synthesize(
            self._access(),
            self._lens(scope),
            topic=None if topic is None else check_text(topic, "topic"),
            lookback=lookback,
        )

    def _watch_skills(self) -> None:
        """Stores new and changed skill files of the configured directories."""
        from memory_mesh.platform.text_files import shown, texts

        for directory in self._config.skill_directories:
            path = Path(directory).expanduser()
            if not path.is_dir():
                raise NotFound(
                    f"the skill directory {path} does not exist; check skill_directories"
                )
            found = texts(path, (".md", ".yamo"), recursive=True)
            for file, text in found.found:
                self._watch_skill(shown(file), text)
            left = found.skipped
            for name in (*left.unreadable, *left.special):
                _warn(f"{name} was skipped: it cannot be read")
            for name in (*left.binary, *left.not_utf8, *left.too_large):
                _warn(f"{name} was skipped: it is not UTF-8 text, or it is too large")

    def _watch_skill(self, file: str, text: str) -> None:
        """Stores one skill file; logs a warning and goes on if the file is not a skill."""
        try:
            self.add_draft(replace(self._skill_draft(text, None, file, None), watched=True))
        except InvalidInput as error:
            _warn(f"{file} was skipped: {error}")

    def _skill_draft(
        self,
        text: str,
        metadata: Mapping[str, object] | None,
        ref: str | None,
        scope: Scope | None,
    ) -> "SkillDraft":
        return model_skill.SkillDraft(
            text=check_text(text, "yamo_text"),
            metadata=check_metadata(metadata or {}),
            scope=self._own_scope(scope),
            source=replace(self._source(), ref=None if ref is None else check_text(ref, "ref")),
        )


def _warn(message: str) -> None:
    """Logs a warning about one file; the others go on."""
    import logging

    logging.getLogger("memory_mesh").warning(masked(message))
