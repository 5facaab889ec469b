"""Patterns of preferences: of the person, and of a team in languages other than English."""

import re
from functools import cache


@cache
def everywhere() -> re.Pattern[str]:
    """Pattern of words that say that something holds in all of a person's projects."""
    return re.compile(
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


@cache
def own_habits() -> re.Pattern[str]:
    """Pattern of `I always …`, `I prefer …`, `my editor is …`; group `verb` is what is done."""
    return re.compile(
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


@cache
def told_of_oneself() -> re.Pattern[str]:
    """Pattern of verbs after `I always` that tell of an event, not of a habit one wants kept."""
    return re.compile(
        r"(?:gets?|got|see|saw|had|have|said|say|forgets?|forgot|wonder\w*|thought|think|asked|"
        r"told|understood|understand|knew|know|heard|hear|end|run|noticed|mentioned|meant|mean|"
        r"tried|wanted|needed|seen|been|felt|feel|hoped|assumed|believed|liked|worked|had|hit|"
        r"lose|lost|mix|mixed|need)$",
        re.IGNORECASE,
    )


@cache
def of_answers() -> re.Pattern[str]:
    """Pattern of wishes about how the assistant talks and works with its user."""
    return re.compile(
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


@cache
def always() -> re.Pattern[str]:
    """Pattern of `always` and `never`, also in German, Spanish and French."""
    return re.compile(
        r"\b(?:always|never|whenever|immer|nie(?:mals)?|siempre|nunca|toujours|jamais)\b",
        re.IGNORECASE,
    )


@cache
def foreign_rules() -> re.Pattern[str]:
    """Pattern of what a team does or must do, in German, Spanish and French."""
    return re.compile(
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


@cache
def foreign_orders() -> re.Pattern[str]:
    """Pattern of the start of an order in German, Spanish and French."""
    return re.compile(
        r"(?:bitte |por favor |s'il te pla\u00eet |stp )?(?:mache?|nimm|f\u00fcge?|schreibe?|"
        r"l\u00f6sche?|benenne?|zeige?|pr\u00fcfe?|starte|erstelle?|baue?|\u00e4ndere?|schaue?|"
        r"haz|pon|a\u00f1ade|agrega|cambia|borra|crea|ejecuta|muestra|revisa|escribe|arregla|"
        r"busca|ajoute|cr\u00e9e|supprime|corrige|lance|montre|\u00e9cris|fais|mets|regarde|"
        r"renomme|v\u00e9rifie)\b",
        re.IGNORECASE,
    )
