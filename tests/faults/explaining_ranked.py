"""Planted cases for `explain` of what a search may show: by candidates, limit, threshold, pack."""

from collections.abc import Sequence
from typing import Any

from memory_mesh.model import Scope, Status
from memory_mesh.search.ranking.profiles import FURTHER_SHARE, LEG_DEPTH, MIN_RELEVANCE
from tests.faults.explaining_ground import DAY, NOW, PROFILES, Case, Ground, question_of
from tests.faults.explaining_hidden import STATUSES, hidden

_STATEMENTS = (
    ("The {0} branch is {1}", "The {0} branch is now {2}"),
    ("The {0} server is {1}", "The {0} server is now {2}"),
    ("The {0} region is {1}", "The {0} region is now {2}"),
    ("My favourite {0} is {1}", "My favourite {0} is now {2}"),
)


# ---- candidates


def no_word(ground: Ground) -> Case:
    """No word in common, and no vector is asked."""
    vectors = ground.chance.random() < 0.5
    mesh, question, chance = ground.open(vectors=vectors), question_of(ground), ground.chance
    ground.noise()
    for _ in range(chance.randint(1, 4)):  # the words are known: none is read as another
        ground.add(f"{question} {ground.words(3)}")
    id_ = ground.add(ground.words(chance.randint(2, 8)))
    ground.later()
    asked = {"keyword_only": vectors or chance.random() < 0.5, "profile": chance.choice(PROFILES),
             "limit": chance.randint(1, 20)}  # fmt: skip
    return Case("no word in common", "candidates", mesh, id_, question, asked)


def no_trigger(ground: Ground) -> Case:
    """`points` finds by triggers alone."""
    mesh, question = ground.open(), question_of(ground)
    ground.noise()
    ground.add(ground.words(5), triggers=question)
    id_ = ground.add(f"{question} {ground.words(3)}")
    ground.later()
    return Case("no trigger", "candidates", mesh, id_, question, {"profile": "points"})


def too_deep(ground: Ground) -> Case:
    """Both legs of `rrf` read twice the limit, and more memories than that fit better."""
    vectors = ground.chance.random() < 0.5
    mesh, word, limit = ground.open(vectors=vectors), ground.word(), ground.chance.randint(1, 3)
    text = f"{word} {ground.words(40)}"
    ground.axes.cosines[text] = 0.1
    id_ = ground.add(text)
    for number in range(2 * limit + ground.chance.randint(0, 3)):
        better = f"{word} {word} {word} {ground.word()}"
        ground.axes.cosines[better] = 0.9 - number / 100
        ground.add(better)
    ground.later()
    return Case("too deep", "candidates", mesh, id_, word, {"profile": "rrf", "limit": limit})


def beyond_a_hundred(ground: Ground) -> Case:
    """Each leg of `mesh` reads a hundred; a hundred memories have the word, and all are nearer."""
    mesh, word = ground.open(vectors=True), ground.word()
    text = ground.words(6)
    ground.axes.cosines[text] = 0.05
    id_ = ground.add(text)
    texts = [f"{word} {number} {ground.word()}" for number in range(LEG_DEPTH + 5)]
    ground.axes.cosines |= {each: 0.9 - at / 1000 for at, each in enumerate(texts)}
    mesh.add_many([{"content": each, "scope": Scope()} for each in texts])
    ground.later()
    asked = {"limit": ground.chance.randint(1, LEG_DEPTH)}
    return Case("beyond a hundred", "candidates", mesh, id_, word, asked)


# ---- limit


def _worse_than(ground: Ground, limit: int, words: Sequence[str]) -> str:
    """`limit` memories with all of the words, and one that has a single one; the id of that."""
    text = f"{words[0]} {ground.words(25)}"
    ground.axes.cosines[text] = 0.25
    first = ground.chance.random() < 0.5
    id_ = ground.add(text) if first else ""
    for number in range(limit + ground.chance.randint(0, 2)):
        better = f"{' '.join(words)} {ground.word()}"
        ground.axes.cosines[better] = 0.95 - number / 100
        ground.add(better)
    return id_ or ground.add(text)


