"""Patterns of preferences: of the person, and of a team in languages other than English."""

import re
from functools import cache


@cache
def everywhere() -> re.Pattern[str]:
    """Pattern of words that say that something holds in all of a person's projects."""
    return re.compile(
        r"\b(?:in|for|across|on|with|throughout|over) (?:all|every|any|each|whatever)(?: single)?"
        r"(?: of)?(?: (?:my|our|the))?(?: \w+)? ?(?:projects?|repos?|repositor(?:y|ies)|"
        r"code ?bases?|"
        r"sessions?|machines?|chats?|conversations?|computers?|laptops?|workspaces?)\b|"
        r"\b(?:across|between) (?:my )?(?:projects|repos|machines)\b|"
        r"\b(?:no matter|regardless of) (?:which |what |the )?(?:project|repo|language)\b|"
        r"\bwherever i work\b|\bnot (?:just|only) (?:in |for )?(?:this|here)\b|"
        r"\bin (?:allen|jedem|all) (?:meinen |meiner )?(?:projekten?|repos?)|"
        r"\bauf allen (?:meinen )?"
        r"(?:rechnern|maschinen)|\b(?:en|para) todos (?:mis|los) (?:proyectos|repos)|"
        r"\ben cualquier proyecto|\b(?:dans|pour|sur) (?:tous|toutes|chacun de) (?:mes|les) "
        r"(?:projets|d\u00e9p\u00f4ts|repos|machines)",
        re.IGNORECASE,
    )


@cache
def own_habits() -> re.Pattern[str]:
    """Pattern of `I always …`, `I prefer …`, `my editor is …`; group `verb` is what is done."""
    return re.compile(
        r"\b(?:i(?:'d| would|'ll)?|i'?m|i am) (?:really |just |personally |strongly |generally |"
        r"still )*"
        r"(?:(?:always|never|usually|normally|typically|only|rarely|almost always|almost never)\s+"
        r"(?:[a-z]+ly\s+)?(?P<verb>[a-z][\w-]*)|"
        r"(?:prefer|rather (?:have|not|use|see)|favou?r)(?! (?:it|this|that|the (?:first|second|"
        r"third|other|"
        r"last|latter|former|one)|option)\b)|"
        r"(?:hate|dislike|can'?t stand|(?:don'?t|do not) (?:like|use)|like|love)"
        r"(?= (?!it\b|this\b|that\b|the\b|your\b|to\b|how\b|what\b|where\b|a\b|an\b))|"
        r"(?:use|write|work|run|want|need)\b.{1,60}\beverywhere|"
        r"(?:an? (?!bit|moment|little|fan)|colou?r-?\s?blind|dyslexic|left-handed|new to|blind|"
        r"deaf))|"
        r"\bmy (?:\w+ ){0,2}(?:editor|ide|shell|terminal|os|keyboard|pronouns|time ?zone|locale|"
        r"language|"
        r"tongue|role|job|background|preference|style|setup|font|theme|workflow|eyesight|habit|"
        r"name|"
        r"machines?|laptop)s? (?:is|are|was)\b|"
        r"\b(?:ich|i) (?:bevorzuge|mag|hasse|will immer|m\u00f6chte immer|arbeite (?:immer|nur|"
        r"mit))\b|"
        r"\bich (?:\w+ ){1,3}?(?:immer|nie(?:mals)?|lieber|grunds\u00e4tzlich|ungern)\b|"
        r"\b(?:siempre |nunca |yo )?(?:prefiero|odio|detesto)\b|"
        r"\b(?:siempre|nunca) (?:uso|escribo|quiero|trabajo|hago|pongo)\b|\bme gustan?\b|"
        r"\bje (?:pr\u00e9f\u00e8re|d\u00e9teste|veux toujours)\b|"
        r"\b(?:j'|je n'|je ne )\w+ (?:toujours|jamais|que)\b|\bj'aime (?!bien )",
        re.IGNORECASE,
    )


@cache
def told_of_oneself() -> re.Pattern[str]:
    """Pattern of verbs after `I always` that tell of an event, not of a habit one wants kept."""
    return re.compile(
        r"(?:gets?|got|see|saw|had|have|said|say|forgets?|forgot|wonder\w*|thought|think|asked|"
        r"told|"
        r"understood|understand|knew|know|heard|hear|end|run|noticed|mentioned|meant|mean|tried|"
        r"wanted|needed|seen|been|felt|feel|hoped|assumed|believed|liked|worked|had|hit|lose|lost|"
        r"mix|mixed|need)$",
        re.IGNORECASE,
    )


