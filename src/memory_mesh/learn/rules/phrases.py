"""Patterns of English phrases that decide, correct, promise, ask or state.

Each is a table of words in one expression; a curly apostrophe is written straight before they are
looked for. They are made when the first conversation is judged.
"""

import re
from collections.abc import Callable

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.learn.rules.statement_phrases import any_of

CURLY = "\u2019"


def _any_of(phrases: str) -> Callable[[], re.Pattern[str]]:
    return lazy_pattern(rf"\b(?:{phrases})(?!\w)", re.IGNORECASE)


# Requests to remember something.
asked_to_keep = _any_of(
    "remember (?:that|this|to|my|our|the|i|we)|remember:|keep in mind|don't forget|"
    "do not forget|note (?:that|this|down)|make a note|"
    "for (?:future|the) (?:reference|record)|save this|"
    "write (?:this|that) down"
)


# Corrections.
corrections = _any_of(
    "no, (?:it|that|the|we|i|not|use)|"
    "that(?:'s| is| was) (?:wrong|not right|incorrect|outdated)|"
    "actually,? (?:it|we|the|i|that)|i meant|you (?:were|are) wrong|not .{1,40} but|correction|"
    "it should (?:be|have been)|is no longer|not anymore"
)


# Decisions.
decisions = _any_of(
    "(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled)|let's (?:go with|use|stick)|"
    "(?:we|i)(?:'re| are|'m| am) (?:going with|switching|moving to|migrating)|"
    "we(?:'ll| will) (?:use|go with|keep|drop|adopt)|the decision (?:is|was)|"
    "decided (?:to|on|against)"
)


# Preferences.
preferences = _any_of(
    "i (?:prefer|like|love|hate|dislike|always|never|usually|want you to)|my favou?rite|"
    "from now on|(?:always|never) (?:use|write|add|do|call|answer|send|put)|i'd rather|"
    "we (?:prefer|always|never)|in future"
)


# Commitments and deadlines.
commitments = _any_of(
    "(?:i|we)(?:'ll| will) .{1,60} (?:by|before|until|on|tomorrow|next)|deadline|due (?:on|by)|"
    "remind me|(?:i|we) promised?|(?:i|we) committed to|must be (?:done|ready|finished) by"
)


# Failures.
troubles = _any_of(
    "errors?|bugs?|fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed)?|exceptions?|broken|outages?|"
    "timed? ?outs?|regressions?|leaks?"
)


# Causes and remedies.
fixes = _any_of(
    "fixed by|the fix (?:is|was)|fixes it|fixed it|root cause|(?:re)?solved by|turned out|"
    "the (?:cause|reason|problem) (?:is|was)|caused by|works? (?:now|again)|workaround"
)


# Sentences that start with a request.
requests = lazy_pattern(
    r"\s*(?:(?:hi|hey|hello|ok|okay|so|and|please|now),?\s+)*"
    r"(?:(?:can|could|would|will) you|explain|show|tell|write|give|list|help|find|translate|"
    r"summari[sz]e|describe|what|how|why|when|where|who|which|is there|are there|do you|"
    r"does)\b",
    re.IGNORECASE,
)


# Statements.
states = _any_of(
    "is|are|was|were|am|has|have|had|i'm|it's|uses?|runs?|lives?|works?|needs?|listens?|stores?|"
    "costs?|takes?|starts?|ends?|belongs?|owns?|moved|expires?|means?|contains?|requires?|"
    "depends?|points?"
)


# A number, a capitalised name or code.
particulars = lazy_pattern(r"\d|\b[A-Z][\w-]+|`[^`]+`|\b\w+[_/.]\w+")


# Patterns of what passes: of the task at hand, of the moment, and of what does not work.


