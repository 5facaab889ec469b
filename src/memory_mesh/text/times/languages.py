"""Other languages: each phrase is read as the English one that says the same.

A tongue is a table of its words and a table of its phrases: `<month>` in a phrase stands for any
word of that kind, and in the English beside it for what that word means.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache

from memory_mesh.base.typed import dataclass
from memory_mesh.text.times.reading import whole
from memory_mesh.text.times.spans import TimeSpan

MONTHS = "january february march april may june july august september october november december"
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
SEASONS = "spring summer autumn winter"


@dataclass(frozen=True, slots=True)
class Tongue:
    """Its words by kind, its phrases with their English, and what may stand around a phrase."""

    words: Mapping[str, Mapping[str, str]]
    phrases: Sequence[tuple[str, str]]
    before: str = r"(?<![\w.-])"
    after: str = r"(?![\w-])"


def meaning(foreign: str, english: str) -> dict[str, str]:
    """Each word with its English; several words for one thing are set apart by a stroke."""
    return {
        word.replace("_", " "): thing
        for words, thing in zip(foreign.split(), english.split(), strict=True)
        for word in words.split("|")
    }


_UNITS = "day week month year hour"
_EUROPEAN_NUMBERS = "1 2 3 4 5 6 7 8 9 10 12 few several"
_EUROPEAN_NTH = "1st 2nd 3rd 4th"

_FREE = r"(?<!\d)"
_MONTH_FIGURES = {str(number): name for number, name in enumerate(MONTHS.split(), 1)}
_NUMBERS = "1 2 3 4 5 6 7 8 9 10 few"
_NTH = "1st 2nd 3rd 4th"

_CHINESE = Tongue(
    words={
        "month": _MONTH_FIGURES
        | meaning("一 二 三 四 五 六 七 八 九 十 十一 十二", MONTHS),
        "weekday": meaning("一 二 三 四 五 六 日|天", WEEKDAYS),
        "season": meaning("春天|春季 夏天|夏季 秋天|秋季 冬天|冬季", SEASONS),
        "unit": meaning(
            "天|日 周|週|星期|个星期|個星期|个礼拜 个月|個月 年 小时|个小时|小時",
            "day week month year hour",
        ),
        "number": meaning("一 两|二|兩 三 四 五 六 七 八 九 十 几|幾", _NUMBERS),
        "nth": meaning("一|1 二|2 三|3 四|4", _NTH),
    },
    phrases=[
        ("前天", "day before yesterday"),
        ("昨天|昨日|昨晚", "yesterday"),
        ("今天|今早|今日|今晚", "today"),
        ("半年前", "6 months ago"),
        ("<number><unit>(?:之|以)?前", "<number> <unit> ago"),
        ("(?:过去|過去|最近)(?:的)?<number><unit>", "last <number> <unit>"),
        ("上上(?:个|個)?(?:周|週|星期|礼拜)", "week before last"),
        ("(?<!上)上(?:个|個)?(?:周|週|星期|礼拜|禮拜)", "last week"),
        ("(?:这|這|本)(?:个|個)?(?:周|週|星期|礼拜|禮拜)", "this week"),
        ("上(?:个|個)?(?:周|週|星期|礼拜)<weekday>", "<weekday> last week"),
        ("(?:这|這|本)(?:个|個)?(?:周|週|星期)<weekday>", "<weekday> this week"),
        ("上(?:个|個)?(?:周|週)末", "last weekend"),
        ("上上(?:个|個)月", "month before last"),
        ("(?<!上)上(?:个|個)?月", "last month"),
        ("(?:这|這)(?:个|個)月|本月", "this month"),
        ("前年", "year before last"),
        ("去年", "last year"),
        ("今年", "this year"),
        ("上(?:个|個)?季度", "last quarter"),
        ("(?:这|這)(?:个|個)?季度|本季度", "this quarter"),
        ("(?:去年|上(?:一)?年)的?<season>", "<season> last year"),
        ("今年的?<season>", "this <season>"),
        ("上(?:个|個)<season>", "last <season>"),
        ("<year>年的?<season>", "<season> <year>"),
        ("去年的?<month>月份?", "<month> last year"),
        ("今年的?<month>月份?", "<month> this year"),
        (
            "(?<![一二三四五六七八九十第个個\\d])<month>月份?(?![一二三四五六七八九十\\d])",
            "in <month>",
        ),
        ("<year>年<month>月份?", "<month> <year>"),
        ("<year>年", "in <year>"),
        ("(?:<year>年)?<month>月<day>[日号號]", "on <day> <month> <year>"),
        ("(?:从|自|從)?<month>月(?:以来|以來|起)", "since <month>"),
        ("<month>月(?:之|以)前", "before <month>"),
        ("<month>月(?:之|以)后", "after <month>"),
        ("<year>年(?:之|以)?前", "before <year>"),
        ("<month>月?[到至]<month2>月", "from <month> to <month2>"),
        ("<year>年<month>月?[到至]<month2>月", "from <month> to <month2> <year>"),
        ("(?:<year>年)?第<nth>季度", "<nth> quarter <year>"),
        ("去年第<nth>季度", "<nth> quarter last year"),
    ],
    before=_FREE,
    after="",
)  # fmt: skip

_JAPANESE = Tongue(
    words={
        "month": _MONTH_FIGURES,
        "weekday": meaning("月 火 水 木 金 土 日", WEEKDAYS),
        "season": meaning("春 夏 秋 冬", SEASONS),
        "unit": meaning(
            "日 週間|週 か月|ヶ月|ヵ月|カ月|ケ月 年 時間", "day week month year hour"
        ),
        "number": meaning("一 二 三 四 五 六 七 八 九 十 数", _NUMBERS),
        "nth": meaning("1|一 2|二 3|三 4|四", _NTH),
    },
    phrases=[
        ("一昨日|おととい", "day before yesterday"),
        ("(?<!一)昨日|昨夜|昨晩|ゆうべ|きのう", "yesterday"),
        ("今日|今朝|今夜|きょう", "today"),
        ("半年前", "6 months ago"),
        ("<number><unit>(?:ほど)?前", "<number> <unit> ago"),
        ("(?:過去|ここ|この|直近の?)<number><unit>", "last <number> <unit>"),
        ("先々週", "week before last"),
        ("先週", "last week"),
        ("今週", "this week"),
        ("先週の?<weekday>曜日?", "<weekday> last week"),
        ("今週の?<weekday>曜日?", "<weekday> this week"),
        ("(?:この前|前回)の<weekday>曜日?", "last <weekday>"),
        ("先週末|先週の週末", "last weekend"),
        ("先々月", "month before last"),
        ("先月", "last month"),
        ("今月", "this month"),
        ("一昨年|おととし", "year before last"),
        ("去年|(?<!一)昨年", "last year"),
        ("今年", "this year"),
        ("前四半期", "last quarter"),
        ("今四半期", "this quarter"),
        ("(?:去年|昨年)の?<season>", "<season> last year"),
        ("今年の?<season>|この<season2>", "this <season><season2>"),
        ("(?:この前の|前の)<season>", "last <season>"),
        ("<year>年の?<season>", "<season> <year>"),
        ("(?:去年|昨年)の?<month>月", "<month> last year"),
        ("今年の?<month>月", "<month> this year"),
        ("<month>月(?!\\d)", "in <month>"),
        ("<year>年<month>月", "<month> <year>"),
        ("<year>年(?!度)", "in <year>"),
        ("(?:<year>年)?<month>月<day>日", "on <day> <month> <year>"),
        ("<month>月以降|<month2>月から(?!\\d)", "since <month><month2>"),
        ("<month>月(?:以前|より前)", "before <month>"),
        ("<year>年(?:以前|より前)", "before <year>"),
        ("(?:<year>年)?<month>月から<month2>月", "from <month> to <month2> <year>"),
        ("(?:<year>年の?)?第<nth>四半期", "<nth> quarter <year>"),
    ],
    before=_FREE,
    after="",
)  # fmt: skip

TONGUES: Mapping[str, Tongue] = {"chinese": _CHINESE, "japanese": _JAPANESE}

_SLOT = r"<([a-z]+)(\d?)>"
_FIGURES = {"year": r"(?:19|20)\d\d", "day": r"\d{1,2}", "number": r"\d{1,3}"}


def told(text: str, now: datetime, *, languages: Iterable[str]) -> Iterator[tuple[TimeSpan, str]]:
    """Every time that a text names in languages other than English, with its words there."""
    small = _in_small_letters(text)
    for name in languages:
        words = _tongue(name).words
        for pattern, english in _patterns(name):
            for found in pattern.finditer(small):
                span = whole(_translated(english, found.groupdict(), words), now)
                if span is not None:
                    yield span, text[found.start() : found.end()]


def _in_small_letters(text: str) -> str:
    """The text in small letters, each where it was."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _translated(
    english: str, said: Mapping[str, str | None], words: Mapping[str, Mapping[str, str]]
) -> str:
    def meaning(slot: re.Match[str]) -> str:
        word = said[slot[1] + slot[2]] or ""
        return words.get(slot[1], {}).get(word, word)

    return re.sub(_SLOT, meaning, english)


