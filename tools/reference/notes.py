"""What the reference says that no signature and no docstring holds.

Arguments without a line under `Options:`, errors of single methods, examples, and when each error
comes. `tests/surface/test_reference.py` compares the errors with what the methods do.
"""

ARGUMENTS = {  # positional arguments: what one of this name is, wherever it stands
    "agent": "the agent whose memories are meant",
    "boost": "how much importance it gains, 0 to 1",
    "by": "the field whose values are counted",
    "changes": "one mapping per memory: `id`, and the arguments of `update`",
    "client": "the client to wrap; it is changed and returned",
    "conflict_id": "the id of the conflict",
    "content": "the text",
    "context": "what is known about it, beside the texts",
    "draft": "the skill",
    "episode_id": "the id of the episode",
    "block": "the id of the block of the write",
    "complaint": "what went wrong, in your words",
    "event": "store, supersede, quarantine or archive",
    "folder": "the folder",
    "goal": "what is to be done",
    "handler": "the function that is called",
    "heritage": "the intents, hypotheses and rationales",
    "id": "the id",
    "ids": "ids of memories",
    "items": "texts, or mappings with `content` and any option of `add`",
    "max_hops": "how many links away",
    "memories": "the hits or memories to show",
    "memory_id": "the id of the memory",
    "mesh": "the open mesh",
    "messages": "a text of the user, or messages: mappings with role, content and name",
    "metadata": "fields of your own; a search can filter by them",
    "min_size": "the fewest memories of a group",
    "model": (
        'an embedder, or settings such as `{"embedder_model": "bge-small"}`; by default the model '
        "that was begun, found by its name"
    ),
    "name": "the name",
    "names": "the jobs to run; by default all that are due",
    "options": "how to show them",
    "other": "the name of the other project",
    "path": "the file",
    "pattern_id": "the id of the pattern",
    "project": "the project; by default that of this mesh",
    "prompt": "what the user said",
    "queries": "the questions",
    "query": "the words or the question to search for",
    "command": "a command line of a shell",
    "question": "the question; without one, what is always wanted",
    "resolution": "supersede, reject or keep_both",
    "response": "what the assistant answered",
    "results": "the hits to show",
    "schemas": "how predicates behave, by name",
    "seconds": "how long to wait",
    "skills": "the skills",
    "source": "the source whose memories are meant",
    "source_file_path": "the file that it comes from",
    "source_id": "the id of the memory that the link starts from",
    "space": "one of the spaces that `stats` lists",
    "start_id": "the id of the memory to start from",
    "success": "whether it worked",
    "target_id": "the id of the memory that the link leads to",
    "task": "the task, in words",
    "text": "the text",
    "threshold": "the reliability below which a skill goes, 0 to 1",
    "title": "the title",
    "trace": "the execution",
    "trace_id": "the id of the trace",
    "traces": "the executions",
    "user_id": "the user's id: any text of 1 to 128 bytes",
    "wire_format": "a lesson as a YAMO block",
    "yamo_text": "the skill as YAMO or as Markdown with frontmatter",
}
_BY_ID = """

    graph.add_to_episode review.chain delete erase review.dispute graph.episode explain
    insert_heritage graph.link graph.neighbourhood graph.path pin review.propose_delete
    review.propose_update rate review.reinforce graph.remove_from_episode review.resolve
    restore review.decide care.projects.split graph.summarise_episode graph.supersessions
    graph.traverse review.trust review.undo graph.unlink update update_many skills.rate
    care.access_keys.revoke care.access_keys.rotate
"""
_OF_THE_USER = """

    care.archive_project traces.erase_experiences insert_heritage graph.link
    care.projects.merge care.projects.name pin review.register_predicates review.resolve
    restore review.decide review.decide_source care.projects.split review.undo graph.unlink
    review.take_back update update_many delete_user erase unforget
    care.access_keys.add care.access_keys.get_all care.access_keys.revoke care.access_keys.rotate
"""
RAISES = {  # of MemoryMesh, beside what every method can raise and FilterError for a filter
    "NotFound": frozenset(_BY_ID.split()),
    "NotAllowed": frozenset(_OF_THE_USER.split()),
    "NotRestorable": frozenset({"restore"}),
    "IdempotencyConflict": frozenset({"add", "ingest", "evolve"}),
    "VersionConflict": frozenset({"update"}),
    "MissingExtra": frozenset({"care.rebuild_index"}),
}
EXAMPLES = {  # one line each; a test runs them in this order on one store
    "add": 'receipt = mesh.add("The user prefers dark themes", {"team": "web"}, tags=["ui"])',
    "add_many": 'mesh.add_many(["Deploys run on Mondays", {"content": "Ann leads web"}])',
    "get": "memory = mesh.get(receipt.id)",
    "get_all": "page = mesh.get_all(limit=20, filter=\"team = 'web'\")",
    "search": 'hits = mesh.search("themes", limit=5, filter={"team": "web"})',
    "context": 'prompt = str(mesh.context("Which themes does the user like?", max_tokens=400))',
    "explain": 'print(mesh.explain(receipt.id, query="themes").sentences[0])',
    "update": 'mesh.update(receipt.id, "The user prefers light themes", reason="said so")',
    "history": "versions = mesh.history(receipt.id)",
    "pin": "mesh.pin(receipt.id)",
    "rate": "mesh.rate(receipt.id, helpful=True)",
    "review.reinforce": "mesh.review.reinforce(receipt.id)",
    "review.dispute": 'mesh.review.dispute(receipt.id, reason="the user changed it")',
    "review.trust": "mesh.review.trust(receipt.id)",
    "delete": "mesh.delete(receipt.id)",
    "restore": "mesh.restore(receipt.id)",
    "erase": "print(mesh.erase(receipt.id, dry_run=True).counts)",
    "view": 'team = mesh.view(namespace="team")',
    "for_user": 'alice = mesh.for_user("alice")',
    "review.waiting": "waiting = mesh.review.waiting()",
    "review.conflicts": "mesh.review.conflicts(pending=True)",
    "graph.links": "mesh.graph.links(receipt.id)",
    "graph.entity": 'print(mesh.graph.entity("Ann"))',
    "profile": "print(mesh.profile())",
    "stats": "print(mesh.stats().memories)",
    "care.verify": "assert mesh.care.verify().ok",
    "care.upkeep": "report = mesh.care.upkeep()",
    "care.namespaces": "mesh.care.namespaces()",
    "users": "mesh.users()",
}
ERRORS = {  # when it comes, what to do
    "MeshError": ("the base of all of them", "catch it to catch every deliberate error"),
    "InvalidInput": (
        "an argument, an option or a setting has a value that is not allowed",
        "read the message: it names the argument, its value and what is allowed",
    ),
    "NotAllowed": (
        "an agent or another channel below the user's asks for what only the user decides",
        "let the user do it, or use `propose_update` and `propose_delete`",
    ),
    "FilterError": (
        "a filter does not parse, has an unknown operator, or compares what never fits",
        "see the [grammar](filters.md); the message shows the place",
    ),
    "BlockError": (
        (
            "`memory_mesh.formats.yamo` is given a text that is no [YAMO](yamo.md) block; "
            "methods of `MemoryMesh` raise `InvalidInput` for it"
        ),
        "correct the line that the message names",
    ),
    "EmbeddingError": (
        "no embedder answered where a vector is needed; `add` and `search` go on by keywords",
        "`memory-mesh doctor`, or install a model: `memory-mesh models pull`",
    ),
    "TextRefused": (
        "the embedder works and rejects this one text",
        "nothing: the text is stored and is found by keywords",
    ),
    "LLMError": (
        "the language model that was configured did not answer",
        "check `llm_base_url` and the key; the result was made without it",
    ),
    "RerankError": (
        "the reranker did not answer; searches log it and keep their usual order",
        "check `reranker_base_url`, or raise `reranker_timeout`",
    ),
    "MissingExtra": (
        "a feature needs a package that is not installed",
        "run the `pip install` line in the message",
    ),
    "NotAfterFork": (
        "a process was forked after the index library was loaded, and uses the index",
        'start processes by spawn: `multiprocessing.set_start_method("spawn")`',
    ),
    "ModelError": (
        "the folder of a local model is missing a file, or a file is not what it should be",
        "`memory-mesh models pull`, or `memory-mesh models install FOLDER`",
    ),
    "NetworkError": (
        "a service cannot be reached, or its answer is not valid",
        "check that it runs at the address in the settings, then retry",
    ),
    "RequestRefused": (
        "the service answered with a refusal, such as 401 or 422",
        "check the model's name, the key and the text",
    ),
    "ForbiddenAddress": (
        "the address of a request is link-local, a metadata service, or not http",
        "use another address",
    ),
    "NotFound": (
        "no memory, skill, conflict or proposal with that id is visible to this reader",
        "check the id, namespace, project and user; `memory-mesh list`",
    ),
    "IdempotencyConflict": (
        "the `key` of a write was used for another content before",
        "use a new key for a new memory",
    ),
    "VersionConflict": (
        "`if_version` of an update is not the version that the memory has",
        "read the memory again, and decide anew",
    ),
    "NotRestorable": (
        "the memory is not deleted, or was deleted more than 30 days ago",
        "add it again; an earlier text is in `history`",
    ),
    "StoreError": ("the store cannot be used", "see [messages](messages.md)"),
    "StoreIsNewer": (
        "a newer memory-mesh wrote the store",
        "upgrade this one",
    ),
    "StoreIsBusy": (
        "another process held the lock for longer than `lock_wait_seconds`",
        "retry; the message names the process (`error.pid`, `error.since`)",
    ),
    "StoreIsAway": (
        "the database server cannot be reached, or did not answer in time; nothing was stored",
        "look whether it runs, then retry; connections are made anew by themselves",
    ),
    "MayBeStored": (
        "the connection ended while a write was committed: it is stored whole or not at all",
        "look before you write it again, or write with a `key`: then it is stored once",
    ),
    "StoreIsFull": ("the disk is full; nothing was stored", "free some space and retry"),
    "WrongKey": (
        "the key that the store was written with is not on this machine (`error.path`)",
        "copy it back, or see [keys](../keys.md)",
    ),
    "UnsafeFolder": (
        "the folder is on a network file system",
        "use a local disk, or `allow_network_folder=True` if one process alone uses it",
    ),
    "StoreIsReadOnly": (
        "the folder cannot be written, or the database is a standby",
        "reads work; to store, give the user write access, or use the server that is followed",
    ),
    "StoreWasMoved": (
        "`memory-mesh move` took the store or the namespace to another folder",
        "use the folder in the message",
    ),
    "StoreIsDamaged": (
        "the file is not a ledger, or a check of its pages or rows failed",
        "see [repair](../how-to/backup-and-restore.md#repair-and-salvage)",
    ),
    "WritesAreMissing": (
        "the database is older than its head file says: acknowledged writes are gone",
        "restore a backup, or `memory-mesh repair --accept-loss`",
    ),
    "StoreWasReplaced": (
        "another file stands where the namespace's own was",
        "put it back, or restore a backup",
    ),
    "BackupIsDamaged": (
        "a backup is not whole, or a file in it is not what was written",
        "restore another one; nothing was changed",
    ),
    "StorageFailed": (
        "a storage of the caller's own (graph face) failed",
        "the memories are in this process: call `save` again",
    ),
    "Closed": ("the mesh was closed", "open a new one"),
}
FOREIGN = {  # variables of others that are read, and for what
    "OPENAI_API_KEY, COHERE_API_KEY, CO_API_KEY, JINA_API_KEY": (
        "the key of the provider that is configured, unless a setting states one"
    ),
    "XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR": (
        "where the store, the configuration file and the keys, the evaluation's cache and the "
        "daemon's socket are by default, on Linux"
    ),
    "LOCALAPPDATA, APPDATA": "the same on Windows",
    "HOME": "the same where none of them is set, and what `~` stands for",
    "LC_ALL, LC_TELEPHONE, LANG": "the country of `phone_country`, if it is not set",
    "NO_COLOR, TERM": "whether output has colours: not with NO_COLOR, nor with TERM=dumb",
    "CLAUDE_CONFIG_DIR": "where Claude Code keeps its settings, for `init` and `doctor`",
}
