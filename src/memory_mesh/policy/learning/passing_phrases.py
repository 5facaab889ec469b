"""Patterns of what passes: of the task at hand, of the moment, and of what does not work."""

import re
from functools import cache

from memory_mesh.policy.learning.statement_phrases import any_of


@cache
def momentary() -> re.Pattern[str]:
    """Pattern of what is so at the moment, and passes."""
    return any_of(
        r"this morning|today|tonight|right now|at the moment|currently|just now|atm|again|tomorrow|"
        r"later|this (?:week|time|afternoon|evening)|in a meeting|for now|in a (?:minute|sec|bit)|"
        r"i'?ll|i will|i'?m going to|let me|i need to|i have to|i'?m not|i meant|for (?:the|this|a|"
        r"our) (?:demo|test|task|moment|prototype|experiment|presentation)|temporar\w+|just for|"
        r"(?:in )?the (?:mock|mockup|design|screenshot|figma|picture|image) (?:has|shows|is)|"
        r"in the (?:mock|mockup|screenshot|picture)|(?:make|fix|replace|change|remove|move|rename|"
        r"update|debounce|refactor|turn|put|clean|speed) (?:it|this|that|them)|i had|i forgot to|"
        r"typo|the other one|that one|this one|gerade|heute|morgen|hoy|ma\u00f1ana|aujourd'hui|"
        r"demain|(?:this|that) (?:one|task|test|pr|file|function|list|view|page|table|component|"
        r"screen|method|class|branch|commit|case|line|form|modal|dialog|column|loop|endpoint)|"
        r"same (?:as|thing)"
    )


@cache
def ailments() -> re.Pattern[str]:
    """Pattern of words that tell that something does not work."""
    return any_of(
        r"fail(?:s|ed|ing)?|broke(?:n)?|breaks?|breaking|crash(?:es|ed|ing)?|hangs?|hung|"
        r"stuck(?! (?:on|with))|wrong|missing|times? out|timed out|timing out|flaky|slow(?:er|ly)?|"
        r"doesn'?t work|not working|(?:is|are) down|leaks?|leaking|regression|bug(?:gy)?|weird|"
        r"ugly|empty|undefined|null|nan|throws?|throwing|errors? out|disappears?|vanish(?:es)?|"
        r"flickers?|too (?:big|small|short|high|low|long|many|few|wide|late|early|much)|"
        r"should (?:be|have|not|say|go|show|return|look)|50\d|40\d|an? (?:error|bug|problem|issue|"
        r"timeout)|problems?|problem[ae]?|fehler|kaputt|rot|geht nicht|fallos?|falla|roto|un error|"
        r"erreurs?|panne|cass\u00e9e?|rouge"
    )


@cache
def politeness() -> re.Pattern[str]:
    """Pattern of words before an order."""
    return re.compile(r"^(?:(?:please|pls|just|now|then|next|first|bitte)\s+)+", re.IGNORECASE)


@cache
def consequences() -> re.Pattern[str]:
    """Pattern of words after which comes what would happen otherwise."""
    return re.compile(r"\b(?:otherwise|or else|because|since|so that|if)\b", re.IGNORECASE)


@cache
def at_the_end() -> re.Pattern[str]:
    """Pattern of `always` at the end of a sentence."""
    return re.compile(
        r",\s*(?:always|ever|every time|at all times|from now on)\s*[.!]*$", re.IGNORECASE
    )


@cache
def news() -> re.Pattern[str]:
    """Pattern of what the user learned from others and now states."""
    return re.compile(r"\b(?:told|informed|reminded) (?:me|us)\b|\bconfirmed\b", re.IGNORECASE)


@cache
def things() -> re.Pattern[str]:
    """Pattern of a subject whose first word may be a verb as well."""
    return re.compile(
        r"(?:default|test|build|deploy|release|cache|queue|branch|log|support|backup|index|import|"
        r"export|report|request|commit|merge|access|search|host|port|name|label|order|plan|"
        r"process|query|record|schedule|sync|update|upload|monitor|filter|format|review|rate|"
        r"limit|code|data|design|store)s?(?: [\w-]+){0,2} (?:is|are|was|were|has|have|must|needs?|"
        r"uses?|runs?|goes?|lives?)\b",
        re.IGNORECASE,
    )


@cache
def no_setting() -> re.Pattern[str]:
    """Pattern of subjects that are named in a task: `the new class is OrderService`."""
    return re.compile(
        r"\b(?:endpoint|name|class|function|method|variable|route|path|link|file|ticket|component|"
        r"branch|page|screen)$",
        re.IGNORECASE,
    )


@cache
def joints() -> re.Pattern[str]:
    """Pattern of what joins an order to a statement: a comma or a dash, and `so`, `please`."""
    return re.compile(
        r"(?:[,;]\s+(?:(?:so|and|then|now|please|pls|also)\s+){0,3}|\s+-+\s+|\s+(?:so|"
        r"and)\s+(?:now\s+|then\s+)?(?:please|pls)\s+)(?=\w)",
        re.IGNORECASE,
    )


@cache
def clauses() -> re.Pattern[str]:
    """Pattern of what parts an order from its reason."""
    return re.compile(
        r"[,;]\s+(?:because\s+|since\s+|as\s+|cause\s+)?|\s+-+\s+|\s(?:because|since|cause|cuz|"
        r"weil|porque|parce que|car)\s+",
        re.IGNORECASE,
    )


@cache
def of_the_task() -> re.Pattern[str]:
    """Pattern of a subject that is rather of the task at hand than of the project."""
    return re.compile(r"(?:in )?(?:the|this|that|an?)\s+(?!\w+s$)", re.IGNORECASE)


@cache
def no_subject() -> re.Pattern[str]:
    """Pattern of subjects of which nothing lasting is said."""
    return re.compile(
        r"\b(?:errors?|bugs?|issues?|problems?|typos?|meetings?|demos?|deadlines?|answers?|"
        r"questions?|the files?|lines?|results?|outputs?|points?|idea|plan|diff|pr|patch|fix)$",
        re.IGNORECASE,
    )


@cache
def on_screen() -> re.Pattern[str]:
    """Pattern of parts of a screen or of code, which are mostly of the task at hand."""
    return re.compile(
        r"^(?:the|this|that) (?:new |old |first |second |last |other |whole )?(?:button|text|link|"
        r"image|icon|page|modal|form|list|table|column|row|field|header|footer|dropdown|menu|"
        r"label|title|dialog|screen|view|component|function|method|class|variable|loop|test|"
        r"spinner|toast|sidebar|tab|card|user)$",
        re.IGNORECASE,
    )


@cache
def reasons() -> re.Pattern[str]:
    """Pattern of words that give a reason, a limit or a consequence."""
    return re.compile(
        r"\b(?:so|because|since|otherwise|not|never|always|only|must|can'?t|cannot|don'?t|before|"
        r"first|unless|instead|except|no|\d\w*|weil|damit|porque|car)\b",
        re.IGNORECASE,
    )
