"""Patterns of English phrases by which a user states what lasts, and of those that rule it out.

Each is a table of words in one expression. Apostrophes may be missing, as people type; a curly one
is written straight before they are looked for. They are made when the first prompt is read.
"""

import re
from functools import cache

_PLACE = (
    r"(?:repo(?:sitory|s)?|project|code ?base|team|company|monorepo|org(?:ani[sz]ation)?|package|"
    r"service|app(?:lication)?|module|product|shop)"
)
_KEEPING = (
    r"(?:use|run|deploy|target|support|keep|store|put|write|follow|prefer|require|name|call|ship|"
    r"release|build|host|pin|treat|version|avoid|stick|rely|own|log|test|merge|squash|rebase|tag|"
    r"cache|generate|import|commit|push|expose|touch|edit|change|modify|mock|depend|format|lint|"
    r"round|count|track|go|live|work|do|allow|accept|serve|encrypt|sign|validate|read|save|"
    r"document|"
    r"publish|hard-?code|inline|vendor|check|review|have|stay|add|skip|force|delete|drop|bump|"
    r"catch|raise|throw|return|pass|share|start|end|sort|parse|send|ask|answer)"
)


@cache
def openers() -> re.Pattern[str]:
    """Pattern of words at the start of a sentence that say nothing."""
    return re.compile(
        r"(?:(?:ok(?:ay)?|oh|ah+|hm+|well|so|and|but|also|plus|btw|by the way|fyi|right|yes|yeah|"
        r"yep|yup|"
        r"sure|hey|hi|hello|anyways?|again|one (?:more )?thing|cool|great|nice|perfect|thanks?|thx|"
        r"thank you|just so you know|heads[- ]up|remark|context|important|quick note|side note|"
        r"for (?:context|info|the record|reference|future reference)|in case you wonder|"
        r"as i said|like i said|und|also|ach so|ach|gut|danke|bueno|vale|oye|y|bon|alors|"
        r"bonjour|hallo|hola|merci)\b[\s,.:;!-]*)+",
        re.IGNORECASE,
    )


@cache
def remembering() -> re.Pattern[str]:
    """Pattern of a request to remember at the start of a sentence."""
    return re.compile(
        r"(?:please\s+|pls\s+|can you\s+|could you\s+|bitte\s+|por favor\s+)*(?:"
        r"(?:remember|memori[sz]e|keep in mind|bear in mind|make a note|take note|note down|"
        r"note for (?:later|next time|the future)|write down|don'?t (?:ever )?forget|do not forget|"
        r"never forget|save (?:this|that|to memory)|store (?:this|that|in memory)|"
        r"merk(?:e)? dir|vergiss nicht|denk dran|notier(?:e)? dir|recuerda|no olvides|"
        r"ten en cuenta|"
        r"anota|souviens-toi|rappelle-toi|retiens|n'oublie pas|garde en t\u00eate|note bien)"
        r"(?!\s+(?:when|how|what|why|if|where|who|wie|was|me)\b)|"
        r"(?:note|nota|notiz|to remember|reminder)(?=\s*:|\s+(?:that|this)\b))"
        r"[\s,:-]*(?:(?:that|this|dass|que|qu'|of|down|please|bitte|for (?:later|next time|"
        r"the future))"
        r"(?!\w)[\s,:-]*)*",
        re.IGNORECASE,
    )


@cache
def questions() -> re.Pattern[str]:
    """Pattern of the start of a question or a request, also without its mark."""
    return re.compile(
        r"(?:(?:why|what|how|where|who|which|whose|is|are|am|was|were|do|does|did|can|could|would|"
        r"will|"
        r"should|shall|may|have|has|had|any|isn'?t|aren'?t|doesn'?t|don'?t (?:we|you|i)|didn'?t|"
        r"can'?t (?:we|you)|wouldn'?t|wonder\w*|whats|hows|wheres|warum|wieso|weshalb|was|wie|wo|"
        r"wann|"
        r"wer|welche\w*|kannst|k\u00f6nntest|k\u00f6nnen wir|ist|sind|hast|haben wir|soll(?:en|"
        r"te)?|"
        r"por qu\u00e9|qu\u00e9|c\u00f3mo|d\u00f3nde|cu\u00e1l|cu\u00e1ndo|puedes|podr\u00edas|"
        r"pourquoi|comment|quel\w*|est-ce|peux-tu|tu peux|pourrais)\b(?!-)|o\u00f9\b)",
        re.IGNORECASE,
    )


