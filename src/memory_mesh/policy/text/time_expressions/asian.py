"""Chinese and Japanese: words are not set apart, so a phrase may stand anywhere."""

from collections.abc import Mapping

from memory_mesh.policy.text.time_expressions.language import (
    MONTHS,
    SEASONS,
    WEEKDAYS,
    Tongue,
    meaning,
)

_FREE = r"(?<!\d)"
_MONTH_FIGURES = {str(number): name for number, name in enumerate(MONTHS.split(), 1)}
_MONTH_FIGURES |= {f"0{number}": _MONTH_FIGURES[str(number)] for number in range(1, 10)}
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
