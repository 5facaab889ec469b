"""Patterns of English phrases around rules: what announces one, what denies one, what worked.

Each is compiled when the first memory is read. Texts have straight apostrophes.
"""

import re
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern


@cache
def announcements() -> re.Pattern[str]:
    """Pattern of the words that announce a rule, at the start of a sentence."""
    nouns = (
        r"lessons?(?:\s+learn(?:ed|t))?|rules?(?:\s+of\s+thumb)?|take-?aways?|moral|polic(?:y|ies)|"
        r"note\s+to\s+(?:self|myself|ourselves|all)|reminder|learnings?|guideline|convention|"
        r"advice|"
        r"conclusion|consequence|prevention|standing\s+order|best\s+practice|ps|tip|psa|tl;?dr|"
        r"promise\s+to\s+(?:self|myself)|"
        r"mental\s+note|heads[- ]?up|watch\s+out|warning\s+to\s+(?:self|all)|what\s+to\s+do|"
        r"better|safer|correct"
    )
    of = (
        r"(?:\s+(?:for|of|from|to|here|today|this|that|the|us|me|all|everyone|next|time|in|future|"
        r"self|story|day|new|is|was))*"
    )
    times = (
        r"next\s+time(?:\s+(?:i|we|you|around)\b)?|from\s+now\s+on|from\s+here\s+on|"
        r"in\s+(?:the\s+)?future|"
        r"going\s+forward|henceforth|as\s+of\s+(?:now|today)|for\s+(?:the\s+)?future|"
        r"for\s+next\s+time|"
        r"another\s+time"
    )
    important = (
        r"it(?:'s|\s+is)\s+(?:really\s+|very\s+|so\s+|always\s+)?(?:important|essential|crucial|"
        r"vital|critical|"
        r"necessary|mandatory|best|better|safer|wise|wiser|advisable|imperative|(?:good|"
        r"best)\s+practice|worth\s+it|a\s+must|"
        r"a\s+good\s+idea|key)\s+to|it\s+pays\s+to|better\s+to|(?:the\s+)?(?:right|best|safe|"
        r"correct)\s+(?:thing|way|approach)\s+(?:here\s+)?is\s+to|"
        r"there's\s+no\s+way\s+around(?=\s+\w+ing)"
    )
    learned = (
        r"(?:what\s+)?(?:i|we)(?:'ve|\s+have)?\s+(?:now\s+|all\s+|also\s+|just\s+)?(?:learn(?:ed|"
        r"t)|agreed|decided|"
        r"concluded|settled|realised|realized|resolved)(?:\s+(?:the\s+hard\s+way|from\s+(?:this|"
        r"that|it)|here|today|"
        r"again|my\s+lesson|our\s+lesson))*\s*(?:that|to|:|,|is|was|on)?(?:\s+(?:that|to))?"
    )
    again = (
        r"(?:not\s+doing\s+(?:that|this|it)\s+again|never\s+again|won't\s+happen\s+again|"
        r"lesson\s+learn(?:ed|t))"
    )
    return re.compile(
        rf"\s*(?:(?:so|and|but|anyway|also|please|ok|okay|well|thus|hence|therefore|consequently|"
        rf"big|my|our|the|a|main|"
        rf"key|hard|general|new|only|one)[,:]?\s+)*"
        rf"(?:(?:{nouns})\b{of}\s*(?:[:,;.]|-+|–|—|(?<=is)|(?<=was))\s*(?:(?:that|to)\s+)?"  # noqa: RUF001
        rf"|(?:{times})\b\s*[:,;-]?\s*|(?:{important})\s+|(?:{learned})[:,]?\s+|"
        rf"(?:{again})\s*[:,;.-]\s*"
        r"|(?:remember|bear\s+in\s+mind|keep\s+in\s+mind|mind)(?:\s+that|\s+to|:|,)\s+)",
        re.IGNORECASE,
    )