@cache
def _patterns(name: str) -> Sequence[tuple[re.Pattern[str], str]]:
    tongue = _tongue(name)
    made = []
    for phrase, english in tongue.phrases:
        slots = re.sub(_SLOT, lambda slot: _group(tongue, slot[1], slot[2]), phrase)
        made.append((re.compile(f"{tongue.before}(?:{slots}){tongue.after}"), english))
    return made


def _group(tongue: Tongue, kind: str, which: str) -> str:
    words = sorted(tongue.words.get(kind, ()), key=len, reverse=True)
    figures = [_FIGURES[kind]] if kind in _FIGURES else []
    return f"(?P<{kind}{which}>{'|'.join([*figures, *words])})"


@cache
def _tongue(name: str) -> Tongue:
    return EUROPEAN_TONGUES[name] if name in {"german", "spanish", "french"} else TONGUES[name]


# Chinese and Japanese: words are not set apart, so a phrase may stand anywhere.


_MONTH_FIGURES |= {f"0{number}": _MONTH_FIGURES[str(number)] for number in range(1, 10)}


# German, Spanish and French.


def _calendar(
    *, within: str, since: str, before: str, after: str, until: str, of: str
) -> Sequence[tuple[str, str]]:
    """What is said of months, seasons and years in all three alike."""
    year = f"(?:{of}<year>)?"
    sides = {"in": within, "since": since, "before": before, "after": after, "until": until}
    led = [
        (f"(?:{words}) {name}{year}", f"{english} {name} <year>")
        for english, words in sides.items()
        for name in ("<month>", "<season>")
    ]
    years = [(f"(?:{words}) <year>", f"{english} <year>") for english, words in sides.items()]
    dated = [(f"{name}{of}<year>", f"{name} <year>") for name in ("<month>", "<season>")]
    return [*led, *years, *dated]