@cache
def of_answers() -> re.Pattern[str]:
    """Pattern of wishes about how the assistant talks and works with its user."""
    return re.compile(
        r"\b(?:answer|reply|respond|explain|talk|speak|address|call|ask|tell|show|remind|warn|"
        r"write to)"
        r"(?:s|ing)? (?:to |with )?me\b|\b(?:your|short|long|brief|concise|detailed) "
        r"(?:answers?|replies|responses?|explanations?|summaries)\b|"
        r"\b(?:answer|reply|respond)\b.{0,20}\b(?:in (?:english|german|french|spanish|\w+ish)|"
        r"short|brief\w*)|"
        r"\b(?:antworte|schreib|sprich|frag|erkl\u00e4re?)\b(?: \w+)? (?:mir|mich|mit mir|immer|"
        r"bitte)|"
        r"\b(?:resp\u00f3ndeme|cont\u00e9stame|h\u00e1blame|respuestas|expl\u00edcame)\b|"
        r"\b(?:r\u00e9ponds|parle|explique|\u00e9cris)(?:-moi| moi)?\b|\btes r\u00e9ponses\b",
        re.IGNORECASE,
    )


@cache
def always() -> re.Pattern[str]:
    """Pattern of `always` and `never` in German, Spanish and French."""
    return re.compile(r"\b(?:immer|nie(?:mals)?|siempre|nunca|toujours|jamais)\b", re.IGNORECASE)


@cache
def foreign_rules() -> re.Pattern[str]:
    """Pattern of what a team does or must do, in German, Spanish and French."""
    return re.compile(
        r"\bwir (?:verwenden|nutzen|benutzen|haben|setzen|deployen|arbeiten|testen|schreiben|"
        r"speichern|"
        r"committen|mergen|unterst\u00fctzen|m\u00fcssen|d\u00fcrfen|releasen|loggen|halten|legen|"
        r"f\u00fchren|machen|nehmen|bauen|lassen)\b|\b(?:verwenden|nutzen|benutzen) wir\b|"
        r"\b(?:muss|m\u00fcssen|darf|d\u00fcrfen|soll|sollen) (?:\w+ ){0,6}?(?:immer|nie(?:mals)?|"
        r"nur|"
        r"nicht|kein\w*|sein|werden|\u00fcber)\b|\b(?:l\u00e4uft|laufen|liegt|liegen|kommt|kommen|"
        r"geht|"
        r"gehen) (?:\w+ )?(?:auf|in|unter|aus|\u00fcber|bei|um|immer)\b|"
        r"(?:^|, )(?:immer|nie(?:mals)?) (?:\w+ ){0,4}\w+en\b|\bniemand (?:darf|soll)\b|"
        r"\b(?:siempre|nunca|s\u00f3lo|solo|no) (?:usamos|utilizamos|hacemos|ponemos|desplegamos|"
        r"guardamos|escribimos|tocamos|subimos|se )|\b(?:usamos|utilizamos|desplegamos|guardamos|"
        r"tenemos|seguimos|escribimos)\b|\bhay que\b|\bno se (?:debe|puede|toca|modifica|usa|"
        r"sube)\w*\b|"
        r"\b(?:debe|deben|tiene que|tienen que) \w+|\b(?:corre|corren|vive|viven|est\u00e1n?) en\b|"
        r"\bse (?:guarda|guardan|usa|usan|despliega|despliegan|genera|generan)\b|"
        r"\b(?:on|nous) (?:n'|ne )?(?:utilise|modifie|touche|commit|met|fait|garde|d\u00e9ploie|"
        r"\u00e9crit|"
        r"stocke|travaille|teste|livre|merge|pousse|\w+ons)\b|\bil (?:ne )?faut\b|"
        r"\b(?:doit|doivent|ne doit|ne doivent) \w+|\b(?:tourne|tournent|se trouve|se trouvent|"
        r"viennent|vient) (?:sur|dans|de|sous)\b|\b(?:est|sont) (?:interdite?s?|obligatoires?|"
        r"stock\u00e9\w*|"
        r"g\u00e9n\u00e9r\u00e9\w*)\b|\b(?:toujours|jamais) \w+er\b",
        re.IGNORECASE,
    )


@cache
def foreign_orders() -> re.Pattern[str]:
    """Pattern of the start of an order in German, Spanish and French."""
    return re.compile(
        r"(?:bitte |por favor |s'il te pla\u00eet |stp )?(?:mache?|nimm|f\u00fcge?|schreibe?|"
        r"l\u00f6sche?|"
        r"benenne?|zeige?|pr\u00fcfe?|starte|erstelle?|baue?|\u00e4ndere?|schaue?|"
        r"haz|pon|a\u00f1ade|agrega|cambia|borra|crea|ejecuta|muestra|revisa|escribe|arregla|busca|"
        r"ajoute|cr\u00e9e|supprime|corrige|lance|montre|\u00e9cris|fais|mets|regarde|renomme|"
        r"v\u00e9rifie)\b",
        re.IGNORECASE,
    )