# Words before a rule that are not part of it.
openers = lazy_pattern(
    r"\s*(?:(?:so|and|but|anyway|also|please|ok|okay|well|thus|hence|therefore|again|instead|"
    r"just|then|"
    r"seriously|really|first|yes|no|folks|people|guys|team|everyone|everybody|all),?\s+"
    r"(?=\S)|[-*>•]\s+)+",
    re.IGNORECASE,
)


# A clause that can only be an instruction.
strong = lazy_pattern(
    r"(?:always|never)\s+(?!(?:mind|again|ever|been|seen|had|heard|knew|known|thought|got|a|"
    r"an|the|my|his|her|"
    r"so|such|too|great|good|nice|fun|happy|glad|lovely|pleasant|nicer|better|best|worse|"
    r"easier|interesting|"
    r"surprised|impressed|amazed|amazing|ready|there|here|one|something|someone|nothing|has|"
    r"have\s+(?:i|we)|"
    r"worked|works|fails|happens|was|were|is|are|did|does|in|on|at|with|without\s+\w+ing|"
    r"more|less|"
    r"true|funny|welcome|worth|easy|hard|wrong|right|sunny|late|early|busy|"
    r"the\s+same)\b)[a-z][\w-]*"
    r"|(?:do\s+not|don't|dont)\s+(?!(?:worry|bother|panic|mind|care|know|think|see|"
    r"understand|get\s+me\s+wrong|"
    r"ask\s+me|be\s+(?:sad|afraid|shy|silly|sorry)|sweat|hesitate|you|we|they|have|need|want|"
    r"miss|believe|feel|"
    r"like|stress|remember|recall|seem|quote\s+me|laugh|judge|blame\s+me|wait\s+up|"
    r"hold\s+your)\b)\w+"
    r"|avoid\s+\S|ensure\s+\S|make\s+(?:absolutely\s+|very\s+)?(?:sure|certain)\s|"
    r"be\s+(?:sure|careful|certain)\s+(?:to|that|not)\s"
    r"|see\s+to\s+it\s+that\s|remember\s+to\s|don't\s+forget\s+to\s|do\s+not\s+forget\s+to\s|"
    r"beware\s+of\s|"
    r"under\s+no\s+circumstances\s|stop\s+\w+ing\s|prefer\s+\S|refrain\s+from\s|"
    r"watch\s+out\s+for\s|"
    r"must\s+(?:not\s+)?(?!have\b|be\s+an?\b)\w+\s|no\s+more\s+\w+ing\s|take\s+care\s+(?:to|"
    r"that|not)\s|"
    r"think\s+(?:twice|about)\s|hands\s+off\s|(?:stay|keep|steer)\s+(?:away|clear)\s+(?:from|"
    r"of)\s|stick\s+(?:to|with)\s",
    re.IGNORECASE,
)


# A clause in front of an instruction: `if …,`, `before …,`.
conditions = lazy_pattern(
    r"(?:if|when|whenever|before|after|once|unless|until|while|as\s+soon\s+as|any\s+time|"
    r"every\s+time|for|with|on|"
    r"in|inside|within|instead\s+of|to|rather\s+than|where|wherever|since|because|"
    r"as)\b[^,;]{2,140},\s+",
    re.IGNORECASE,
)


# A modal phrase: group `who` is its subject, `modal` the phrase.
duties = lazy_pattern(
    r"(?P<who>[^,;]{1,120}?|)\s*+\b(?P<modal>(?:really\s+|always\s+)?(?:must(?:n't)?|"
    r"should(?:n't)?|"
    r"needs?\s+to|need\s+not\s+to|ha(?:s|ve)\s+to|wants?\s+to|(?:'ve|'s|has|have)\s+got\s+to|"
    r"gotta|ought\s+to|shall|had\s+better|"
    r"'d\s+better|(?:is|are)\s+to\s+be|(?:is|are)\s+supposed\s+to|may\s+(?:never|not|only)|"
    r"(?:can(?:not|'t))\s+(?=be\s)|"
    r"(?:is|are)\s+(?:not\s+allowed|forbidden|mandatory|required|off[- ]limits|banned|"
    r"obligatory)))\b"
    r"(?P<not>\s+(?:not|never)\b)?(?P<rest>[^\n]*)",
    re.IGNORECASE,
)