_GERMAN = Tongue(
    words={
        "month": meaning(
            "januar|jänner februar märz april mai juni juli august september oktober november "
            "dezember",
            MONTHS,
        ),
        "weekday": meaning(
            "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag", WEEKDAYS
        ),
        "season": meaning("frühling|frühjahr sommer herbst winter", SEASONS),
        "unit": meaning(
            "tag|tage|tagen woche|wochen monat|monate|monaten jahr|jahre|jahren "
            "stunde|stunden",
            _UNITS,
        ),
        "one": meaning("woche monat quartal jahr", "week month quarter year"),
        "number": meaning(
            "ein|eine|einem|einer|einen zwei drei vier fünf sechs sieben acht neun zehn zwölf "
            "paar|ein_paar einigen|mehreren",
            _EUROPEAN_NUMBERS,
        ),
        "nth": meaning("1\\.|ersten|erstes 2\\.|zweiten 3\\.|dritten 4\\.|vierten", _EUROPEAN_NTH),
        "third": meaning("anfang mitte ende", "early mid late"),
    },
    phrases=[
        *_calendar(
            within="im|in|im jahr", since="seit|ab", before="vor", after="nach", until="bis", of=" "
        ),
        ("vorgestern", "day before yesterday"),
        ("gestern(?: abend| morgen| früh| nachmittag)?", "yesterday"),
        ("heute(?: abend| morgen| früh| nachmittag)?", "today"),
        ("(?:letzte|heute) nacht", "last night"),
        ("heute vor <number> <unit>", "<number> <unit> ago today"),
        ("vor <number> <unit>", "<number> <unit> ago"),
        ("(?:letzte|vorige|vergangene)[nrsm]? <one>", "last <one>"),
        ("(?:vorletzte)[nrsm]? <one>", "<one> before last"),
        ("diese[nrsm]? <one>", "this <one>"),
        ("(?:letzte|vorige|vergangene)[nrsm]? <weekday>", "last <weekday>"),
        ("(?:letzte|vorige|vergangene)[nrsm]? <month>", "last <month>"),
        ("(?:letzte|vorige|vergangene)[nrsm]? <season>", "last <season>"),
        ("(?:letzte|voriges|vergangene)[nrsm]? wochenende", "last weekend"),
        ("diese[nrsm]? <season>", "this <season>"),
        ("letzte woche (?:am )?<weekday>", "<weekday> last week"),
        ("<weekday> letzter woche", "<weekday> last week"),
        ("(?:letzten|vergangenen) <number> <unit>", "last <number> <unit>"),
        ("seit <number> <unit>", "last <number> <unit>"),
        ("(?:letztes|voriges) jahr im <month>", "<month> last year"),
        ("(?:letztes|voriges) jahr im <season>", "<season> last year"),
        ("im <month> (?:letzten|vorigen) jahres", "<month> last year"),
        ("im <season> (?:letzten|vorigen) jahres", "<season> last year"),
        ("<third> <month>(?: <year>)?", "<third> <month> <year>"),
        ("(?:(?:am|vom) )?<day>\\. ?<month>(?: <year>)?", "on <day> <month> <year>"),
        ("(?:seit|ab) dem <day>\\. ?<month>(?: <year>)?", "since <day> <month> <year>"),
        ("vor dem <day>\\. ?<month>(?: <year>)?", "before <day> <month> <year>"),
        ("nach dem <day>\\. ?<month>(?: <year>)?", "after <day> <month> <year>"),
        (
            "vom <day>\\. bis (?:zum )?<day2>\\. <month>(?: <year>)?",
            "from <day> to <day2> <month> <year>",
        ),
        ("zwischen <month> und <month2>(?: <year>)?", "between <month> and <month2> <year>"),
        ("von <month> bis <month2>(?: <year>)?", "from <month> to <month2> <year>"),
        ("im <nth> quartal(?: <year>)?", "<nth> quarter <year>"),
        ("(?:an|zu|über) weihnachten(?: <year>)?", "at christmas <year>"),
        ("letzte[ns]? weihnachten", "last christmas"),
    ],
)  # fmt: skip

