"""End a disagreement as a person decides."""

from memory_mesh.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.mirror import applying, exporting
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import CHANNELS, OUT_OF_USE, Run
from memory_mesh.mirror.state import Delta, Held
from memory_mesh.model import Status

SIDES = ("file", "store")


def resolve(run: Run, target: str, keep: str, author: Author) -> None:
    """Keeps the file's or the store's side of every disagreement in a file."""
    if keep not in SIDES:
        raise InvalidInput(f"keep is one of: {', '.join(SIDES)}")
    found = [held for held in run.state.disagreeing() if target in {held.path, held.memory}]
    if not found:
        raise NotFound(f"nothing disagrees in {target}. List what does: memory-mesh mirror status")
    if keep == "store" and author is not Author.USER:
        raise NotAllowed("the file has the user's words: the user decides to keep the store's")
    for held in found:
        delta = Delta()
        if keep == "file":
            _keep_file(run, held, author, delta)
        else:
            _keep_store(run, held)
        run.write(delta)


def _keep_file(run: Run, held: Held, author: Author, delta: Delta) -> None:
    """Lets the memory say what the document says, or go if the document is gone."""
    text, group = exporting.present(run, held)
    memory = run.latest(held.memory)
    channel = CHANNELS[author]
    if text is None or group is None:
        if memory is not None and memory.status not in OUT_OF_USE:
            run.view(channel).delete(held.memory, reason=f"deleted from the file {held.path}")
            run.report.deleted.append(Line(held.path, held.named, held.memory))
        delta.forgotten.append(held.memory)
        return
    if memory is not None and memory.status is Status.DELETED:
        memory = run.view(channel).restore(held.memory)
        run.report.restored.append(Line(held.path, held.named, held.memory))
    if memory is None or memory.status in OUT_OF_USE:  # the document is a memory of its own
        delta.forgotten.append(held.memory)
        delta.files[held.path] = None
        return
    known = replace(held, note=None, body="" if held.waits else held.body)  # also rejected words
    ready = applying.edit(run, group, known, memory, author)
    if isinstance(ready, applying.Edit):
        (ready,) = applying.make(run, [ready])
    if not ready.faulty:
        delta.entries.append(ready.entry)


def _keep_store(run: Run, held: Held) -> None:
    """Writes what the memory says, or removes its document if the memory is gone."""
    text, group = exporting.present(run, held)
    memory = run.latest(held.memory)
    if memory is None or memory.status in OUT_OF_USE:
        if text is not None and memory is not None and group is not None:
            exporting.remove(run, held, text)
        else:
            run.write(Delta(forgotten=[held.memory]))
    elif text is None or group is None:
        run.write(Delta(forgotten=[held.memory]))
        exporting.create(run, memory)
    else:
        exporting.rewrite(run, replace(held, note=None), memory, text, group)
