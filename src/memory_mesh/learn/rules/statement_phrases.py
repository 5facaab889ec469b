"""Patterns of English phrases by which a user states what lasts, and of those that rule it out.

Each is a table of words in one expression. Apostrophes may be missing, as people type; a curly one
is written straight before they are looked for. They are made when the first prompt is read.
"""

import re
from collections.abc import Callable
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern

_PLACE = (
    r"(?:repo(?:sitory|s)?|project|code ?base|team|company|monorepo|org(?:ani[sz]ation)?|package|"
    r"service|app(?:lication)?|module|product|shop)"
)
_KEEPING = (
    r"(?:use|run|deploy|target|support|keep|store|put|write|follow|prefer|require|name|call|ship|"
    r"release|build|host|pin|treat|version|avoid|stick|rely|own|log|test|merge|squash|rebase|tag|"
    r"cache|generate|import|commit|push|expose|touch|edit|change|modify|mock|depend|format|lint|"
    r"round|count|track|go|live|work|do|allow|accept|serve|encrypt|sign|validate|read|save|"
    r"document|publish|hard-?code|inline|vendor|check|review|have|stay|add|skip|force|delete|drop|"
    r"bump|catch|raise|throw|return|pass|share|start|end|sort|parse|send|ask|answer)"
)


def any_of(phrases: str) -> Callable[[], re.Pattern[str]]:
    """Returns the lazy pattern of these phrases as whole words."""
    return lazy_pattern(rf"(?<!\w)(?:{phrases})(?!\w)", re.IGNORECASE)