# A statement that something needs or belongs: a rule for things.
needs = lazy_pattern(
    r"(?P<who>[^,;:]{2,80}?)\s++(?:always\s+|also\s+)?(?P<verb>needs?|requires?|belongs?|"
    r"deserves?|calls?\s+for)\s+"
    r"(?!to\b|more\s+time|some\s+time|time\b|help|investigat|further|another\s+look|"
    r"a\s+(?:closer\s+)?look|attention|"
    r"discussion|a\s+(?:second|third)\s+(?:look|try|attempt)|work\b|sleep|coffee|a\s+break|an?\s+(?:ticket|issue|"
    r"answer|decision|owner|new)\b)\S",
    re.IGNORECASE,
)


# Words that say that a rule was only proposed, is denied or is not certain.
denials = lazy_pattern(
    r"\b(?:propos(?:ed|es|al)|suggest(?:ed|s|ion)|voted\s+(?:it\s+|that\s+|this\s+)?down|"
    r"vetoed|rejected\s+(?:it|that|this|the\s+(?:idea|proposal|rule|suggestion))|turned\s+"
    r"(?:it\s+|that\s+)?down|overruled|decided\s+against|dropped\s+the\s+(?:idea|rule)|"
    r"against\s+(?:it|that|the\s+idea)|"
    r"disagree[ds]?|no\s+consensus|no\s+longer\s+(?:needs?|necessary|required|applies|valid|"
    r"true|have|has)|any\s*more$|(?:we|i|it|they|you|he|she|this|that)\s+used\s+to|no\s+need|"
    r"needn't|(?:don't|doesn't|do\s+not|"
    r"does\s+not|didn't)\s+(?:have|need)\s+to|maybe|perhaps|could\s+(?:try|also|perhaps)|"
    r"would\s+be\s+nice|"
    r"wonder(?:ing|s)?|not\s+sure|unsure|undecided|someone\s+should|somebody\s+should|"
    r"some\s+(?:people\s+)?say|"
    r"myth|nonsense|bad\s+advice|(?:rule|advice)\s+(?:was|is)\s+wrong|claims?\s+that|claimed|"
    r"insists?|insisted|"
    r"wanted\s+to|asked\s+(?:if|whether)|joked?|kidding|in\s+theory|supposedly|allegedly|"
    r"(?:i|we)\s+could|the\s+(?:docs?|manual|book|article|blog)\s+(?:says?|claims?)|(?:he|"
    r"she|they)\s+(?:says?|thinks?|wants?))\b",
    re.IGNORECASE,
)


# A task for later, which is no rule.
errands = lazy_pattern(
    r"\b(?:tomorrow|later|tonight|this\s+(?:afternoon|evening|week)|next\s+(?:week|month|"
    r"sprint|monday|tuesday|wednesday|"
    r"thursday|friday)|on\s+monday|look(?:ing)?\s+into|investigat\w+|follow\s+up|find\s+out|"
    r"figure\s+out|dig\s+into|"
    r"get\s+back\s+to|ping\s+me|let\s+me\s+know|see\s+(?:above|below|thread|ticket|attached)|"
    r"asap|when\s+i\s+have\s+time|"
    r"to-?do|open\s+a\s+ticket|ask\s+[A-Z]\w+|wait\s+(?:for\s+)?(?:the\s+)?(?:reply|answer|"
    r"response))\b",
    re.IGNORECASE,
)