_SPANISH = Tongue(
    words={
        "month": meaning(
            "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre "
            "noviembre diciembre",
            MONTHS,
        ),
        "weekday": meaning("lunes martes miércoles jueves viernes sábado domingo", WEEKDAYS),
        "season": meaning("primavera verano otoño invierno", SEASONS),
        "unit": meaning(
            "día|días|dia|dias semana|semanas mes|meses año|años hora|horas", _UNITS
        ),
        "one": meaning("semana mes trimestre año", "week month quarter year"),
        "number": meaning(
            "un|una dos tres cuatro cinco seis siete ocho nueve diez doce unos|unas|un_par_de "
            "varios|varias",
            _EUROPEAN_NUMBERS,
        ),
        "nth": meaning("primer segundo tercer cuarto", _EUROPEAN_NTH),
        "third": meaning("principios|comienzos mediados finales", "early mid late"),
    },
    phrases=[
        *_calendar(
            within="en|en el|en la|de|del|durante|durante el", since="desde|desde el",
            before="antes de|antes del", after="después de|después del", until="hasta|hasta el",
            of=" (?:de |del )?",
        ),
        ("anteayer|antes de ayer", "day before yesterday"),
        ("ayer(?: por la (?:mañana|tarde|noche))?", "yesterday"),
        ("hoy|esta mañana|esta tarde", "today"),
        ("anoche", "last night"),
        ("hace <number> <unit>", "<number> <unit> ago"),
        ("(?:el|la) <one> pasad[oa]", "last <one>"),
        ("(?:el|la) pasad[oa] <one>", "last <one>"),
        ("(?:este|esta) <one>", "this <one>"),
        ("(?:el )?<weekday> pasado|(?:el )?pasado <weekday2>", "last <weekday><weekday2>"),
        ("(?:en )?<month> pasado", "last <month>"),
        ("<month> del año pasado", "<month> last year"),
        ("(?:la |el )?<season> pasad[oa]", "last <season>"),
        ("(?:la |el )?<season> del año pasado", "<season> last year"),
        ("est[ea] <season>", "this <season>"),
        ("(?:el )?fin de semana pasado|(?:el )?pasado fin de semana", "last weekend"),
        ("<weekday> de la semana pasada", "<weekday> last week"),
        ("(?:últimos|últimas|pasados|pasadas) <number> <unit>", "last <number> <unit>"),
        ("(?:en el|en la) últim[oa] <one>", "past <one>"),
        ("a <third> de <month>(?: (?:de |del )?<year>)?", "<third> <month> <year>"),
        ("(?:el )?<day> de <month>(?: (?:de |del )?<year>)?", "on <day> <month> <year>"),
        ("desde el <day> de <month>(?: (?:de |del )?<year>)?", "since <day> <month> <year>"),
        ("antes del <day> de <month>(?: (?:de |del )?<year>)?", "before <day> <month> <year>"),
        ("después del <day> de <month>(?: (?:de |del )?<year>)?", "after <day> <month> <year>"),
        (
            "del <day> al <day2> de <month>(?: (?:de |del )?<year>)?",
            "from <day> to <day2> <month> <year>",
        ),
        (
            "entre <month> y <month2>(?: (?:de |del )?<year>)?",
            "between <month> and <month2> <year>",
        ),
        ("de <month> a <month2>(?: (?:de |del )?<year>)?", "from <month> to <month2> <year>"),
        ("<nth> trimestre(?: (?:de |del )?<year>)?", "<nth> quarter <year>"),
        ("(?:en|por) navidad(?: (?:de |del )?<year>)?", "at christmas <year>"),
    ],
    after=r"(?![\w-]| próxim[oa]| que viene)",
)  # fmt: skip

