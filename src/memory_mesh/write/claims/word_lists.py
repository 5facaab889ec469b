"""The words the reader knows: what has one value, what has many, what says nothing yet.

The lists are in `words.txt`. A noun that is in neither table is judged by the form it stands in;
when the form does not tell either, the claim is not certain.
"""

from memory_mesh.base.word_files import word_sets

_WORDS = word_sets(__file__, "words.txt")
ONE = _WORDS["ONE"]  # a thing has one of these at a time
MANY = _WORDS["MANY"]  # of these a thing may have many
FLEETING = _WORDS["FLEETING"]  # true of a moment: two values need not disagree
NOTES = _WORDS["NOTES"]  # `Note: …` heads a remark, no value of something
# Of a record that the line alone does not name.
FIELDS = _WORDS["FIELDS"]
# As a line of its own (`Deadline: Friday`) of some task, change or run that it does not name.
RECORDED = _WORDS["RECORDED"]
# One follows another: "the function", "line number", "the author of the PR" do not tell which.
PASSING = _WORDS["PASSING"]
LABELS = _WORDS["LABELS"]
# Of these a project, a household, a conversation has one: "the app" is enough to know which.
SETTING = _WORDS["SETTING"]
ORDER = _WORDS["ORDER"]

# Behind `is` they tell how a thing is, not which one it is: "my wife is pregnant".
DESCRIBING = _WORDS["DESCRIBING"]
DESCRIBING_ENDS = ("ful", "less", "ous", "able", "ible", "ish", "ant", "ing", "ed", "ive")

STATES = {
    word: f"{first} or {second}"
    for first, second in (
        ("enabled", "disabled"),
        ("open", "closed"),
        ("on", "off"),
        ("public", "private"),
        ("active", "inactive"),
        ("up", "down"),
        ("available", "unavailable"),
        ("required", "optional"),
        ("mandatory", "voluntary"),
        ("allowed", "forbidden"),
        ("supported", "unsupported"),
        ("locked", "unlocked"),
        ("online", "offline"),
        ("alive", "dead"),
        ("true", "false"),
        ("single", "married"),
        ("complete", "incomplete"),
    )
    for word in (first, second)
}

# Passed once and never undone: one maker, one place, one day.
MADE = _WORDS["MADE"]
# What holds of a thing one at a time, behind `is`; the value is the predicate it is filed under.
HELD = {
    ("married", "to"): "married to",
    ("engaged", "to"): "engaged to",
    ("employed", "by"): "work for",
    ("employed", "at"): "work for",
    ("based", "in"): "live in",
    ("located", "in"): "in",
    ("located", "at"): "at",
    ("located", "on"): "on",
    ("situated", "in"): "in",
    ("headquartered", "in"): "headquarters in",
    ("stored", "in"): "stored in",
    ("kept", "in"): "kept in",
    ("hosted", "on"): "hosted on",
    ("hosted", "at"): "hosted on",
    ("hosted", "by"): "hosted by",
    ("deployed", "on"): "deployed on",
    ("deployed", "to"): "deployed on",
    ("written", "in"): "written in",
    ("owned", "by"): "owned by",
    ("led", "by"): "led by",
    ("managed", "by"): "managed by",
    ("maintained", "by"): "maintained by",
    ("pinned", "to"): "pinned to",
    ("set", "to"): "is",
    ("capped", "at"): "capped at",
    ("limited", "to"): "limited to",
    ("licensed", "under"): "licence",
    ("due", "on"): "due on",
    ("scheduled", "for"): "scheduled for",
    ("kept", "for"): "kept for",
}
# Of these a thing may have many, behind `is`.
SHARED = _WORDS["SHARED"]

# Behind a subject: base form -> True has one value (with the named prepositions), False has many.
SINGLE_VERBS: dict[str, tuple[str, ...]] = {
    "live": ("in", "at"),
    "reside": ("in",),
    "work": ("for", "at"),
    "report": ("to",),
    "belong": ("to",),
    "cost": ("",),
    "weigh": ("",),
    "listen": ("on",),
    "default": ("to",),
    "resolve": ("to",),
    "point": ("to",),
    "expire": ("on", "in"),
    "open": ("at",),
    "close": ("at",),
}
MANY_VERBS = _WORDS["MANY_VERBS"]
OTHER_VERBS = _WORDS["OTHER_VERBS"]
VERBS: dict[str, str] = {
    form: base
    for base in (*SINGLE_VERBS, *MANY_VERBS, *OTHER_VERBS)
    for form in (base, {"go": "goes", "have": "has", "watch": "watches"}.get(base, base + "s"))
} | {"studies": "study", "carries": "carry", "flies": "fly", "has": "have"}
BASES = frozenset((*SINGLE_VERBS, *MANY_VERBS, *OTHER_VERBS)) - {"has"}
CHANGES = frozenset(("moved", "switched", "migrated", "changed", "transitioned", "went"))

COPULAS = frozenset(("is", "are", "am", "was", "were"))
PAST = frozenset(("was", "were"))
NEGATIONS = frozenset(("not", "never", "isn't", "aren't", "doesn't", "don't", "cannot", "wasn't"))
AUXILIARIES = frozenset(("do", "does", "don't", "doesn't"))
NOW = frozenset(("now", "currently", "nowadays"))
ALSO = frozenset(("also", "additionally", "sometimes", "often", "usually", "mostly", "partly"))
ADVERBS = NOW | ALSO | {"always", "still", "actually", "officially", "really", "only", "both"}
PREPOSITIONS = _WORDS["PREPOSITIONS"]
# Behind a value: where, when or for whom it holds.
QUALIFIERS = frozenset(("in", "on", "for", "at", "during", "within", "inside"))
LOCAL = frozenset(("locally", "remotely"))
STATED_HOW = frozenset(("stored in", "kept in"))  # a place, or a manner
CLASSES = _WORDS["CLASSES"]
PLACED = frozenset(("live in", "born in", "founded in", "created in", "formed in", "die in", "in"))

# A value with one of these goes on to tell.
STORIES = _WORDS["STORIES"]
# A sentence with one of these is no plain statement of what is.
UNSTATED = _WORDS["UNSTATED"]
OPENINGS = _WORDS["OPENINGS"]
INDEFINITE = frozenset(("a", "an", "another", "some", "each", "every", "any", "many", "several"))
SHORTENED = _WORDS["SHORTENED"]
COUNTRIES = _WORDS["COUNTRIES"] | {
    "united states",
    "united states of america",
    "united kingdom",
    "new zealand",
    "south africa",
    "south korea",
    "north korea",
    "saudi arabia",
    "sri lanka",
    "costa rica",
    "czech republic",
    "great britain",
    "north america",
    "south america",
}
TIMES = _WORDS["TIMES"]
OPENING_WORDS = _WORDS["OPENING_WORDS"]
CHANGED = _WORDS["CHANGED"]
CHANGED_ALONE = _WORDS["CHANGED_ALONE"]
CHANGE_AUXILIARIES = _WORDS["CHANGE_AUXILIARIES"]
CHANGE_ENDS = _WORDS["CHANGE_ENDS"]