# Words at the start of a sentence that say nothing.
openers = lazy_pattern(
    r"(?:(?:ok(?:ay)?|oh|ah+|hm+|argh|ugh|damn|er+m?|um+|moment|true|exactly|well|so|and|but|"
    r"also|plus|btw|by the way|fyi|right(?! now)|yes|yeah|yep|yup|sure|hey|hi|hello|anyways?|"
    r"careful|attention|attn|warning|update|reminder|again|one (?:more )?thing|cool|great|"
    r"nice|perfect|thanks?|thx|thank you|just so you know|heads[- ]up|remark|context|"
    r"important|quick note|side note|for (?:context|info|the record|reference|"
    r"future reference)|in case you wonder|as i said|like i said|und|also|ach so|ach|gut|"
    r"danke|bueno|vale|oye|y|bon|alors|bonjour|hallo|hola|merci)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)


# A request to remember at the start of a sentence.
remembering = lazy_pattern(
    r"(?:please\s+|pls\s+|can you\s+|could you\s+|bitte\s+|por favor\s+)*(?:(?:remember|"
    r"memori[sz]e|keep in mind|bear in mind|make a note|take note|note down|note for (?:later|"
    r"next time|the future)|write down|don'?t (?:ever )?forget|do not forget|never forget|"
    r"save (?:this|that|to memory)|store (?:this|that|in memory)|merk(?:e)? dir|"
    r"(?:bitte )?merken|vergiss nicht|denk dran|notier(?:e)? dir|recuerda|no olvides|"
    r"ten en cuenta|anota|souviens-toi|rappelle-toi|retiens|n'oublie pas|garde en t\u00eate|"
    r"onthoud|ricorda(?:ti)?|lembra-te|lembre-se|zapami\u0119taj|kom ih\u00e5g|hat\u0131rla|unutma|"
    r"\u0437\u0430\u043f\u043e\u043c\u043d\u0438(?:\u0442\u0435)?|\u8bf7?\u8bb0\u4f4f|"
    r"\u8acb?\u8a18\u4f4f|\u899a\u3048\u3066\u304a\u3044\u3066(?:\u304f\u3060\u3055\u3044)?|"
    r"\uae30\uc5b5\ud574(?:\s?\uc918|\s?\ub46c)?|"
    r"note bien)(?!\s+(?:when|how|what|why|if|where|who|wie|was|me)\b)|(?:note|nota|notiz|"
    r"to remember|reminder)(?=\s*:|\s+(?:that|this)\b))[\s,:\uff1a\u3001\uff0c-]*"
    r"(?:(?:that|this|dass|que|qu'|dat|che|\u017ce|att|\u0447\u0442\u043e|of|down|please|bitte|"
    r"for (?:later|next time|the future))(?!\w)[\s,:-]*)*",
    re.IGNORECASE,
)


# The start of a question or a request, also without its mark.
questions = lazy_pattern(
    r"(?:(?:why|what|how|where|who|which|whose|is|are|am|was|were|do(?! not)|does|did|can|"
    r"could|would|will|should|shall|may|have|has|had|any|isn'?t|aren'?t|doesn'?t|don'?t (?:we|"
    r"you|i)|didn'?t|can'?t (?:we|you)|wouldn'?t|wonder\w*|whats|hows|wheres|warum|wieso|"
    r"weshalb|was|wie|wo|wann|wer|welche\w*|kannst|k\u00f6nntest|k\u00f6nnen wir|ist|sind|"
    r"hast|haben wir|soll(?:en|te)?|por qu\u00e9|qu\u00e9|c\u00f3mo|d\u00f3nde|cu\u00e1l|"
    r"cu\u00e1ndo|puedes|podr\u00edas|pourquoi|comment|quel\w*|est-ce|peux-tu|tu peux|"
    r"pourrais)\b(?!-)|o\u00f9\b)",
    re.IGNORECASE,
)


# Guesses, hypotheses, jokes, and what others say or want.
doubts = any_of(
    r"i (?:think|guess|suppose|believe|assume|suspect|doubt|hope|wonder|bet|feel like)|imo|"
    r"imho|maybe|perhaps|probably|presumably|possibly|apparently|might|could be|may be|"
    r"not sure|unsure|pretty sure|fairly sure|quite sure|almost certain|i'?m sure|i am sure|"
    r"seems?|looks? like|sounds? like|feels? like|afaik|iirc|afaict|no idea|no clue|"
    r"don'?t know|dunno|don'?t remember|can'?t remember|not certain|what if|suppose|supposed|"
    r"imagine|assuming|hypothetically|in theory|let'?s say|say we|if (?:we|i|you) (?:were|had|"
    r"switched|moved|used|could|would)|would(?! (?:rather|prefer|like you))|"
    r"could(?:n'?t)? (?:we|i|you|it)|thinking (?:about|of)|was thinking|could(?! not|n'?t)|"
    r"(?:we|you|i) should(?:n'?t)?|should(?:n'?t)? (?:we|i|you)|(?:once|until|when|before|"
    r"unless|if) we(?: have|'ve)? (?:decided?|agreed?|know|settled?)|pretend|at my (?:old|last|"
    r"previous)|in my (?:old|last|previous)|as an? (?:user|admin|customer|developer|visitor|"
    r"guest)|considering|lol|haha|rofl|lmao|what could go wrong|yeah right|oh great|"
    r"brilliant idea|just kidding|kidding|joking|/s|sarcasm|ich glaube|glaub ich|ich denke|"
    r"vielleicht|wahrscheinlich|vermutlich|k\u00f6nnte|angeblich|keine ahnung|creo que|"
    r"quiz\u00e1s?|tal vez|probablemente|a lo mejor|supongo|je (?:pense|crois)|peut-\u00eatre|"
    r"probablement|sans doute|according to|supposedly|allegedly|they say|people say|rumou?r"
)


@cache
def reports() -> re.Pattern[str]:
    """Pattern of what somebody else says, thinks or wants."""
    who = (
        r"(?:he|she|they|someone|somebody|everyone|everybody|people|(?:my|our|the|a|some|that|this|"
        r"his|her|their) [\w-]+(?: [\w-]+)?|(?!(?:we|i|you|it|my|our|no|which|that|this|to|not|"
        r"never|always|please|dont|don't|and|so|or)\b)[a-z][\w-]*)"
    )
    return re.compile(
        rf"(?:^|[,;:.]\s*|\b(?:and|but|because|so|that)\s+){who}\s+(?:also\s+|always\s+|just\s+|"
        r"keeps\s+)?(?:says?|said|saying|thinks?|thought|wants?|wanted|told|tells?|claims?|"
        r"claimed|believes?|insists?|insisted|suggests?|suggested|recommends?|recommended|"
        r"prefers?|preferred|likes?|hates?|argues?|argued|complains?|complained|asked|asks|"
        r"proposed|proposes|wishes|wrote|writes|would like|sagt|sagte|meint|m\u00f6chte|dice|"
        r"quiere|dit|veut)\b|^(?!(?:\w+ ){0,2}(?:i|we|you) )[a-z][\w-]*(?: [\w-]+){1,2} (?:says?|"
        r"said|recommends?|suggests?) (?!ok)|^(?!we\b|you\b|i\b|it\b|always\b|"
        r"never\b)[a-z]\w+ (?:always|never) \w+s (?:his|her|their|my|the)\b|\bback then\b|"
        r"\bin the old days\b|\b(?:we|i) used to (?!.*\bnow\b)|\bi told (?:him|her|them)\b|"
        r"\b(?:he|she|they|er|sie|ellos|\u00e9l|ils?|elles?) (?:always|never|use|uses|do|does|"
        r"immer|nie)\b|\b(?:in|at|from) (?:the|that|this|an?) (?:article|blog|talk|video|book|"
        r"tutorial|docs?|podcast|tweet|post)\b",
        re.IGNORECASE,
    )


# Words that say that something holds in the project, or from now on.
standing = lazy_pattern(
    rf"\b(?:in|for|within|across|throughout|of|at) (?:this|our|the whole|"
    rf"the entire) {_PLACE}\b|"
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|henceforth|by convention|"
    r"as a rule|house rule|(?:our|my|the) (?:coding |code |naming )?(?:style|conventions?|"
    r"rules?|naming|policy)(?= ?:)|project rule|(?:our|the|project|team) (?:convention|rule|"
    r"policy|standard|guideline)s? (?:is|are|here|says)|as (?:our|a) (?:convention|rule|"
    r"policy)|at all times|no exceptions|without exception|ever again|around here|on (?:this|"
    r"our) (?:project|team|repo)|for all (?:new|our|future) \w+|in diesem (?:projekt|repo\w*)|"
    r"bei uns|in unserem|ab (?:jetzt|sofort|heute)|k\u00fcnftig|in zukunft|grunds\u00e4tzlich|"
    r"en este (?:proyecto|repo\w*)|en nuestro|de ahora en adelante|a partir de ahora|"
    r"desde ahora|por norma|dans ce (?:d\u00e9p\u00f4t|projet|repo\w*)|dans notre|dans cette|"
    r"d\u00e9sormais|dor\u00e9navant|\u00e0 partir de maintenant)\b|\bhere (?=(?:follow|use|"
    r"are|is|must|have|go|live|get|need)\b)|\b(?:nobody|no one|everyone|everybody) here\b|"
    r"^(?:no|only) [\w /.-]{3,60} here\s*[.!]*$",
    re.IGNORECASE,
)


# What a team does: `we always …`, `we use …`.
habits = lazy_pattern(
    r"(?:\bwe(?:'ve| have)? (?P<how>always|never|only|usually|generally|normally|"
    r"typically|deliberately|intentionally|strictly|mostly)\s+(?P<verb>\w+)|\b(?:our|"
    r"all) (?!competitors?\b|customers?\b|clients?\b|boss\b|"
    r"managers?\b)[\w-]+(?: [\w/.-]+){0,4} (?:always|never|must)\b|\bwe(?:'ve| have| just|"
    r" already)* (?:migrated|moved|switched|dropped|replaced|upgraded|renamed|removed|"
    r"deprecated|standardi[sz]ed|banned|retired|adopted|split)\b)|"
    rf"\bwe(?: now| also| just| still| actually| no longer| (?:do not|don'?t|will not|won'?t|"
    rf"must(?: not|n'?t)?|cannot|can'?t|can only|may not|may only|have to|need to|"
    rf"needed to))* {_KEEPING}\b|"
    r"\bwe(?:'re|re| are)(?: now| still| only| not)? (?:on|using|running|targeting|"
    r"stuck (?:on|with)|bound to|required|obliged|not allowed|limited)\b|\b(?:our|"
    r"all(?: of)?(?: our| the)?|every|each|any|no) (?!time\b|competitor|customer|client|"
    r"boss\b|manager|need\b|problem|worries\b|idea\b)[\w-]+(?: [\w/.-]+){0,4} (?:always|never|"
    r"only|must|has to|have to|may|needs? to|go(?:es)?|follows?|uses?|lives?|runs?|belongs?|"
    r"starts?|ends?|comes?|requires?|needs?|logs?|emits?|sends?|expose|exposes|share|shares|"
    r"writes?|accepts?|keeps?|carry|carries|extends?|inherits?)\b|^(?:only [\w -]{3,40}|"
    r"nobody(?: \w+){0,3}|no one(?: \w+){0,3}) (?:may|can|are allowed|is allowed|has|have|"
    r"touches|uses|should)\b|^you (?:can'?t|cannot|must(?: not|n'?t)?|need to|"
    r"have to) .{3,60}(?:, (?:it|they|that|the \w+) (?:needs?|requires?|only|has|have)\b|"
    r"\b(?:because|before|unless|otherwise)\b)|^(?:to|in order to|before|"
    r"for) [^,]{3,60},? you (?:need|have|must|should)\b",
    re.IGNORECASE,
)


# `never expose …` and `always go through …`; group `verb` is to be a verb.
orders_for_good = lazy_pattern(
    r"(?:^|[,;:(]\s*|\s-+\s|\b(?:and|so|but|then|please|pls|thus|hence)\s+)(?:(?:always|"
    r"never(?! mind)|only ever|don'?t ever|do not ever|"
    r"under no circumstances)\s+(?:[a-z]+ly\s+)?)(?P<verb>[a-z][\w-]*)",
    re.IGNORECASE,
)


# `X must …`; group `who` is what has the duty.
duties = lazy_pattern(
    r"^(?P<who>[\w`/.'-]+(?: [\w`/.'-]+){0,6}?) (?:must(?: not|n'?t| never| always)?|"
    r"may (?:not|only|never)|(?:has|have) to|(?:is|are) (?:not allowed|forbidden|banned|"
    r"off[- ]limits|mandatory|required|read-only|frozen)|needs? to (?:be|stay|go|run|use)|"
    r"should (?:always|never)|shall|can only|are (?:always|never|only) (?:\w+ed|to|allowed|in|"
    r"via|through|under))\b",
    re.IGNORECASE,
)


_POINTING = (
    r"(?! (?:it|this|that|these|those|option (?:\w|one|two|three)|the (?:first|second|third|"
    r"last|other|latter))\b)"
)
# Decisions.
decisions = any_of(
    r"(?:we|i)(?:'ve| have|'re| are|'m| am)?(?: all| just| finally| now| both|"
    r" already)* (?:decided|agreed(?! with you)|chose|chosen|settled on|opted|voted|"
    r"committed to|"
    rf"(?:go(?:ing)?|went|stick(?:ing)?|stay(?:ing)?) with{_POINTING}|"
    r"(?:moving|switching|migrating|going back|sticking|staying|standardi[sz]ing) (?:to|on)|"
    r"not going with|dropping|deprecating|abandoning|getting rid of|giving up on|"
    r"no longer (?:use|using|support\w*|go\w*))|"
    rf"let'?s (?:go|stick|stay) with{_POINTING}|let'?s (?:settle on|standardi[sz]e on)|"
    rf"let'?s (?:not )?use{_POINTING} .{{2,40}} (?:for|instead|everywhere|from)|"
    r"(?:(?:the|our|final|my|team) )*decision(?: is| was|:)|(?:the|our) plan is to|"
    r"decided (?:to|on|against|not|that)|we(?:'ll| will) (?:use|go with|keep|drop|adopt|stay|"
    r"stick|move to|switch to|not)|it'?s decided|as (?:agreed|decided)|change of plans?|"
    r"wir (?:haben uns|haben) .{0,60}(?:entschieden|geeinigt|beschlossen)|wir (?:nehmen|"
    r"bleiben bei)|(?:hemos |)(?:decidi(?:mos|do)|acorda(?:mos|do))|vamos a usar|"
    r"nos quedamos con|(?:on a|nous avons) (?:d\u00e9cid\u00e9|choisi|convenu)|on (?:part sur|"
    r"reste sur)"
)


# What a thing of the project is, has, uses or does; group `who` is the thing.
facts = lazy_pattern(
    r"^(?P<who>[\w`/.@'+-]+(?: [\w`/.@'+-]+){0,7}?) (?:(?:now|also|only|always|never|just|"
    r"currently|automatically|does not|doesn'?t|do not|don'?t) )*(?:(?:uses?|runs? (?:on|with|"
    r"at|in|under|every|as|through|inside|only|against|from)|lives? (?:in|at|under|on|here)|"
    r"sits? (?:in|behind|on)|(?:is|are|gets?|get) (?:\w+ly )?(?:stored|written|generated|"
    r"built|deployed|hosted|pinned|owned|managed|named|called|kept|served|computed|cached|"
    r"derived|versioned|located|defined|configured|signed|encrypted|shared|mounted|maintained|"
    r"handled|exposed|limited|capped|synced|mirrored|loaded|rotated|validated|formatted|"
    r"tagged|released|run|done|sent|read|set|created|checked|tested|measured|counted|given|"
    r"meant|based|vendored|replaced|deprecated|licensed|translated|made|archived|flagged|"
    r"deleted|cut|protected|frozen|immutable|append-only|stateless|read-only|case-sensitive|"
    r"canonical|mandatory|optional|required)\b|(?:is|are|gets?) (?:\w+ly )?(?!caused|disabled|"
    r"blocked|messed|confused|changed|closed|opened|displayed|rendered|positioned|truncated|"
    r"cropped|aligned|needed|supposed|used in|failed|stopped|finished|fixed)\w{3,}ed (?:by|in|"
    r"from|to|with|on|at|via|as|per|through|into|under|every|once|only|automatically|before|"
    r"after)\b|go(?:es)? (?:through|to|via|out|in|into|live|under|next)|calls?|ends? (?:in|"
    r"with)|takes? (?:\w+ ){0,2}\d\w*|reads? (?:from|its|only)|writes? to|talks? to|speaks?|"
    r"listens? on|points? (?:to|at)|comes? from|belongs? to|owns?|happens? (?:only|on|every|"
    r"at|in|via)|depends? on|expires? (?:after|in|every|on)|requires?|expects?|supports?|"
    r"follows?|consists? of|stands? for|means|refers? to|maps? to|ships? (?:with|to|every)|"
    r"starts? (?:with|at|on|in)|deploys? (?:to|from|with|on|via)|stays? (?:in|on|at|with)|"
    r"(?:has|have) (?:no|two|three|four|five|six|its own|their own|a|an|only|\d+\w*)\b|"
    r"(?P<plainly>(?:is|are|isn'?t|aren'?t) (?:the|an?|our|in|on|at|under|behind|for|only|not|"
    r"utc|from|per)\b|needs?))(?!\w)|(?:is|are) (?=v?\d|https?://|"
    r"(?:(?-i:[\w./@-]*[A-Z_/@][\w./@-]*)|[\w-]+\.\w{2,4}\b)|[^,]{1,30},? not [\w-]+)|"
    r"(?:is|are) (?:always|never) (?=[^,]{2,40}, (?:never|not|always)\b)|are (?=[\w`-]+s\b))",
    re.IGNORECASE,
)


# Any plain statement: enough where the user corrects.
statements = lazy_pattern(
    r"\b(?:is|are|was|were|it'?s|that'?s|isn'?t|aren'?t|wasn'?t|came|comes|van|va|usan?|"
    r"tienen?|vont|ont|has|have|had|uses?|runs?|lives?|goes?|needs?|must|stays?|belongs?|"
    r"comes?|we|supports?|reads?|writes?|means|caused|because|ist|sind|war|wird|werden|"
    r"benutzen|verwenden|nutzen|es|est\u00e1|son|usamos|est|sont|utilise)\b",
    re.IGNORECASE,
)


# The first words of a correction, which its statement can do without.
corrections = lazy_pattern(
    r"(?:(?:no+|nope|nah|nein|non)(?=[,.:;!-]|\s+(?:the|an?|we|it|it'?s|its|that'?s?|this|i|"
    r"you|our|my|not|use|they|there|these|those|actually|wait|sorry|pardon|perd\u00f3n|no|all|"
    r"every|only|der|die|das|wir|es|ich|doch|nicht|el|la|los|las|en|se|le|les|on|c'est|il|"
    r"nous)\b)|wrong|oops|ups|wait|hold on|hang on|i mean|scrap that|small correction|"
    r"let me correct (?:myself|that)|i (?:have|need) to correct (?:myself|that)|edit(?=:)|"
    r"sorry|perd\u00f3n|pardon|actually|correction|my (?:bad|mistake|fault|error)|"
    r"i was (?:wrong|mistaken)(?: (?:earlier|before|there))?|(?:ok |yes |yeah )?you(?:'re|"
    r" are|r) (?:absolutely |totally |completely )?right(?=[,.:;]| it)|i (?:misspoke|"
    r"stand corrected)|on second thoughts?|i(?:'ve| have)? changed my mind|scratch that|"
    r"strike that|change of plans?|new plan|forget (?:that|what i said|it)|ignore (?:that|"
    r"what i said)|doch nicht \w+|eigentlich|mein fehler|en realidad|me equivoqu\u00e9|"
    r"en fait|je me suis tromp\u00e9)(?!\w)[\s,.:;!-]*(?:that\s+)?",
    re.IGNORECASE,
)


# A sentence that says that something said before is wrong.
flaws = lazy_pattern(
    r"(?:(?:you'?re|you were|you are|that was|that'?s|thats|this is|it'?s|(?:i|"
    r"you) got (?:that|it)|i had (?:that|it)|i told you) (?:all |just |completely |totally |"
    r"still )*(?:wrong|mistaken|incorrect|not (?:right|true|correct|it|how|what|where|the)|"
    r"outdated|dead(?: code)?|out of date|old|legacy|false|backwards|mixed up)|"
    r"(?:i )?(?:just )?(?:checked|looked it up|found (?:it|out))|(?:it )?turn(?:s|ed)? out|"
    r"i (?:misremembered|mixed (?:that|it|this) up)|das stimmt nicht|stimmt nicht|"
    r"it (?:wasn'?t|was not|isn'?t) (?:the|an?|because|my|our)|not \w+(?=[.,!])|(?:they|we|"
    r"it) (?:don'?t|aren'?t|doesn'?t|isn'?t|do not|does not)(?=[,.])|falsch|ich (?:habe mich|"
    r"hab mich) (?:geirrt|vertan)|ich lag falsch|eso no|c'est faux)(?!\w)",
    re.IGNORECASE,
)


# Words by which somebody plainly says that something said before is wrong.
own_errors = any_of(
    r"i (?:misremembered|misspoke|was wrong|was mistaken|mixed (?:that|it|this) up|got (?:that|"
    r"it) wrong)|my (?:bad|mistake)|correction|(?:scratch|strike|scrap|forget) that|"
    r"change of plans?|on second thoughts?|changed (?:my|our) mind|(?:decision|plan|"
    r"idea) is off|after all|forgot about (?:that|it)|vertan|geirrt|that'?s (?:wrong|"
    r"not (?:right|true|correct)|incorrect|outdated)|you'?re wrong|you assumed|ich lag falsch|"
    r"mein fehler|me equivoqu\u00e9|je me suis tromp\u00e9"
)


# The start of a sentence that repairs the one before it.
repairs = lazy_pattern(
    r"(?:(?:oh|ah|hm+|ok|er+|um+),?\s+)?(?:no,? wait|wait|no,? sorry|sorry|scratch that|"
    r"i mean|correction|make that|argh|oops|hold on|hang on|nein|perd\u00f3n|pardon)\b",
    re.IGNORECASE,
)


# `it was X, not Y` and of `X is no longer Y` inside a sentence.
contrasts = any_of(
    r"(?:it|the (?:cause|problem|reason|issue|culprit|bug)) (?:was|is|were) .{2,60}, not|"
    r"(?:was|is|were)n'?t .{2,60}, it (?:was|is)|the (?:(?:real|actual|root) )?(?:cause|reason|"
    r"culprit) (?:was|is)|root cause:|the (?:problem|issue|bug) was|i said .{1,40} but|"
    r"instead\s*[.!]?$|(?:it'?s|its|that'?s|is|was) not .{1,40}[,;] (?:it'?s|its|it is|but)|"
    r"was the old|(?:is|was) the wrong|not .{2,40} anymore|we used to .{2,60} now|"
    r"not because of|is no longer|are no longer|(?:is|are|was|were)n'?t .{2,40} anymore|"
    r"instead of what i said|i (?:was|were) wrong|my (?:bad|mistake)|turn(?:s|ed)? out|"
    r"not .{1,30} but"
)


# Words that take back what was said before.
takes_back = any_of(
    r"scratch that|strike that|forget (?:that|what i (?:just )?said|about (?:that|it|the))|"
    r"ignore (?:that|what i (?:just )?said|my last)|i take (?:that|it) back|disregard (?:that|"
    r"this|what|my)|never ?mind (?:that|what i said)|vergiss (?:das|was ich)|olvida (?:eso|"
    r"lo que)|oublie (?:\u00e7a|ce que)"
)


# Words that name a secret beside its value.
secrets = lazy_pattern(
    r"\b(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?key|secret(?:[ _-]key)?|access[ _-]?key|"
    r"token|credentials?|private key|pin|passwort|kennwort|contrase\u00f1a|"
    r"mot de passe)\b(?:\s+(?:for|of|to|f\u00fcr|de|pour)\s+[\w ./-]{1,40}?)?\s*(?:is|are|was|"
    r"=|:|ist|lautet|es|est)\s",
    re.IGNORECASE,
)
