"""Evidence: the code that a memory is about, and whether it still stands in the repository.

::

    "src/queue.py#Queue.push" ── citations.cited(the file's text) ──▶ Citation(hash, commit)
                                                      kept in the memory's metadata
    Citation ── work_tree.check ──▶ fresh | moved | drifted | orphaned | unchecked
                  │ reads the cited file; git is asked only for what does not stand there any more
                  └ citations.seen(citation, file) decides: values in, a value out

`definitions` finds where something is defined in a text of any language.
"""