@cache
def doubts() -> re.Pattern[str]:
    """Pattern of guesses, hypotheses, jokes, and what others say or want."""
    return _any_of(
        r"i (?:think|guess|suppose|believe|assume|suspect|doubt|hope|wonder|bet|feel like)|imo|"
        r"imho|"
        r"maybe|perhaps|probably|presumably|possibly|apparently|might|could be|may be|not sure|"
        r"unsure|"
        r"pretty sure|fairly sure|quite sure|almost certain|i'?m sure|i am sure|seems?|looks? like|"
        r"sounds? like|feels? like|afaik|iirc|afaict|no idea|no clue|don'?t know|dunno|"
        r"don'?t remember|can'?t remember|not certain|what if|suppose|supposed|imagine|assuming|"
        r"hypothetically|in theory|let'?s say|say we|if (?:we|i|you) (?:were|had|switched|moved|"
        r"used|"
        r"could|would)|would(?! (?:rather|prefer|like you))|could(?:n'?t)? (?:we|i|you|it)|"
        r"thinking (?:about|of)|considering|lol|haha|rofl|lmao|what could go wrong|yeah right|"
        r"oh great|brilliant idea|just kidding|kidding|joking|/s|sarcasm|"
        r"ich glaube|glaub ich|ich denke|vielleicht|wahrscheinlich|vermutlich|k\u00f6nnte|"
        r"angeblich|"
        r"keine ahnung|creo que|quiz\u00e1s?|tal vez|probablemente|a lo mejor|supongo|"
        r"je (?:pense|crois)|peut-\u00eatre|probablement|sans doute|"
        r"according to|supposedly|allegedly|they say|people say|rumou?r"
    )


@cache
def reports() -> re.Pattern[str]:
    """Pattern of what somebody else says, thinks or wants."""
    who = (
        r"(?:he|she|they|someone|somebody|everyone|everybody|people|(?:my|our|the|a|some|that|this|"
        r"his|"
        r"her|their) [\w-]+(?: [\w-]+)?|(?!(?:we|i|you|it|which|that|this|to|not|never|always|"
        r"please|dont|don't|and|so|or)\b)"
        r"[a-z][\w-]*)"
    )
    return re.compile(
        rf"(?:^|[,;:.]\s*|\b(?:and|but|because|so|that)\s+){who}\s+(?:also\s+|always\s+|just\s+|"
        r"keeps\s+)?(?:says?|said|saying|thinks?|thought|wants?|wanted|told|tells?|claims?|claimed|"
        r"believes?|insists?|insisted|suggests?|suggested|recommends?|recommended|prefers?|"
        r"preferred|"
        r"likes?|hates?|argues?|argued|complains?|complained|asked|asks|proposed|proposes|wishes|"
        r"wrote|writes|would like|sagt|sagte|meint|will|m\u00f6chte|dice|quiere|dit|veut)\b"
        r"|\bi told (?:him|her|them)\b|\b(?:he|she|they|er|sie|ellos|\u00e9l|ils?|elles?) "
        r"(?:always|never|use|uses|do|does|immer|nie)\b"
        r"|\b(?:in|at|from) (?:the|that|this|an?) (?:article|blog|talk|video|book|tutorial|docs?|"
        r"podcast|tweet|post)\b",
        re.IGNORECASE,
    )


@cache
def momentary() -> re.Pattern[str]:
    """Pattern of what is so at the moment, and passes."""
    return _any_of(
        r"this morning|today|tonight|right now|at the moment|currently|yesterday|just now|atm|"
        r"again|still|tomorrow|later|this (?:week|time|afternoon|evening)|in a meeting|for now|"
        r"in a (?:minute|sec|bit)|i'?ll|i will|i'?m going to|let me|i need to|i have to|i'?m not|"
        r"i meant|the other one|that one|this one|gerade|heute|morgen|hoy|ma\u00f1ana|aujourd'hui|"
        r"demain|for this (?:one|task|test|pr|file|function)|same (?:as|thing)"
    )


@cache
def ailments() -> re.Pattern[str]:
    """Pattern of words that tell that something does not work."""
    return _any_of(
        r"fail(?:s|ed|ing)?|broke(?:n)?|breaks?|breaking|crash(?:es|ed|ing)?|hangs?|hung|"
        r"stuck(?! (?:on|with))|wrong|"
        r"missing|times? out|timed out|timing out|flaky|slow(?:er|ly)?|doesn'?t work|not working|"
        r"(?:is|are) down|leaks?|leaking|regression|bug(?:gy)?|weird|ugly|empty|undefined|null|nan|"
        r"throws?|throwing|errors? out|disappears?|vanish(?:es)?|flickers?|too (?:big|small|long|"
        r"many|"
        r"few|wide|late|early|much)|should (?:be|have|not|say|go|show|return|look)|50\d|40\d"
    )


