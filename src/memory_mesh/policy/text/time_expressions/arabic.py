"""Arabic, with the month names of Egypt and of the Levant."""

from memory_mesh.policy.text.time_expressions.language import (
    MONTHS,
    SEASONS,
    WEEKDAYS,
    Tongue,
    meaning,
)

_PAST = "(?:الماضي|الماضية|الفائت|الفائتة|المنصرم)"

ARABIC = Tongue(
    words={
        "month": meaning(
            "يناير|كانون_الثاني|جانفي فبراير|شباط مارس|آذار أبريل|ابريل|إبريل|نيسان مايو|أيار|ماي "
            "يونيو|حزيران يوليو|تموز أغسطس|اغسطس|آب سبتمبر|أيلول أكتوبر|اكتوبر|تشرين_الأول "
            "نوفمبر|تشرين_الثاني ديسمبر|كانون_الأول",
            MONTHS,
        ),
        "weekday": meaning(
            "الاثنين|الإثنين الثلاثاء الأربعاء|الاربعاء الخميس الجمعة السبت الأحد|الاحد", WEEKDAYS
        ),
        "season": meaning("الربيع|ربيع الصيف|صيف الخريف|خريف الشتاء|شتاء", SEASONS),
        "unit": meaning(
            "يوم|أيام|ايام|يوما|يومًا أسبوع|أسابيع|اسبوع|أسبوعا شهر|أشهر|شهور|شهرا "
            "سنة|سنوات|عام|أعوام ساعة|ساعات",
            "day week month year hour",
        ),
        "two": meaning(
            "يومين أسبوعين|اسبوعين شهرين سنتين|عامين ساعتين", "day week month year hour"
        ),
        "one": meaning(
            "الأسبوع|الاسبوع الشهر السنة|العام الربع", "week month year quarter"
        ),
        "number": meaning(
            "ثلاثة|ثلاث أربعة|أربع خمسة|خمس ستة|ست سبعة|سبع ثمانية|ثماني تسعة|تسع "
            "عشرة|عشر بضعة|بضع",
            "3 4 5 6 7 8 9 10 few",
        ),
        "nth": meaning("الأول الثاني الثالث الرابع", "1st 2nd 3rd 4th"),
    },
    phrases=[
        ("(?:أول|اول) (?:أمس|امس)", "day before yesterday"),
        ("أمس|امس|البارحة|مساء أمس", "yesterday"),
        ("(?<!في )اليوم|هذا الصباح|صباح اليوم", "today"),
        ("(?:الليلة الماضية|ليلة أمس)", "last night"),
        ("(?:قبل|منذ) <unit>", "a <unit> ago"),
        ("(?:قبل|منذ) <two>", "2 <two> ago"),
        ("(?:قبل|منذ) <number> <unit>", "<number> <unit> ago"),
        (f"<one> {_PAST}", "last <one>"),
        ("(?:هذا|هذه) <one>", "this <one>"),
        (f"(?:يوم )?<weekday> {_PAST}", "last <weekday>"),
        (f"<season> {_PAST}", "last <season>"),
        ("(?:هذا) <season>", "this <season>"),
        ("<season> (?:عام |سنة )?<year>", "<season> <year>"),
        (f"<season> (?:من )?العام {_PAST}", "<season> last year"),
        (f"عطلة نهاية الأسبوع {_PAST}|نهاية الأسبوع {_PAST}", "last weekend"),
        ("(?:في|خلال) (?:شهر )?<month>(?: (?:عام |سنة )?<year>)?", "in <month> <year>"),
        ("<month> (?:عام |سنة )?<year>", "<month> <year>"),
        (f"<month> {_PAST}", "last <month>"),
        (f"<month> (?:من )?العام {_PAST}", "<month> last year"),
        ("(?:في )?<day> <month>(?: <year>)?", "on <day> <month> <year>"),
        ("منذ (?:شهر )?<month>(?: <year>)?", "since <month> <year>"),
        ("قبل (?:شهر )?<month>(?: <year>)?", "before <month> <year>"),
        ("بعد (?:شهر )?<month>(?: <year>)?", "after <month> <year>"),
        ("(?:في )?(?:عام|سنة) <year>", "in <year>"),
        ("في <year>", "in <year>"),
        ("منذ (?:عام |سنة )?<year>", "since <year>"),
        ("قبل (?:عام |سنة )?<year>", "before <year>"),
        ("بين <month> و ?<month2>(?: <year>)?", "between <month> and <month2> <year>"),
        ("من <month> (?:إلى|حتى) <month2>(?: <year>)?", "from <month> to <month2> <year>"),
        ("الربع <nth>(?: (?:من )?(?:عام |سنة )?<year>)?", "<nth> quarter <year>"),
    ],
    before=r"(?<!\w)[وبفل]?",
    after=r"(?![\w-]| القادم| المقبل)",
)  # fmt: skip
