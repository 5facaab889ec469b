"""Converts text to the terms of the keyword index, for texts and queries.

::

    text -> NFKC -> chunks -> words -> parts, and the whole joined -> no stop words -> stems

A chunk is a run without spaces (`src/getUserName.py`). None goes across a blank, so the terms of an
ASCII text are those of its words one after another, and a known word costs one lookup. A term holds
a-z, 0-9, # and +, and beyond ASCII letters, digits and marks, no more.
A joined identifier is stemmed like a word: `getUserName` and `getusername` meet in one term.
Spellings of one word meet as well: traditional and simplified Chinese in the simplified one, Arabic
without its vowels, digits of any script in ours; and Müller gives `muller` and `mueller`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice, pairwise

import Stemmer

from memory_mesh.base.typed import Literal, dataclass
from memory_mesh.text import KnownWords

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST = 5  # letters; a shorter word has too many neighbours
BEGINNING = 4  # letters: edits before that are tried one by one
MAX_READINGS = 8  # words one word is read as at most
_MISSPELT = 0.7  # what it counts beside a word that was spelt right
_FORM = 0.6
_PART = 0.4
_ALIKE = 6  # letters that another form of a word shares at least, unless it only goes on
_WRONG = 7  # letters from which one may be wrong: short words differ in one and mean another thing
_TOO_MANY = 6  # letters from which one may be too many
_COMPOUND = 10  # letters from which a word may be made of two
_SPELT_ENDINGS = (
    "",
    "e",
    "s",
    "es",
    "ed",
    "er",
    "ing",
    "ion",
    "ation",
    "ment",
    "ness",
    "ity",
    "ly",
    "al",
)
_ENDING = 3  # letters that a part may have beyond what it shares: Einstellung-en

_PAIRS = """
萬万 與与 專专 業业 東东 絲丝 兩两 嚴严 個个 豐丰 臨临 為为 爲为 麗丽 舉举 麼么 義义 樂乐
習习 鄉乡 書书 買买 亂乱 爭争 於于 雲云 亞亚 產产 親亲 億亿 僅仅 從从 倉仓 儀仪 們们 價价
眾众 衆众 優优 夥伙 會会 偉伟 傳传 傷伤 倫伦 偽伪 僞伪 體体 餘余 傭佣 偵侦 側侧 債债 傾倾
償偿 儲储 兒儿 黨党 關关 興兴 養养 內内 冊册 寫写 軍军 農农 衝冲 決决 況况 凍冻 淨净 減减
幾几 憑凭 擊击 劃划 則则 剛刚 創创 刪删 別别 劇剧 勸劝 辦办 務务 動动 勵励 勞劳 勢势 區区
醫医 華华 協协 單单 賣卖 衛卫 卻却 廠厂 廳厅 歷历 曆历 壓压 縣县 參参 雙双 發发 髮发 變变
敘叙 葉叶 號号 嗎吗 聽听 啟启 啓启 吳吴 員员 響响 喚唤 嘗尝 團团 園园 圍围 國国 圖图 圓圆
聖圣 場场 壞坏 塊块 堅坚 壇坛 聲声 處处 備备 複复 復复 夠够 頭头 獎奖 奧奥 婦妇 媽妈 娛娱
孫孙 學学 寧宁 寶宝 實实 審审 憲宪 宮宫 寬宽 對对 尋寻 導导 將将 盡尽 儘尽 層层 屆届 屬属
歲岁 島岛 幣币 師师 帳帐 帶带 幫帮 幹干 乾干 並并 併并 廣广 慶庆 庫库 應应 廢废 開开 異异
棄弃 張张 彎弯 彈弹 強强 歸归 當当 錄录 彙汇 匯汇 徑径 憶忆 憂忧 懷怀 態态 總总 惡恶 懸悬
驚惊 慣惯 願愿 戲戏 戰战 戶户 執执 擴扩 掃扫 揚扬 搶抢 護护 報报 擔担 擬拟 擁拥 攔拦 撥拨
擇择 掛挂 擋挡 揮挥 損损 換换 據据 捲卷 攬揽 攜携 攝摄 擺摆 搖摇 攤摊 敵敌 數数 鬥斗 斷断
無无 舊旧 時时 顯显 曉晓 暫暂 術术 機机 殺杀 雜杂 權权 條条 來来 楊杨 傑杰 極极 構构 樞枢
槍枪 櫃柜 標标 欄栏 樹树 樣样 橋桥 檔档 夢梦 檢检 樓楼 臺台 橫横 歡欢 歐欧 殘残 畢毕 氣气
漢汉 溝沟 沒没 澤泽 潔洁 淺浅 測测 濟济 瀏浏 漲涨 滲渗 溫温 遊游 灣湾 濕湿 溼湿 滾滚 滿满
濾滤 濱滨 潛潜 滅灭 燈灯 靈灵 點点 煉炼 煩烦 燒烧 熱热 愛爱 狀状 獨独 貓猫 獻献 環环 現现
電电 畫画 暢畅 療疗 鹽盐 監监 蓋盖 盤盘 碼码 礎础 確确 礙碍 禮礼 離离 種种 積积 稱称 穩稳
競竞 筆笔 築筑 籌筹 簽签 籤签 簡简 類类 糧粮 緊紧 糾纠 紀纪 紅红 約约 級级 紛纷 純纯 綱纲
納纳 縱纵 紙纸 紋纹 紐纽 線线 練练 組组 細细 織织 終终 紹绍 經经 結结 繞绕 繪绘 給给 絡络
絕绝 統统 繼继 績绩 緒绪 續续 維维 綠绿 綜综 緩缓 編编 緣缘 縮缩 繳缴 網网 羅罗 罷罢 職职
聯联 聰聪 勝胜 腳脚 脫脱 腦脑 臉脸 髒脏 騰腾 藝艺 節节 範范 薦荐 藥药 獲获 穫获 營营 藍蓝
蘇苏 虛虚 雖虽 補补 裝装 製制 見见 觀观 規规 視视 覺觉 覽览 觸触 計计 訂订 認认 討讨 讓让
訓训 議议 訊讯 記记 講讲 許许 論论 設设 訪访 證证 評评 識识 訴诉 診诊 詞词 譯译 試试 誠诚
話话 詢询 該该 詳详 誤误 說说 説说 請请 諸诸 諾诺 讀读 課课 誰谁 調调 談谈 謀谋 謂谓 謝谢
譜谱 語语 讚赞 贊赞 貝贝 負负 財财 責责 敗败 貨货 質质 購购 貴贵 貸贷 費费 賀贺 資资 賠赔
賬账 賺赚 賽赛 贈赠 贏赢 趙赵 趕赶 車车 軌轨 轉转 輪轮 軟软 輕轻 載载 較较 輔辅 輛辆 輸输
邊边 達达 遷迁 過过 邁迈 運运 還还 這这 進进 遠远 違违 連连 遲迟 適适 選选 遞递 邏逻 遺遗
郵邮 釋释 裡里 裏里 針针 鋼钢 鑰钥 鐘钟 鈕钮 錢钱 鐵铁 銀银 銷销 鎖锁 錯错 鏡镜 鏈链 鍵键
鎮镇 鋪铺 長长 門门 閃闪 閉闭 問问 間间 聞闻 閱阅 隊队 陽阳 陰阴 階阶 際际 陸陆 陳陈 險险
隨随 隱隐 隻只 雞鸡 難难 靜静 頁页 頂顶 項项 順顺 須须 顧顾 預预 領领 頻频 題题 額额 顏颜
風风 飛飞 飯饭 飲饮 館馆 馬马 驗验 驅驱 魚鱼 鮮鲜 鳥鸟 麥麦 麵面 黃黄 齊齐 齡龄 龍龙 後后
準准 週周 註注 誌志 佔占 佈布 採采 係系 繫系 錶表 傢家 闆板 妳你 僱雇 昇升 廈厦 蹟迹 跡迹
閣阁 顆颗 纖纤 祕秘 託托 迴回 鑽钻 鑒鉴 鑑鉴 銳锐 軸轴 轄辖 輯辑 逕径 闢辟 駛驶
"""

ANALYZER = 2  # raise it when a text gives other terms: upkeep then writes those of stores anew
MAX_CHARS = 100_000
MAX_TERM = 64
CACHED_CHUNKS = 32_768

_STOP = (
    "a about above after again against ain't all am an and any are aren't as at be because been "
    "before being below between both but by can can't cannot could couldn't did didn't do does "
    "doesn't doing don't down during each few for from further had hadn't has hasn't have haven't "
    "having he her here hers herself him himself his how i if in into is isn't it its itself just "
    "me more most mustn't my myself needn't no nor not now of off on once only or other our ours "
    "ourselves out over own same she should shouldn't so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up very was wasn't we "
    "were weren't what when where which while who whom why will with won't would wouldn't you your "
    "yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP.replace("'", "").split())

_ENDINGS = frozenset(("s", "re", "ve", "ll", "d", "m"))  # user's, they're, we've, she'll, I'd, I'm
_VOWELS_AND_S = frozenset("aeiouys")
_NAMES_IN_S = frozenset(("aws", "ios"))  # not the plural of io
_ACRONYM = 2  # APIs is a plural, Is is not
_SHORT = 3  # iOS and K8s stay whole, DNS keeps its s
_APOSTROPHES = frozenset(
    "\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\u02bc"
    "\N{HEBREW PUNCTUATION GERESH}"
)
_PUNCTUATION = ".,;:!?)"  # after a word, not of it
_CONNECTORS = frozenset("_./\\:@'-#+,")
_TO_FOLDERS = str.maketrans("/\\:@", "    ")
_TO_NAMES = str.maketrans("_.'-", "    ")
_PLAIN = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h"}
    | {"Ħ": "H", "\u0131": "i", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th"}
    | {"\N{ARABIC TATWEEL}": "", "\N{ARABIC LETTER ALEF MAKSURA}": "\N{ARABIC LETTER YEH}"}
)
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_LATIN_AND_GREEK = "\u03ff"
_UNPOINTED = ("\u0590", "\u077f")  # Hebrew, Arabic, Syriac: their vowels are marks, mostly left out
_TEH_MARBUTA_OR_HEH = ("\N{ARABIC LETTER TEH MARBUTA}", "\N{ARABIC LETTER HEH}")
# A letter that the language lacks shows another one: Persian, Urdu and Ukrainian stay whole.
_ALPHABETS = {
    "arabic": frozenset(map(chr, range(0x0621, 0x064B))),
    "russian": frozenset(map(chr, range(0x0430, 0x0450))) | {"ё"},
}
# Keyboards mix these in one language, Persian or Urdu.
_SHARED_LETTERS = str.maketrans(
    {
        "\N{ARABIC LETTER KEHEH}": "\N{ARABIC LETTER KAF}",
        "\N{ARABIC LETTER FARSI YEH}": "\N{ARABIC LETTER YEH}",
        "\N{ARABIC LETTER HEH GOAL}": "\N{ARABIC LETTER HEH}",
    }
)
_HEX = "0x"
_LONG_RUN = 2_000  # characters: as many marks take a few milliseconds to be put in order
_HALFWIDTH_MARKS = "\uff9e\uff9f"  # letters that become marks in the normal form
_MARKS = 30  # of one letter, as in Unicode's stream-safe texts
# Thai and Lao; Myanmar; Hangul letters; Khmer; Han, kana and Hangul; the rarer Han.
_SPACELESS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x3005, 0xA4CF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)


def terms(text: str) -> list[str]:
    """Returns the terms of a text in order; stop words only if there is nothing else."""
    return joined_terms(text).split() if text.isascii() else _terms(_chunks(text))


def joined_terms(text: str) -> str:
    """Returns the terms of a text in order, with a blank between two."""
    if text.isascii():
        text = text[:MAX_CHARS]
        found = " ".join(filter(None, map(_terms_of_word, text.split())))
        if found:
            return found
    return " ".join(_terms(_chunks(text)))


def query_terms(text: str) -> list[str]:
    """Returns the distinct terms of a query, in order of first occurrence.

    Of the two terms that Müller gives, a query asks for `mueller` alone: it would count twice.
    """
    return list(dict.fromkeys(_terms([_written_out(chunk) for chunk in _chunks(text)])))


def stem(word: str) -> str:
    """Returns the Snowball stem of a word; names with digits or signs are unchanged."""
    if not word.isascii():
        return _stem_beyond_ascii(word)
    if not (word.isascii() and word.isalpha()) or word in _NAMES_IN_S:
        return word
    if len(word) > _SHORT and word[-1] == "s" and not _VOWELS_AND_S.intersection(word[:-1]):
        return word[:-1]  # LLMs and PDFs: Snowball wants a vowel before it drops the s
    # A stemmer is not thread-safe; a new one costs a third of a microsecond, and stems are cached.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


def rfc_tokens(text: str) -> list[str]:
    """The tokenizer of RFC-0011 section 5.1: lowercase, camelCase split, at least 3 characters."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:MAX_CHARS])
    return re.findall(r"[^\W_]{3,}", apart.lower())