@cache
def standing() -> re.Pattern[str]:
    """Pattern of words that say that something holds in the project, or from now on."""
    return re.compile(
        rf"\b(?:in|for|within|across|throughout|of|at) (?:this|our|the whole|"
        rf"the entire) {_PLACE}\b|"
        r"\b(?:from now on|from here on|going forward|in (?:the )?future|henceforth|by convention|"
        r"as a rule|house rule|project rule|(?:our|the|project|team) (?:convention|rule|policy|"
        r"standard|guideline)s? (?:is|are|here|says)|as (?:our|a) (?:convention|rule|policy)|"
        r"at all times|no exceptions|without exception|every(?: single)? time|ever again|"
        r"around here|"
        r"on (?:this|our) (?:project|team|repo)|for all (?:new|our|future) \w+|"
        r"in diesem (?:projekt|repo\w*)|bei uns|in unserem|ab (?:jetzt|sofort|heute)|k\u00fcnftig|"
        r"in zukunft|grunds\u00e4tzlich|en este (?:proyecto|repo\w*)|en nuestro|"
        r"de ahora en adelante|"
        r"a partir de ahora|desde ahora|por norma|dans ce (?:d\u00e9p\u00f4t|projet|repo\w*)|"
        r"dans notre|dans cette|d\u00e9sormais|dor\u00e9navant|\u00e0 partir de maintenant)\b|"
        r"\bhere (?=(?:follow|use|are|is|must|have|go|live|get|need)\b)|"
        r"\b(?:nobody|no one|everyone|everybody) here\b",
        re.IGNORECASE,
    )


@cache
def habits() -> re.Pattern[str]:
    """Pattern of what a team does: `we always …`, `we use …`."""
    return re.compile(
        r"(?P<surely>\bwe(?:'ve| have)? (?:always|never|only|usually|generally|normally|typically|"
        r"deliberately|"
        r"intentionally|strictly|mostly|all)\s+\w+|"
        r"\b(?:our|all) [\w-]+(?: [\w/.-]+){0,4} (?:always|never|must)\b|\bwe(?:'ve| have| just|"
        r" already)* (?:migrated|moved|switched|dropped|replaced|"
        r"upgraded|"
        r"renamed|removed|deprecated|standardi[sz]ed|banned|retired|adopted|split)\b)|"
        rf"\bwe(?: now| also| just| still| actually| no longer| (?:do not|don'?t|will not|won'?t|"
        rf"must(?: not|n'?t)?|cannot|can'?t|can only|may not|may only|have to|need to|needed to))* "
        rf"{_KEEPING}\b|"
        r"\bwe(?:'re|re| are)(?: now| still| only| not)? (?:on|using|running|targeting|stuck (?:on|"
        r"with)|"
        r"bound to|required|obliged|not allowed|limited)\b|"
        r"\b(?:our|all(?: of)?(?: our| the)?|every|each|any|no) [\w-]+(?: [\w/.-]+){0,4} (?:always|"
        r"never|"
        r"only|must|has to|have to|may|needs? to|go(?:es)?|follows?|uses?|lives?|runs?|belongs?|"
        r"starts?|"
        r"ends?|comes?|requires?|needs?)\b",
        re.IGNORECASE,
    )


@cache
def orders_for_good() -> re.Pattern[str]:
    """Pattern of `never expose …` and `always go through …`; group `verb` is to be a verb."""
    return re.compile(
        r"(?:^|[,;:(]\s*|\s-+\s|\b(?:and|so|but|then|please|pls|thus|hence)\s+)"
        r"(?:(?:always|never(?! mind)|only ever|don'?t ever|do not ever|under no circumstances)\s+"
        r"(?:[a-z]+ly\s+)?)(?P<verb>[a-z][\w-]*)",
        re.IGNORECASE,
    )


@cache
def duties() -> re.Pattern[str]:
    """Pattern of `X must …`; group `who` is what has the duty."""
    return re.compile(
        r"^(?P<who>[\w`/.'-]+(?: [\w`/.'-]+){0,6}?) (?:must(?: not|n'?t| never| always)?|"
        r"may (?:not|only|"
        r"never)|(?:has|have) to|(?:is|are) (?:not allowed|forbidden|banned|off[- ]limits|"
        r"mandatory|"
        r"required|read-only|frozen)|needs? to (?:be|stay|go|run|use)|should (?:always|never)|"
        r"shall|can only|are (?:always|never|only) (?:\w+ed|to|allowed|in|via|through|under))\b",
        re.IGNORECASE,
    )