# What is so at the moment, and passes.
momentary = any_of(
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


# Words before an order.
politeness = lazy_pattern(r"^(?:(?:please|pls|just|now|then|next|first|bitte)\s+)+", re.IGNORECASE)


# A subject whose first word may be a verb as well.
things = lazy_pattern(
    r"(?:default|test|build|deploy|release|cache|queue|branch|log|support|backup|index|import|"
    r"export|report|request|commit|merge|access|search|host|port|name|label|order|plan|"
    r"process|query|record|schedule|sync|update|upload|monitor|filter|format|review|rate|"
    r"limit|code|data|design|store)s?(?: [\w-]+){0,2} (?:is|are|was|were|has|have|must|needs?|"
    r"uses?|runs?|goes?|lives?)\b",
    re.IGNORECASE,
)


# What joins an order to a statement: a comma or a dash, and `so`, `please`.
joints = lazy_pattern(
    r"(?:[,;]\s+(?:(?:so|and|then|now|please|pls|also)\s+){0,3}|(?<!\s)\s+-+\s+|(?<!\s)\s+(?:so|"
    r"and)\s+(?:now\s+|then\s+)?(?:please|pls)\s+)(?=\w)",
    re.IGNORECASE,
)


# A subject that is rather of the task at hand than of the project.
of_the_task = lazy_pattern(r"(?:in )?(?:the|this|that|an?)\s+(?!\w+s$)", re.IGNORECASE)


# Words that give a reason, a limit or a consequence.
reasons = lazy_pattern(
    r"\b(?:so|because|since|otherwise|not|never|always|only|must|can'?t|cannot|don'?t|before|"
    r"first|unless|instead|except|no|\d\w*|weil|damit|porque|car)\b",
    re.IGNORECASE,
)


# Patterns of preferences: of the person, and of a team in languages other than English.


# Words that say that something holds in all of a person's projects.
everywhere = lazy_pattern(
    r"\b(?:in|for|across|on|with|throughout|over) (?:all|every|any|each|"
    r"whatever)(?: single)?(?: of)?(?: (?:my|our|the))?(?: \w+)? ?(?:projects?|repos?|"
    r"repositor(?:y|ies)|code ?bases?|sessions?|machines?|chats?|conversations?|computers?|"
    r"laptops?|workspaces?)\b|\b(?:across|between) (?:my )?(?:projects|repos|machines)\b|"
    r"\b(?:no matter|regardless of) (?:which |what |the )?(?:project|repo|language)\b|"
    r"\bwherever i work\b|\bnot (?:just|only) (?:in |for )?(?:this|here)\b|\bin (?:allen|"
    r"jedem|all) (?:meinen |meiner )?(?:projekten?|repos?)|"
    r"\bauf allen (?:meinen )?(?:rechnern|maschinen)|\b(?:en|para) todos (?:mis|"
    r"los) (?:proyectos|repos)|\ben cualquier proyecto|\b(?:dans|pour|sur) (?:tous|toutes|"
    r"chacun de) (?:mes|les) (?:projets|d\u00e9p\u00f4ts|repos|machines)",
    re.IGNORECASE,
)


# `I always …`, `I prefer …`, `my editor is …`; group `verb` is what is done.
own_habits = lazy_pattern(
    r"\b(?:i(?:'d| would|'ll)?|i'?m|i am) (?:really |just |personally |strongly |generally |"
    r"still )*(?:(?:always|never|usually|normally|typically|only(?= (?:use|write|work|"
    r"code)\b)|rarely|almost always|almost never)\s+(?:[a-z]+ly\s+)?(?P<verb>[a-z][\w-]*)|"
    r"(?:prefer|rather (?:have|not|use|see)|favou?r)(?! (?:it|this|that|the|your|option)\b)|"
    r"(?:hate|dislike|can'?t stand|(?:don'?t|do not) (?:like|use)|like|love)(?= (?!it\b|"
    r"this\b|that\b|the\b|your\b|to\b|how\b|what\b|where\b|a\b|an\b))|(?:use|write|work|run|"
    r"want|need)\b.{1,60}\beverywhere|(?:an? (?!bit|moment|little|fan)|colou?r-?\s?blind|"
    r"dyslexic|left-handed|new to|blind|deaf|on (?:windows|linux|mac\w*|ubuntu|arch|debian|"
    r"fedora|wsl|nixos)\b)|(?:work|code) (?:with|in) (?!this\b|that\b|the\b|it\b|an?\b|"
    r"you\b))|\bmy (?:\w+ ){0,2}?(?:editor|ide|shell|terminal|os|keyboard|pronouns|time ?zone|"
    r"locale|language|tongue|role|job|background|preference|style|setup|font|theme|workflow|"
    r"eyesight|habit|name|machines?|laptop)s?(?: for \w+)? (?:is|are|was)\b|\b(?:ich|"
    r"i) (?:bevorzuge|mag|hasse|will immer|m\u00f6chte immer|arbeite (?:immer|nur|mit))\b|"
    r"\bich (?!habe?\b|hatte\b|bin\b|war\b)(?:\w+ ){1,3}?(?:immer|nie(?:mals)?|lieber|"
    r"grunds\u00e4tzlich|ungern)\b|\b(?:siempre |nunca |yo )?(?:prefiero|odio|detesto)\b|"
    r"\b(?:siempre|nunca) (?:uso|escribo|quiero|trabajo|hago|pongo)\b|\bme gustan?\b|"
    r"\bje (?:pr\u00e9f\u00e8re|d\u00e9teste|veux toujours)\b|\bje n'aime pas\b|\b(?:j'|je n'|"
    r"je ne )(?!ai\b)\w+ (?:toujours|jamais|que)\b|\bj'aime (?!bien )",
    re.IGNORECASE,
)


# Verbs after `I always` that tell of an event, not of a habit one wants kept.
told_of_oneself = lazy_pattern(
    r"(?:gets?|got|see|saw|had|have|said|say|forgets?|forgot|wonder\w*|thought|think|asked|"
    r"told|understood|understand|knew|know|heard|hear|end|run|noticed|mentioned|meant|mean|"
    r"tried|wanted|needed|seen|been|felt|feel|hoped|assumed|believed|liked|worked|had|hit|"
    r"lose|lost|mix|mixed|need)$",
    re.IGNORECASE,
)


# Wishes about how the assistant talks and works with its user.
of_answers = lazy_pattern(
    r"\b(?:answer|reply|respond|explain|talk|speak|address|call|ask|tell|show|remind|warn|"
    r"write to)(?:s|ing)? (?:\w+ )?(?:to |with )?me\b|\b(?:in|your|my|short|long|brief|"
    r"concise|detailed) (?:answers?|replies|responses?|explanations?|summaries)\b|\b(?:answer|"
    r"reply|respond)\b.{0,20}\b(?:in (?:english|german|french|spanish|\w+ish)|short|brief\w*)|"
    r"\b(?:antworte|schreib|sprich|frag|erkl\u00e4re?)\b(?: \w+)? (?:mir|mich|mit mir|immer|"
    r"bitte)|\b(?:resp\u00f3ndeme|cont\u00e9stame|h\u00e1blame|respuestas|expl\u00edcame)\b|"
    r"\b(?:r\u00e9ponds|parle|explique|\u00e9cris)(?:-moi| moi)?\b|\btes r\u00e9ponses\b|"
    r"\bfor me\b",
    re.IGNORECASE,
)


# `always` and `never`, also in German, Spanish and French.
always = lazy_pattern(
    r"\b(?:always|never|whenever|immer|nie(?:mals)?|siempre|nunca|toujours|jamais)\b",
    re.IGNORECASE,
)


# What a team does or must do, in German, Spanish and French.
foreign_rules = lazy_pattern(
    r"\bwir (?:verwenden|nutzen|benutzen|haben|setzen|deployen|arbeiten|testen|schreiben|"
    r"speichern|committen|mergen|unterst\u00fctzen|m\u00fcssen|d\u00fcrfen|releasen|loggen|"
    r"halten|legen|f\u00fchren|machen|nehmen|bauen|lassen)\b|\b(?:verwenden|nutzen|"
    r"benutzen) wir\b|\b(?:muss|m\u00fcssen|darf|d\u00fcrfen|soll|"
    r"sollen) (?:\w+ ){0,6}?(?:immer|nie(?:mals)?|nur|nicht|kein\w*|sein|werden|\u00fcber)\b|"
    r"\b(?:hei\u00dft|hei\u00dfen) \w|\b(?:l\u00e4uft|laufen|liegt|liegen|kommt|kommen|geht|"
    r"gehen) (?:\w+ )?(?:auf|in|im|unter|aus|\u00fcber|bei|beim|um|immer|mit)\b|(?:^|"
    r", )(?:immer|nie(?:mals)?) (?:\w+ ){0,4}\w+en\b|\bniemand (?:darf|soll)\b|(?:^|: |"
    r"\bhier )(?:die|der|das|unsere?|alle|jede[rs]?) .{2,50}? (?:ist|sind|nutzt|nutzen|"
    r"verwendet|verwenden|braucht|brauchen|hat|haben) .{0,40}(?:\d|/|_|\bnur\b|\bkein|"
    r"\bnicht\b|\bnie)|\b(?:bitte )?(?:kein\w*|nie|nur) [\w .-]{2,40} (?:hier|im projekt|"
    r"im repo|bei uns)\b|(?:^|: |\baqu\u00ed )(?:el|la|los|las|nuestr[oa]s?|todos los|"
    r"todas las) .{2,50}? (?:es|son|tiene|tienen|usa|usan|va|van) .{0,40}(?:\d|/|_|\bno\b|"
    r"\bsolo\b|\bnunca\b)|(?:^|: |\bici )(?:le|la|les|notre|nos|tous les|"
    r"toutes les) .{2,50}? (?:est|sont|a|ont|utilise|utilisent|va|vont) .{0,40}(?:\d|/|_|"
    r"\bpas\b|\bque\b|\bjamais\b)|\b(?:siempre|nunca|s\u00f3lo|solo|no) (?:usamos|utilizamos|"
    r"hacemos|ponemos|desplegamos|guardamos|escribimos|tocamos|subimos|se )|\b(?:usamos|"
    r"utilizamos|desplegamos|guardamos|tenemos|seguimos|escribimos)\b|\bhay que\b|"
    r"\bno se (?:debe|puede|toca|modifica|usa|sube)\w*\b|\b(?:debe|deben|tiene que|"
    r"tienen que) \w+|\b(?:corre|corren|vive|viven|est\u00e1n?) en\b|\b(?:usa|usan|requiere|"
    r"necesita) \w|^(?:ne |n')\w+ jamais\b|\bse (?:guarda|guardan|usa|usan|despliega|"
    r"despliegan|genera|generan)\b|\b(?:on|nous) (?:n'|ne )?(?:utilise|modifie|touche|commit|"
    r"met|fait|garde|d\u00e9ploie|\u00e9crit|stocke|travaille|teste|livre|merge|pousse|"
    r"\w+ons)\b|\bil (?:ne )?faut\b|\b(?:doit|doivent|ne doit|ne doivent) \w+|\b(?:tourne|"
    r"tournent|se trouve|se trouvent|viennent|vient) (?:sur|dans|de|sous)\b|\b(?:est|"
    r"sont) (?:interdite?s?|obligatoires?|stock\u00e9\w*|g\u00e9n\u00e9r\u00e9\w*)\b|"
    r"\b(?:toujours|jamais) \w+er\b",
    re.IGNORECASE,
)