def _terms(chunks: Sequence[str]) -> list[str]:
    found: list[str] = []
    for chunk in chunks:
        found.extend(_known(chunk) if len(chunk) <= MAX_TERM else _content(chunk))
    return found or [stem(word) for chunk in chunks for word in _words(chunk)]


def _chunks(text: str) -> list[str]:
    """The runs of the text that can hold a term."""
    text = text[:MAX_CHARS]
    if not text.isascii():
        text = _normal("NFKC", text)[:MAX_CHARS]
    return _chunk_pattern().findall(text)


def _content(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk without its stop words."""
    return tuple(stem(word) for word in _words(chunk) if word not in STOP_WORDS)


_known = lru_cache(maxsize=CACHED_CHUNKS)(_content)


def _of_word(word: str) -> str:
    """The terms of an ASCII word without blanks, joined; empty for a stop word."""
    bare = word.rstrip(_PUNCTUATION)
    if not bare.isalnum():
        return " ".join([term for chunk in _chunks(word) for term in _content(chunk)])
    if bare != word:  # the same chunk as without what follows it
        return _terms_of_word(bare)
    if bare.isalpha() and bare[1:].islower():  # as in _words
        bare = bare.lower()[:MAX_TERM]
        return "" if bare in STOP_WORDS else stem(bare)
    return " ".join(_content(bare))


_terms_of_word = KnownWords(_of_word).__getitem__


def _words(chunk: str) -> Iterator[str]:
    """The lowercase words of one chunk, cut at MAX_TERM."""
    if chunk.isascii():
        plain = chunk.isalpha() and chunk[1:].islower()  # most words, and nothing to take apart
        yield from (chunk.lower()[:MAX_TERM],) if plain else _identifier(chunk)
        return
    plainly = list(_folded(chunk))
    yield from plainly
    written = _written_out(chunk)
    if written != chunk:
        known = set(plainly)
        yield from (word for word in _folded(written) if word not in known)


def _written_out(chunk: str) -> str:
    """The chunk with its umlauts as two letters, both capitals where all are."""
    if chunk.isascii():
        return chunk
    written = chunk.translate(_WRITTEN_OUT)
    return written.upper() if chunk.isupper() else written


def _folded(chunk: str) -> Iterator[str]:
    """The words of a chunk beyond ASCII."""
    for piece in _chunk_pattern().findall(_fold(chunk)):
        yield from _identifier(piece) if piece.isascii() else _foreign(piece)


def _identifier(piece: str) -> list[str]:
    """The parts of an ASCII word, name or path, each joined name, and the whole joined."""
    body = _without_ending(piece.replace(",", "").rstrip("#+"))
    folders = [
        [part for word in folder.translate(_TO_NAMES).split() for part in _humps(word)]
        for folder in body.translate(_TO_FOLDERS).split()
    ]
    found: list[str] = []
    for names in folders:
        found.extend(names)
        if len(names) > 1:
            found.append("".join(names)[:MAX_TERM])
    whole = [name for names in folders for name in names]
    if len(whole) > max(map(len, folders), default=0):
        found.append("".join(whole)[:MAX_TERM])
    found += [name[len(_HEX) :] for name in whole if name.startswith(_HEX) and name != _HEX]
    return _with_sign(found, piece) if piece[-1] in "#+" else found


def _without_ending(piece: str) -> str:
    """A word without its possessive or its contraction: user's is user, don't is dont."""
    head, apostrophe, tail = piece.rpartition("'")
    if apostrophe and tail.lower() in _ENDINGS:
        return head
    return piece.replace("n't", "nt").replace("N'T", "NT")


def _humps(word: str) -> list[str]:
    """The parts of a camelCase word; an acronym, a short word and a blob stay whole."""
    if len(word) > MAX_TERM:
        return [word[:MAX_TERM].lower()]
    if len(word) > _ACRONYM and word[-1] == "s" and word[:-1].isupper() and word.isalpha():
        return [word[:-1].lower()]
    if len(word) <= _SHORT or word.isupper() or word[1:].islower() or word[:2].lower() == _HEX:
        return [word.lower()]
    return [part.lower() for part in _hump_pattern().findall(word)]


def _with_sign(found: list[str], piece: str) -> list[str]:
    """The words with the sign of C++ or C# kept; a lone letter means nothing without it."""
    if not found:
        return found
    sign = "#" if piece[-1] == "#" else "++"
    words = piece.rstrip("#+").translate(_TO_FOLDERS | _TO_NAMES).split()
    last = words[-1].lower()[: MAX_TERM - len(sign)]
    return [last + sign] if len(piece) == 1 + len(sign) else [*found, last + sign]


def _fold(chunk: str) -> str:
    """The chunk with Latin letters bare of marks, and blanks where no letter, digit or mark is."""
    kept: list[str] = []
    base = ""
    plain = chunk.translate(_PLAIN)
    for char in _normal("NFD", plain.upper() if chunk.isupper() else plain):
        category = unicodedata.category(char)
        if category[0] in "LN" and char not in _APOSTROPHES:
            base = char
            kept.append(str(unicodedata.decimal(char)) if category == "Nd" else char)
        elif category[0] == "M":
            if base > _LATIN_AND_GREEK and not _UNPOINTED[0] <= base <= _UNPOINTED[1]:
                kept.append(char)  # after such a letter, or after none, a mark is dropped
        elif category != "Cf":
            base = ""
            kept.append(
                char if char in _CONNECTORS else "'" if char in _APOSTROPHES else " ",
            )
    return _normal("NFC", "".join(kept))


def _normal(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """The normal form; a letter keeps no more marks than any script gives it.

    Marks are put in order by a time that grows with the square of their number.
    """
    if len(text) > _LONG_RUN and not unicodedata.is_normalized(form, text):
        text = "".join(_few_marks(text))
    return unicodedata.normalize(form, text)


def _few_marks(text: str) -> Iterator[str]:
    for marks, run in groupby(text, key=_is_mark):
        yield from islice(run, _MARKS if marks else None)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in _HALFWIDTH_MARKS


def _foreign(piece: str) -> Iterator[str]:
    """The words of a folded piece beyond ASCII; a script without spaces gives bigrams."""
    names: list[str] = []
    joinable = True
    for script, run in groupby(piece, key=_script):
        text = "".join(run)
        if script == "spaceless":
            joinable = False
            yield from _bigrams(text)
        elif script == "word" and any(map(str.isalnum, text)):
            name = text.casefold()[:MAX_TERM]
            names.append(name)
            yield from _identifier(text) if text.isascii() else [name]
    if joinable and len(names) > 1:
        yield "".join(names)[:MAX_TERM]


def _script(char: str) -> str:
    """Whether a character connects words, belongs to one, or to a script without spaces."""
    if char in _CONNECTORS:
        return "connector"
    code = ord(char)
    return "spaceless" if any(low <= code <= high for low, high in _SPACELESS) else "word"


def _bigrams(run: str) -> list[str]:
    """Every two neighbouring letters with their marks; a lone letter stands for itself."""
    letters: list[str] = []
    for char in run.casefold().translate(simplified()):
        if char.isalnum() or not letters:
            letters.append(char)
        elif len(letters[-1]) < MAX_TERM // 2:
            letters[-1] += char
    return [left + right for left, right in pairwise(letters)] or letters


def _stem_beyond_ascii(word: str) -> str:
    """The stem of a word whose letters are all of one alphabet that we stem."""
    for language, alphabet in _ALPHABETS.items():
        if alphabet.issuperset(word):
            stem = str(Stemmer.Stemmer(language, 0).stemWord(word)) or word
            return stem[:-1] if len(stem) > _SHORT and stem.endswith(_TEH_MARBUTA_OR_HEH) else stem
    return word.translate(_SHARED_LETTERS)


@lru_cache(maxsize=1)
def _chunk_pattern() -> re.Pattern[str]:
    """Pattern of words joined by single connectors, such as 1,000, and of C++ with its sign."""
    run = r"[^\x00-/:-@\[-^`{-\x7f]+"  # what is not in ASCII, and its letters, digits and _
    return re.compile(
        rf"{run}(?:(?:://|::|[./\\:@'-]){run}|(?<=[0-9]),[0-9]{{3}}(?![0-9A-Za-z]))*"
        r"(?:\+\+|#(?![A-Za-z0-9]))?"
    )


@lru_cache(maxsize=1)
def _hump_pattern() -> re.Pattern[str]:
    """Pattern that splits HTTPServer2Name into HTTP, Server2, Name."""
    return re.compile(r"[A-Z]{2,}(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z]")


# Traditional Chinese characters and the simplified ones that stand for them.
#
# Only the most frequent, and only one for one: enough that a word written in one script finds the
# same word written in the other. Several traditional characters may share a simplified one.


@lru_cache(maxsize=1)
def simplified() -> dict[int, str]:
    """A table for `str.translate`."""
    return {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


# Finds stored words for misspelt words of a question.
#
# A misspelt word is one edit away from the right one, another form of a word begins alike, a long
# compound begins with a word of its own. Whoever calls has the stored words and offers some of
# them.


@dataclass(frozen=True, slots=True)
class Other:
    """A replacement for a term: its words and its weight."""

    words: tuple[str, ...]
    weight: float


def beginnings(term: str) -> tuple[str, ...]:
    """What the words that stand in for a term may begin with, the likeliest first."""
    if len(term) < LEAST or not term.isalpha():  # numbers, names with digits mean themselves only
        return ()
    cut = max(BEGINNING, -(-2 * len(term) // 3))
    half = (term[: len(term) // 2],) if len(term) >= _COMPOUND else ()
    return tuple(dict.fromkeys((term[:cut], *half, term[:BEGINNING])))


def stand_ins(term: str, words: Iterable[str]) -> tuple[Other, ...]:
    """Returns the stored words that a term may mean, the nearest first."""
    spelt = [term.removesuffix(ending) for ending in _SPELT_ENDINGS if term.endswith(ending)]
    weighed = [
        (_nearness(term, word, spelt), word) for word in words if word.isalpha() and word != term
    ]
    best = sorted((-weight, word) for weight, word in weighed if weight)
    return tuple(Other((word,), -weight) for weight, word in best)


def respelt(term: str) -> list[str]:
    """The terms of a word one edit away, where a letter near its beginning is amiss."""
    if not (term.isascii() and term.isalpha()):
        return []
    if len(term) == BEGINNING:  # eror: a letter that was not doubled
        return [term[:at] + term[at] + term[at:] for at in range(1, len(term))]
    if len(term) < LEAST:
        return []
    near = {term[1] + term[0] + term[2:]}
    for at in range(1, BEGINNING):
        head, tail = term[:at], term[at:]
        near.update(head + letter + tail for letter in _LETTERS)
        near.add(head + tail[1] + tail[0] + tail[2:])
        if len(term) >= _TOO_MANY:
            near.add(head + tail[1:])
    return sorted({stem(word) for word in near} - {term})


def meant(spellings: Iterable[str]) -> tuple[Other, ...]:
    """The spellings that were found, as words that the term may mean."""
    return tuple(Other((word,), _MISSPELT) for word in spellings)


def told(
    meant: Mapping[str, Sequence[str]], memories: Iterable[Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """What terms were read as, as far as one of the memories, each some texts, holds it."""
    wanted = {other for others in meant.values() for other in others}
    held: set[str] = set()
    for texts in memories:
        if held == wanted:
            break
        there = {term for text in texts for term in terms(text)}
        held |= {other for other in wanted if there.issuperset(other.split())}
    kept = {term: tuple(filter(held.__contains__, others)) for term, others in meant.items()}
    return {term: others for term, others in kept.items() if others}


def _nearness(term: str, word: str, spelt: Iterable[str]) -> float:
    """What a stored word counts for a term, or 0 where it is another word.

    A misspelt word may keep the ending that the stored one was stemmed of: databsae and databas.
    """
    shared = _shared(term, word)
    if any(_one_edit(stem, word, shared) for stem in spelt):
        return _MISSPELT
    if shared == len(term) or shared >= max(_ALIKE, 2 * len(term) / 3):
        return _FORM * shared / max(len(term), len(word))
    part = len(term) >= _COMPOUND and shared >= len(term) / 2 and len(word) <= shared + _ENDING
    return _PART if part and shared >= _ALIKE else 0.0


def _shared(one: str, other: str) -> int:
    """Returns the length of the common start of two words."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _one_edit(term: str, word: str, shared: int) -> bool:
    """True if the words differ by one missing, extra, wrong or swapped letter."""
    if len(term) < LEAST or abs(len(term) - len(word)) > 1:
        return False
    left, right = term[shared:], word[shared:]
    if len(left) < len(right):
        return left == right[1:]
    if len(left) > len(right):
        return left[1:] == right and len(term) >= _TOO_MANY
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or (left[1:] == right[1:] and len(term) >= _WRONG)