@cache
def decisions() -> re.Pattern[str]:
    """Pattern of decisions."""
    pointing = (
        r"(?! (?:it|this|that|these|those|option (?:\w|one|two|three)|"
        r"the (?:first|second|third|last|other|latter))\b)"
    )
    return _any_of(
        r"(?:we|i)(?:'ve| have|'re| are|'m| am)?(?: all| just| finally| now| both| already)* "
        r"(?:decided|agreed(?! with you)|chose|chosen|settled on|opted|voted|committed to|"
        rf"(?:go(?:ing)?|went|stick(?:ing)?|stay(?:ing)?) with{pointing}|"
        r"(?:moving|switching|migrating|going back|sticking|staying|standardi[sz]ing) (?:to|on)|"
        r"not going with|dropping|deprecating|abandoning|getting rid of|giving up on|"
        r"no longer (?:use|using|support\w*|go\w*))|"
        rf"let'?s (?:go|stick|stay) with{pointing}|let'?s (?:settle on|standardi[sz]e on)|"
        rf"let'?s (?:not )?use{pointing} .{{2,40}} (?:for|instead|everywhere|from)|"
        r"(?:(?:the|our|final|my|team) )*decision(?: is| was|:)|decided (?:to|on|against|not|that)|"
        r"we(?:'ll| will) (?:use|go with|keep|drop|adopt|stay|stick|move to|switch to|not)|"
        r"it'?s decided|change of plans?|"
        r"wir (?:haben uns|haben) .{0,60}(?:entschieden|geeinigt|beschlossen)|wir (?:nehmen|"
        r"bleiben bei)|"
        r"(?:hemos |)(?:decidi(?:mos|do)|acorda(?:mos|do))|vamos a usar|nos quedamos con|"
        r"(?:on a|nous avons) (?:d\u00e9cid\u00e9|choisi|convenu)|on (?:part sur|reste sur)"
    )


@cache
def facts() -> re.Pattern[str]:
    """Pattern of what a thing of the project is, has, uses or does; group `who` is the thing."""
    return re.compile(
        r"^(?P<who>[\w`/.@'+-]+(?: [\w`/.@'+-]+){0,7}?) (?:(?:now|also|only|always|never|just|"
        r"currently|automatically|does not|doesn'?t|do not|don'?t) )*"
        r"(?:(?:uses?|runs? (?:on|with|at|in|under|every|as|through|inside|only|against|from)|"
        r"lives? (?:in|at|under|on|here)|sits? (?:in|behind|on)|"
        r"(?:is|are|gets?|get) (?:\w+ly )?(?:stored|written|generated|built|deployed|hosted|pinned|"
        r"owned|managed|named|called|kept|served|computed|cached|derived|versioned|located|defined|"
        r"configured|signed|encrypted|shared|mounted|maintained|handled|exposed|limited|capped|"
        r"synced|mirrored|loaded|rotated|validated|formatted|tagged|released|run|done|sent|read|"
        r"set|"
        r"created|checked|tested|measured|counted|given|meant|based|vendored|replaced|deprecated|"
        r"licensed|translated|made|archived|flagged|deleted)\b|"
        r"go(?:es)? (?:through|to|via|out|into|live|under)|reads? (?:from|its|only)|writes? to|"
        r"talks? to|speaks?|listens? on|points? (?:to|at)|comes? from|belongs? to|owns?|"
        r"happens? (?:only|on|every|at|in|via)|depends? on|"
        r"expires? (?:after|in|every|on)|requires?|expects?|supports?|follows?|consists? of|"
        r"stands? for|means|refers? to|maps? to|ships? (?:with|to|every)|starts? (?:with|at|on|in)|"
        r"deploys? (?:to|from|with|on|via)|stays? (?:in|on|at|with)|"
        r"(?:has|have) (?:no|two|three|four|five|six|its own|their own|a|an|only|\d+)\b|"
        r"(?P<plainly>(?:is|are|isn'?t|aren'?t) (?:the|an?|our|in|on|at|under|behind|for|only|not|"
        r"utc|from|per)\b|needs?))(?!\w)|"
        r"(?:is|are) (?:always|never) (?=[^,]{2,40}, (?:never|not|always)\b)|"
        r"are (?=[\w`-]+s\b|[\w`-]+(?:,|$)))",
        re.IGNORECASE,
    )


