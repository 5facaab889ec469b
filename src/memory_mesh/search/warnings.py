"""Lessons that an agent is about to repeat: found before its command or its edit runs.

::

    command ── actions.action_of ──▶ runs, files
    lessons of the project, the worst first ── actions.warned_of ──▶ what each warns of
      ▼
    those that the action repeats, and memories whose trigger names its call

Little is loaded: a hook without a daemon comes here before every tool.
"""

from memory_mesh.base.typed import replace
from memory_mesh.model import Lens, Memory, Status
from memory_mesh.model.learning import ActionWarning
from memory_mesh.model.query import And, Compare, Sign
from memory_mesh.rules.trust import OF_THE_USER
from memory_mesh.search.triggers.actions import (
    PlannedAction,
    calls,
    quotations,
    repeats,
    warned_of,
)
from memory_mesh.write.access import Access

ENFORCE = "enforce"  # in the metadata of a lesson or a memory with triggers: the user's own rule
AGAIN = "learned_again"  # in the metadata of a lesson that a second session learned as well
MOST_LESSONS = 500  # that an action is held against, the worst first
MOST_SCANNED = 10_000  # memories with triggers, the newest
MOST_CALLED = 20
_LESSON = And(
    (
        Compare("memory_type", Sign.EQUAL, "lesson"),
        Compare("severity", Sign.AT_LEAST, 0),  # only lessons have one: an index of them
    )
)


def warnings(access: Access, lens: Lens, action: PlannedAction, home: str) -> list[ActionWarning]:
    """Returns what an action would repeat: active lessons, and what its triggers name in full.

    A lesson that waits for review counts once it was learned a second time.
    """
    tests = (_LESSON, *((lens.where,) if lens.where else ()))
    statuses = lens.statuses | {Status.QUARANTINED}
    on_lessons = replace(lens, statuses=statuses, where=And(tests))
    with access.ledger.read(access.namespace) as snapshot:
        lessons = snapshot.page(on_lessons, MOST_LESSONS, None, worst_first=True)
        found = [one for one in lessons if _is_confirmed(one) and _repeats(one, action, home)]
        if action.lines:
            scanned = snapshot.triggered(lens, MOST_SCANNED)
            called = [one.version for one in scanned if calls(one.triggers, action)]
            found += snapshot.load(called[:MOST_CALLED], lens).values()
    return [_warning(one) for one in {one.id: one for one in found}.values()]


def _is_confirmed(memory: Memory) -> bool:
    return memory.status is Status.ACTIVE or memory.extra.get(AGAIN) is True


def _repeats(memory: Memory, action: PlannedAction, home: str) -> bool:
    lesson = memory.lesson
    if lesson is None:
        return False
    ran = next(iter(quotations(lesson.situation)), None)
    told = lesson.rule if lesson.rule in lesson.fix else f"{lesson.rule}\n{lesson.fix}"
    return repeats(warned_of(told, ran, home), action)


def _warning(memory: Memory) -> ActionWarning:
    rule = memory.text if memory.lesson is None else memory.lesson.rule
    enforced = memory.extra.get(ENFORCE) is True and memory.status is Status.ACTIVE
    return ActionWarning(memory.id, rule, enforced and memory.source.kind in OF_THE_USER)