_FRENCH = Tongue(
    words={
        "month": meaning(
            "janvier février mars avril mai juin juillet août|aout septembre octobre novembre "
            "décembre",
            MONTHS,
        ),
        "weekday": meaning("lundi mardi mercredi jeudi vendredi samedi dimanche", WEEKDAYS),
        "season": meaning("printemps été automne hiver", SEASONS),
        "unit": meaning(
            "jour|jours semaine|semaines mois an|ans|année|années heure|heures", _UNITS
        ),
        "one": meaning("semaine mois trimestre année|an", "week month quarter year"),
        "number": meaning(
            "un|une deux trois quatre cinq six sept huit neuf dix douze "
            "quelques plusieurs",
            _EUROPEAN_NUMBERS,
        ),
        "nth": meaning("premier|1er deuxième|2e troisième|3e quatrième|4e", _EUROPEAN_NTH),
        "third": meaning("début mi fin", "early mid late"),
    },
    phrases=[
        *_calendar(
            within="en|de|au|pendant|au mois de|en l'année", since="depuis", before="avant",
            after="après", until="jusqu'en|jusqu'à", of=" (?:de )?",
        ),
        ("avant[- ]hier", "day before yesterday"),
        ("hier(?: (?:soir|matin|après-midi))?", "yesterday"),
        ("aujourd['\u2019]hui|ce matin|cet après-midi", "today"),
        ("(?:la nuit dernière|cette nuit)", "last night"),
        ("il y a <number> <unit>", "<number> <unit> ago"),
        ("(?:la |le |l['\u2019])?<one> (?:dernier|dernière|passé|passée)", "last <one>"),
        ("(?:ce|cet|cette) <one>(?:-ci)?", "this <one>"),
        ("<weekday> (?:dernier|passé)", "last <weekday>"),
        ("(?:en )?<month> dernier", "last <month>"),
        (
            "<month> de l['\u2019](?:an|année) (?:dernier|dernière|passé|passée)",
            "<month> last year",
        ),
        ("(?:l['\u2019]|le |au )?<season> dernier", "last <season>"),
        ("(?:l['\u2019]|le )<season> <year>", "<season> <year>"),
        ("(?:ce|cet) <season>", "this <season>"),
        ("(?:le )?week-end (?:dernier|passé)", "last weekend"),
        ("<weekday> de la semaine dernière", "<weekday> last week"),
        ("<number> (?:derniers|dernières) <unit>", "last <number> <unit>"),
        ("depuis <number> <unit>", "last <number> <unit>"),
        ("<third>[- ]<month>(?: <year>)?", "<third> <month> <year>"),
        ("(?:le )?<day>(?:er)? <month>(?: <year>)?", "on <day> <month> <year>"),
        ("depuis le <day>(?:er)? <month>(?: <year>)?", "since <day> <month> <year>"),
        ("avant le <day>(?:er)? <month>(?: <year>)?", "before <day> <month> <year>"),
        ("après le <day>(?:er)? <month>(?: <year>)?", "after <day> <month> <year>"),
        ("du <day>(?:er)? au <day2> <month>(?: <year>)?", "from <day> to <day2> <month> <year>"),
        ("entre <month> et <month2>(?: <year>)?", "between <month> and <month2> <year>"),
        ("de <month> à <month2>(?: <year>)?", "from <month> to <month2> <year>"),
        ("<nth> trimestre(?: (?:de )?<year>)?", "<nth> quarter <year>"),
        ("à noël(?: <year>)?", "at christmas <year>"),
    ],
    after=r"(?![\w-]| prochain)",
)  # fmt: skip

EUROPEAN_TONGUES: Mapping[str, Tongue] = {"german": _GERMAN, "spanish": _SPANISH, "french": _FRENCH}