# What follows `should` and `must` where they tell no duty.
expectations = lazy_pattern(
    r"\s*(?:be\s+(?:fine|ok|okay|good|enough|gone|fixed|back|done|safe|easy|possible|"
    r"interesting|an?\s|the\s|some|"
    r"related|due\s+to|ready|faster|better|quick|resolved|happy|proud)|work\b|help\b|"
    r"do\s+(?:it|the\s+trick)\b|fix\b|solve\b|"
    r"have\b|say\b|admit\b|mention\b|take\s+(?:about|\d)|arrive|land\b|recover|happen|"
    r"probably|look\s+like|see\b|also\s+work|"
    r"celebrate|thank|talk\b|meet\b|discuss|be\s+(?:seeing|getting|able)|come\s+back|"
    r"go\s+away)",
    re.IGNORECASE,
)


# `I should have done`: group `verb` is the participle.
regrets = lazy_pattern(
    r"(?:i|we|you)\s+(?:really\s+|probably\s+)?(?:should(?P<not>n't|\s+not|\s+never)?"
    r"(?:'ve|\s+have|a)|ought\s+to\s+have)(?P<never>\s+(?:never|not))?"
    r"(?:\s+(?:just|first|at\s+least|also|simply))?\s+(?P<verb>[a-z][\w-]*)\b",
    re.IGNORECASE,
)


# Words that say that the cause or the cure is not known.
unsolved = lazy_pattern(
    r"\b(?:no\s+idea|unknown|unclear|not\s+(?:sure|clear)|(?:don't|do\s+not|didn't|"
    r"doesn't)\s+know|nobody\s+knows|"
    r"no\s+one\s+knows|(?:couldn't|could\s+not|can't|cannot|"
    r"unable\s+to)\s+(?:be\s+)?(?:reproduc\w+|explain|find|figure|tell)|"
    r"mystery|by\s+itself|on\s+its\s+own|without\s+anyone|still\s+(?:fail\w*|broken|"
    r"happen\w*|crash\w*|looking|investigating|"
    r"open|waiting|red|there|the\s+same|see(?:ing)?)|(?:didn't|did\s+not|doesn't)\s+(?:help|"
    r"work|change\s+anything|fix)|"
    r"no\s+(?:luck|repro|effect|change)|to\s+no\s+avail|same\s+(?:error|result|problem)|"
    r"gave\s+up|somehow|magically|"
    r"flapping|(?:still|are|is|am|i'm|we're)\s+waiting\s+for|will\s+(?:look|check|"
    r"investigate|see|dig|retry|try|ask)|for\s+now|temporar\w+|"
    r"as\s+a\s+stopgap|whatever|shrug)\b",
    re.IGNORECASE,
)


# Words that say that a change helped.
worked = lazy_pattern(
    r"\b(?:works?|worked|working|green|passe[sd]|passing|passes|fine|ok|okay|gone|"
    r"smooth(?:ly)?|quiet|stable|clean|"
    r"fixed|solved|resolved|cured|sorted|drained|recovered|succeed(?:s|ed)|healthy|"
    r"back\s+(?:up|to|online|in)|"
    r"came\s+(?:right\s+|straight\s+)?(?:up|back\s+up)|came\s+right|went\s+(?:through|away|"
    r"down|green|out|fine|back)|"
    r"got\s+through|(?:was|is|went|all)\s+through|hasn't|haven't|not\s+(?:come\s+back|seen|"
    r"happened|one)|"
    r"(?:no|zero|without)\s+(?:more\s+|further\s+|new\s+|single\s+)?(?:errors?|failures?|"
    r"crash\w*|timeouts?|doubles?|"
    r"duplicates?|complaints?|problems?|issues?|drops?|leaks?|flakes?|restarts?|incidents?|"
    r"warnings?|misses|ooms?|deadlocks?|conflicts?)|"
    r"since(?:\s+then)?|never\s+(?:again|came|happened)|stopped|disappeared|vanished|holds?|"
    r"steady|flat|"
    r"from\s+\S+(?:\s+\w+)?\s+(?:down\s+)?to\s+\S+|dropped\s+to|down\s+to|faster|"
    r"instant(?:ly)?|in\s+(?:under\s+)?\d+|"
    r"\d+\s+of\s+\d+|\d+\s*/\s*\d+|did\s+(?:it|the\s+trick)|that\s+was\s+it|all\s+good|happy|"
    r"parses?|boots?|"
    r"starts?\s+(?:up|again)|builds?\s+again|again|so\s+far|ever\s+since|(?:it|they|all|"
    r"everything|job|jobs|suite)\s+(?:now\s+)?(?:ran|runs|runs|loads|finishes|starts|boots|"
    r"passes|builds|holds|"
    r"finished|completes|completed|connects|connected|logs\s+in|renders|deploys|compiles|"
    r"resolves)|cleanly|reliabl[ey]|"
    r"dropped\s+(?:from|by|to)|fell\s+(?:from|by|to)|halved|for\s+(?:a|two|three|four|"
    r"\d+)\s+(?:days?|weeks?|months?)|peace)\b",
    re.IGNORECASE,
)