def cut_by_limit(ground: Ground) -> Case:
    chance = ground.chance
    profile, limit = chance.choice(PROFILES), chance.randint(1, 5)
    limit = max(limit, 3) if profile == "rrf" else limit  # its legs read twice the limit
    mesh = ground.open(vectors=chance.random() < 0.4)
    words = ground.words(4).split()
    id_ = _worse_than(ground, limit, words)
    ground.noise(0 if profile == "rrf" else None)
    ground.later()
    asked: dict[str, Any] = {"profile": profile, "limit": limit}
    if profile in {"composite", "lane"}:
        asked["min_similarity"] = 0.0
    if profile == "mesh" and chance.random() < 0.4:
        asked["min_relevance"] = 1.0  # it misses that, too; the limit comes first
    return Case(f"limit of {profile}", "limit", mesh, id_, " ".join(words), asked)


def cut_by_limit_of_points(ground: Ground) -> Case:
    """Each is called by the same trigger; the others are of more importance."""
    mesh, word, limit = ground.open(), ground.word(), ground.chance.randint(1, 4)
    id_ = ground.add(ground.words(5), triggers=word, importance="low")
    for _ in range(limit + ground.chance.randint(0, 2)):
        ground.add(f"{word} {ground.words(3)}", triggers=word, importance="critical")
    ground.later()
    asked = {"profile": "points", "limit": limit}
    return Case("limit of points", "limit", mesh, id_, word, asked)


def pushed_out(ground: Ground) -> Case:
    """The newer statement of the first hit takes the place of the second."""
    mesh = ground.open()
    _, newer, value = _statements(ground)
    word = ground.word()
    bystander = ground.add(f"{word} {ground.words(30)}")
    ground.later()
    asked = {"limit": 2, "keyword_only": True}
    question = f"{value} {word}"
    return Case("pushed out", "limit", mesh, bystander, question, asked, other=newer)


# ---- threshold


def below(ground: Ground) -> Case:
    """Fewer candidates than the limit; none reaches what is asked."""
    chance, profile = ground.chance, ground.chance.choice(PROFILES)
    mesh = ground.open(vectors=profile in {"composite", "lane"})
    words = ground.words(4).split()
    id_ = _worse_than(ground, 1, words)
    ground.later()
    asked: dict[str, Any] = {"profile": profile, "limit": 10}
    if profile in {"mesh", "rrf"}:
        asked["min_relevance"] = 1.0 if profile == "mesh" else chance.choice((0.9, 0.99, 1.0))
    elif profile == "lane" and chance.random() < 0.5:
        text = ground.words(6)
        ground.axes.cosines[text] = chance.choice((0.0, 0.1, 0.19))
        id_ = ground.add(text)  # lane asks for 0.2 by itself
    else:
        asked["min_similarity"] = chance.choice((0.3, 0.5, 0.9))  # its cosine is 0.25
    ground.later()
    return Case(f"threshold of {profile}", "threshold", mesh, id_, " ".join(words), asked)


def below_a_tenth(ground: Ground) -> Case:
    """The best hit reaches the threshold; this one misses even its share of it."""
    mesh, words = ground.open(vectors=ground.chance.random() < 0.5), ground.words(4).split()
    id_ = _worse_than(ground, 1, words)
    ground.noise(ground.chance.randint(3, 8))
    ground.later()
    question = " ".join(words)
    found = mesh.search(question, use_cache=False, min_relevance=0)
    scores = {hit.id: hit.score for hit in found}
    best, own = max(scores.values()), scores[id_]
    least = best if own < best * FURTHER_SHARE else min(1.0, best + 1e-6)  # else nothing reaches it
    return Case("a tenth", "threshold", mesh, id_, question, {"min_relevance": least})


# ---- older


def _statements(ground: Ground) -> tuple[str, str, str]:
    """Two statements of which the second updates the first; the old value is the last."""
    form, update = ground.chance.choice(_STATEMENTS)
    subject, old, new = ground.word(), ground.word(), ground.word()
    first = ground.add(form.format(subject, old))
    ground.clock.advance(DAY)
    receipt = ground.mesh.add(update.format(subject, old, new), scope=Scope())
    assert receipt.newer_than == (first,), receipt
    return first, str(receipt.id), old


