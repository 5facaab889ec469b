"""What somebody meant by an option that a method does not have; loaded only to say so."""

from collections.abc import Iterable

_MEANT = {  # others' words for ours
    "k": "limit",
    "n": "limit",
    "n_results": "limit",
    "num_results": "limit",
    "max_results": "limit",
    "size": "limit",
    "top_k": "limit",
    "topk": "limit",
    "filters": "filter",
    "where": "filter",
    "threshold": "min_relevance",
    "score_threshold": "min_relevance",
    "min_score": "min_relevance",
    "text": "content",
    "memory": "content",
    "message": "content",
    "data": "content",
    "q": "query",
    "question": "query",
    "id": "memory_id",
    "timestamp": "occurred_at",
    "date": "occurred_at",
    "category": "kind",
    "type": "kind",
    "memory_type": "kind",
    "tag": "tags",
    "labels": "tags",
    "agent": "agent_id",
    "run_id": "session",
    "session_id": "session",
    "thread_id": "session",
    "path": "db_dir",
    "dir": "db_dir",
    "folder": "db_dir",
    "directory": "db_dir",
    "persist_directory": "db_dir",
    "db_path": "db_dir",
    "model": "embedder_model",
    "api_key": "embedder_api_key",
    "token_budget": "max_tokens",
    "budget": "max_tokens",
}
_NAMED = 8  # options that a message lists


def unknown_option(called: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for an option that a method does not have: what was meant, or what there is."""
    import difflib

    names = [each for each in known if each != "self"]
    meant = _MEANT.get(name)
    if meant not in names:
        meant = next(iter(difflib.get_close_matches(name, names, n=1)), None)
    if meant is not None:
        hint = f"did you mean {meant}?"
    elif len(names) > _NAMED:
        hint = f"its options are in help({called.partition('()')[0]})"
    else:
        hint = f"its arguments are: {', '.join(names) or 'none'}"
    return TypeError(f"{called} has no option {name!r}; {hint}")