# Phrases that name the fix: group `how` says what was done.
cures = lazy_pattern(
    r"\b(?:(?:fixed|solved|resolved|cured|sorted|repaired|got\s+(?:it|around\s+it)|"
    r"worked\s+around)\b[^.;:]{0,40}?\s+(?:by|with|via)"
    r"|(?:the\s+|my\s+|our\s+|proper\s+|real\s+|actual\s+|working\s+){0,4}(?:fix|solution|remedy|"
    r"cure|resolution|answer)"
    r"(?:\s+(?:here|for\s+(?:it|this|us|me)))?\s*(?:was|is|:|=|-|"
    r"turned\s+out\s+to\s+be)(?:\s+(?:simply|just))?(?:\s+to)?"
    r"|what\s+(?:fixed|helped|worked|solved)(?:\s+(?:it|in\s+the\s+end))?\s*(?:was|is|:)"
    r"|(?:it|that|this|which)\s+(?:took|required)(?=\s+(?:a|an|the|"
    r"\w+ing)\b))\s+(?P<how>\S[^\n]*)",
    re.IGNORECASE,
)


# Words that tell of a failure.
troubles = lazy_pattern(
    r"\b(?:errors?|\w+(?:Error|Exception)|exceptions?|bugs?|fail(?:s|ed|ing|ures?)?|"
    r"crash(?:es|ed|ing|loop\w*)?|"
    r"broke(?:n)?|breaks?|outages?|time[ds]?[ -]?outs?|timing\s+out|regressions?|leak(?:s|ed|"
    r"ing)?|panic(?:s|ked)?|"
    r"hung|hangs?|froze(?:n)?|freez\w+|stuck|lost|los(?:e|t|s)|wiped|overwr\w+|corrupt\w*|"
    r"garbled|duplicated?s?|"
    r"wrong(?:ly)?|missing|refused|denied|rejected|blocked|slow(?:ed)?|incidents?|down|"
    r"dead(?:lock\w*)?|killed|OOM\w*|"
    r"unnoticed|accident\w*|destroyed|deleted|flaky|flak\w+|stale|[45]\d\d(?:s|'d)|"
    r"HTTP\s+[45]\d\d|[45]\d\d\s+(?:errors?|responses?)|segfault\w*|exit\s+code|red|"
    r"did\s+nothing|didn't\s+\w+|wasn't\s+\w+|couldn't\s+\w+|conflict(?:s|ed|ing)?|oops|"
    r"mistakes?|forgot(?:ten)?|"
    r"problems?|issues?|complain\w*|twice|outdated|unusable|leftover|root\s+cause|postmortem|"
    r"burn(?:ed|t))\b",
    re.IGNORECASE,
)


