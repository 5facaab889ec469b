"""German, Spanish and French."""

from collections.abc import Mapping, Sequence

from memory_mesh.policy.text.time_expressions.language import (
    MONTHS,
    SEASONS,
    WEEKDAYS,
    Tongue,
    meaning,
)

_UNITS = "day week month year hour"
_NUMBERS = "1 2 3 4 5 6 7 8 9 10 12 few several"
_NTH = "1st 2nd 3rd 4th"


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
            _NUMBERS,
        ),
        "nth": meaning("1\\.|ersten|erstes 2\\.|zweiten 3\\.|dritten 4\\.|vierten", _NTH),
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
            _NUMBERS,
        ),
        "nth": meaning("primer segundo tercer cuarto", _NTH),
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
            _NUMBERS,
        ),
        "nth": meaning("premier|1er deuxième|2e troisième|3e quatrième|4e", _NTH),
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

TONGUES: Mapping[str, Tongue] = {"german": _GERMAN, "spanish": _SPANISH, "french": _FRENCH}