@cache
def statements() -> re.Pattern[str]:
    """Pattern of any plain statement: enough where the user corrects."""
    return re.compile(
        r"\b(?:is|are|was|were|it'?s|that'?s|isn'?t|aren'?t|wasn'?t|has|have|had|uses?|runs?|"
        r"lives?|goes?|needs?|"
        r"must|stays?|belongs?|comes?|we|supports?|reads?|writes?|means|caused|because|ist|sind|"
        r"war|"
        r"wird|werden|benutzen|verwenden|nutzen|es|est\u00e1|son|usamos|est|sont|utilise)\b",
        re.IGNORECASE,
    )


@cache
def corrections() -> re.Pattern[str]:
    """Pattern of the first words of a correction, which its statement can do without."""
    return re.compile(
        r"(?:(?:no+|nope|nah|nein|non)(?=[,.:;!-]|\s+(?:the|an?|we|it|it'?s|its|that'?s?|this|i|"
        r"you|our|my|"
        r"not|use|they|there|these|those|actually|wait|sorry|no|all|every|only|der|die|das|wir|es|"
        r"ich|"
        r"doch|nicht|el|la|los|las|en|se|le|les|on|c'est|il|nous)\b)|"
        r"wrong|oops|ups|wait|hold on|sorry|perd\u00f3n|pardon|actually|correction|"
        r"my (?:bad|mistake|fault|error)|i was (?:wrong|mistaken)(?: (?:earlier|before|there))?|"
        r"i (?:misspoke|stand corrected)|scratch that|strike that|change of plans?|new plan|"
        r"forget (?:that|what i said|it)|ignore (?:that|what i said)|"
        r"doch nicht \w+|eigentlich|mein fehler|en realidad|me equivoqu\u00e9|en fait|"
        r"je me suis tromp\u00e9)(?!\w)[\s,.:;!-]*(?:that\s+)?",
        re.IGNORECASE,
    )


@cache
def flaws() -> re.Pattern[str]:
    """Pattern of a sentence that says that something said before is wrong."""
    return re.compile(
        r"(?:(?:you'?re|you were|you are|that was|that'?s|thats|this is|it'?s|i got (?:that|it)|"
        r"i had (?:that|it)|i told you) (?:all |just |completely |totally |still )*(?:wrong|"
        r"mistaken|"
        r"incorrect|not (?:right|true|correct|it|how|what|where|the)|outdated|dead(?: code)?|"
        r"out of date|old|legacy|false|backwards|mixed up)|"
        r"(?:i )?(?:just )?(?:checked|looked it up|found (?:it|out))|"
        r"(?:it )?turn(?:s|ed)? out|i (?:misremembered|mixed (?:that|it|this) up)|das stimmt nicht|"
        r"stimmt nicht|falsch|"
        r"ich (?:habe mich|hab mich) (?:geirrt|vertan)|ich lag falsch|eso no|c'est faux)(?!\w)",
        re.IGNORECASE,
    )


@cache
def contrasts() -> re.Pattern[str]:
    """Pattern of `it was X, not Y` and of `X is no longer Y` inside a sentence."""
    return _any_of(
        r"(?:it|the (?:cause|problem|reason|issue|culprit|bug)) (?:was|is|were) .{2,60}, not|"
        r"not because of|is no longer|are no longer|(?:is|are|was|were)n'?t .{2,40} anymore|"
        r"instead of what i said|i (?:was|were) wrong|my (?:bad|mistake)|turns? out|not .{1,30} but"
    )


@cache
def takes_back() -> re.Pattern[str]:
    """Pattern of words that take back what was said before."""
    return _any_of(
        r"scratch that|strike that|forget (?:that|what i (?:just )?said|about (?:that|it|the))|"
        r"ignore (?:that|what i (?:just )?said|my last)|i take (?:that|it) back|disregard (?:that|"
        r"this|"
        r"what|my)|never ?mind (?:that|what i said)|vergiss (?:das|was ich)|olvida (?:eso|lo que)|"
        r"oublie (?:\u00e7a|ce que)"
    )


@cache
def secrets() -> re.Pattern[str]:
    """Pattern of words that name a secret beside its value."""
    return re.compile(
        r"\b(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?key|secret(?:[ _-]key)?|access[ _-]?key|"
        r"token|"
        r"credentials?|private key|pin|passwort|kennwort|contrase\u00f1a|mot de passe)\b"
        r"(?:\s+(?:for|of|to|f\u00fcr|de|pour)\s+[\w ./-]{1,40}?)?\s*(?:is|are|was|=|:|ist|lautet|"
        r"es|est)\s",
        re.IGNORECASE,
    )


def _any_of(phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)", re.IGNORECASE)