# Verbs in the past or present that make a clause a statement.
finite = lazy_pattern(
    r"\b(?:was|were|is|are|isn't|wasn't|aren't|weren't|has|had|hasn't|did|didn't|does|"
    r"doesn't|went|came|got|broke|"
    r"fails?|failed|hung|froze|crashed|crashes|took|takes|kept|shows?|showed|says?|said|"
    r"happened|started|stopped|ran|"
    r"runs|seems?|looks|looked|works|worked|gave|gives|returned|returns|threw|throws|died|"
    r"couldn't|can't|cannot|won't|"
    r"timed|hit|exited|became|turned|stayed|began|blocked|came|grew|lost|passed|passes|sat|"
    r"ended|keeps|still)\b",
    re.IGNORECASE,
)


# The words that announce a rule at the end of a sentence.
trailing = lazy_pattern(
    r"(?:,|(?<![\s,]))\s++(?:and\s+)?(?:from\s+(?:now|here|today)(?:\s+on(?:wards?)?)?|next\s+time|"
    r"in\s+(?:the\s+)?future|going\s+forward|"
    r"as\s+of\s+(?:now|today)|henceforth|always|at\s+all\s+times|every\s+(?:single\s+)?time|"
    r"no\s+exceptions|"
    r"without\s+exception|period|full\s+stop)\s*[.!]*$",
    re.IGNORECASE,
)


# `X solved it` and `X would have caught it`: group `how` names X.
helpers = lazy_pattern(
    r"(?:(?P<how>[^,;:]{3,120}?)\s++(?:(?:finally\s+|then\s+|has\s+|have\s+)?(?:(?:fixed|"
    r"solved|resolved|cured|stopped|"
    r"sorted)\s+(?:it|that|this|them|the|both|everything)|did\s+(?:it|the\s+trick)|"
    r"made\s+(?:it|them)\s+(?:work|pass|go\s+away)|(?:solves|fixes|prevents|stops|avoids|"
    r"cures)\s+(?:it|that|this|them)|"
    r"helped(?=(?:\s+(?:it|here|a\s+lot|us))?\s*(?:[.!]|$))|brought\s+(?:it|this|that|them|"
    r"us)\s+(?:down\s+|back\s+)?to|"
    r"took\s+care\s+of\s+(?:it|that|this))\b|"
    r"would(?:'ve|\s+have)\s+(?:caught|prevented|avoided|saved|shown|stopped|helped|found))|"
    r"(?:this\s+|that\s+|it\s+)?(?:would|could)(?:'ve|\s+have)\s+been\s+(?:avoided|prevented|"
    r"caught)\s+(?:with|by)\s+(?P<with>[^,;]{3,120}))",
    re.IGNORECASE,
)


# `forgot to …`: group `what` says what was forgotten.
oversights = lazy_pattern(
    r"\b(?:forgot(?:ten)?|neglected|failed|omitted)\s+to\s+(?P<what>[a-z][\w-]*\s[^.;]{3,120})",
    re.IGNORECASE,
)


# `if I had read …` and `I wish we had read …`: group `verb` is the participle.
wishes = lazy_pattern(
    r"(?:if\s+(?:only\s+)?(?:i|we|you)(?:'d|\s+had)|had\s+(?:i|we)|(?:i|we)\s+wish\s+(?:i|"
    r"we)(?:'d|\s+had))\s+"
    r"(?:only\s+|just\s+|first\s+)?(?P<not>not\s+)?(?P<verb>[a-z][\w-]*)\b",
    re.IGNORECASE,
)


# `X is a must`: group `what` names X.
musts = lazy_pattern(
    r"(?P<what>[^,;:]{3,120}?)\s++(?:is|are)\s+(?:an?\s+(?:absolute\s+)?must|the\s+way(?:\s+to\s+go)?|"
    r"not\s+optional|non-negotiable|not\s+negotiable)(?:\s+(?:here|now|for\s+\S++))?\s*[.!]*$",
    re.IGNORECASE,
)