def older(ground: Ground) -> Case:
    """The old value is asked for by its own word, and the newer statement takes the place."""
    mesh, chance = ground.open(), ground.chance
    ground.noise()
    old, newer, word = _statements(ground)
    limit, question = chance.randint(1, 3), word
    for _ in range(limit - 1):  # each is found by a word of its own, in less text
        own = ground.word()
        ground.add(f"{own} {own} {word}")
        question += f" {own}"
    ground.later()
    profile = chance.choice(("mesh", "rrf"))
    asked = {"limit": limit, "keyword_only": True, "profile": profile, "min_relevance": 0.0}
    return Case("an older statement", "older", mesh, old, question, asked, other=newer)


# ---- packed


def no_room_at_all(ground: Ground) -> Case:
    """No budget of a few tokens holds a fence, let alone a memory."""
    mesh, question = ground.open(vectors=ground.chance.random() < 0.3), ground.words(3)
    ground.noise()
    text = f"{question} {ground.words(ground.chance.randint(4, 60))}"
    ground.axes.cosines[text] = 0.95
    id_ = ground.add(text)
    ground.later()
    asked = {"max_tokens": ground.chance.randint(1, 12)}
    return Case("no room at all", "packed", mesh, id_, question, asked)


def left_out(ground: Ground) -> Case:
    """Many memories that say as much; the pack of this question has room for some."""
    mesh, question, chance = ground.open(), ground.words(3), ground.chance
    for _ in range(chance.randint(6, 10)):
        ground.add(f"{question} {ground.words(chance.randint(10, 30))}")
    ground.later()
    scores = {hit.id: hit.score for hit in mesh.search(question, use_cache=False)}
    for budget in (400, 300, 200, 150, 100, 60, 10):
        pack = mesh.context(question, max_tokens=budget, record=False)
        packed = {item.id for item in pack.items}
        left = [id_ for id_, score in scores.items() if id_ not in packed and score > MIN_RELEVANCE]
        if left:
            asked = {"max_tokens": budget, "min_relevance": MIN_RELEVANCE}
            return Case("left out", "packed", mesh, chance.choice(left), question, asked)
    raise AssertionError("a pack of ten tokens holds ten memories")


# ---- shown


def shown(ground: Ground) -> Case:
    """In every profile, among others."""
    profile, chance = ground.chance.choice(PROFILES), ground.chance
    mesh, question = ground.open(vectors=chance.random() < 0.5), ground.words(3)
    ids = list[str]()
    for _ in range(chance.randint(1, 6)):
        text = f"{question} {ground.words(chance.randint(1, 12))}"
        ground.axes.cosines[text] = chance.uniform(0.5, 0.99)
        ids.append(ground.add(text, importance=chance.random()))
    ground.noise()
    if chance.random() < 0.3 and profile == "mesh":
        ids.append(ground.add(ground.words(5), triggers=question))
    ground.later()
    asked = {"profile": profile, "limit": 20}
    return Case(f"shown by {profile}", None, mesh, chance.choice(ids), question, asked)


def shown_by_points(ground: Ground) -> Case:
    mesh, word = ground.open(), ground.word()
    ground.noise()
    ids = [ground.add(ground.words(5), triggers=word) for _ in range(3)]
    ground.later()
    asked = {"profile": "points"}
    return Case("shown by points", None, mesh, ground.chance.choice(ids), word, asked)


def let_through(ground: Ground) -> Case:
    """An option of the call removes the obstacle."""
    chance, question = ground.chance, ground.words(3)
    text = f"{question} {ground.words(3)}"
    if chance.random() < 0.5:
        mesh = ground.open({"project": "mine"})
        span = {"valid_from": NOW - 9 * DAY, "valid_until": NOW - 5 * DAY}
        id_ = ground.add(text, **span, scope=Scope(project="other"))
        asked: dict[str, Any] = {"across": ["project"], "see_across": ["project"]}
        asked["valid_at"] = NOW - 6 * DAY
    else:
        status = chance.choice([name for name in STATUSES if name != "deleted"])
        session = {"session": "past", "session_days": 30} if status == "expired" else {}
        mesh = ground.open(session)
        id_ = hidden(ground, status, text, {"tags": ["wanted"]})
        asked = {"include": [Status(status)], "filter": "tags = 'wanted'"}
    ground.later()
    return Case("let through", None, mesh, id_, question, asked)


def in_the_pack(ground: Ground) -> Case:
    mesh, question = ground.open(), ground.words(3)
    id_ = ground.add(f"{question} {ground.words(4)}")
    ground.noise()
    ground.later()
    return Case("in the pack", None, mesh, id_, question, {"max_tokens": 1_000})
