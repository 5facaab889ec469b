"""Text becomes terms: what is split, joined, kept, folded, stemmed and dropped."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text import analyzer
from memory_mesh.text.analyzer import query_terms, rfc_tokens, terms
from tests.effort import effort


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "user", "name", "getusernam"]),
        ("PascalCase", ["pascal", "case", "pascalcas"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("SHA256Hash", ["sha256", "hash", "sha256hash"]),
        ("foo_bar.py", ["foo", "bar", "py", "foobarpi"]),
        ("dry-run", ["dri", "run", "dryrun"]),
        ("__init__", ["init"]),
        ("std::vector", ["std", "vector", "stdvector"]),
        ("x.b_c/goUp.py", ["x", "b", "c", "xbc", "go", "py", "gouppi", "xbcgouppi"]),
        ("bob@example.org", ["bob", "exampl", "org", "exampleorg", "bobexampleorg"]),
        ("https://x.org/y", ["http", "x", "org", "xorg", "y", "httpsxorgi"]),
        ("3.11.7", ["3", "11", "7", "3117"]),
        ("v2.0", ["v2", "0", "v20"]),
        ("2026-01-31", ["2026", "01", "31", "20260131"]),
        ("1,000 or 3,14", ["1000", "3", "14"]),
        ("€1,000", ["1000"]),
    ],
)
def test_a_name_gives_its_parts_and_the_whole(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("spelled", "squashed"),
    [("getUserNames", "getusernames"), ("e-mails", "emails"), ("Node.js", "nodejs"), ("a_b", "ab")],
)
def test_the_joined_whole_is_the_term_of_the_squashed_spelling(spelled, squashed):
    assert terms(squashed) == terms(spelled)[-1:]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Go", "go"),
        ("C", "c"),
        ("C#", "c#"),
        ("C++", "c++"),
        ("F#", "f#"),
        ("R", "r"),
        ("UI", "ui"),
        ("5G", "5g"),
        ("k8s", "k8s"),
        ("K8s", "k8s"),
        ("v2", "v2"),
        ("iOS", "ios"),
        ("H2O", "h2o"),
        ("42", "42"),
    ],
)
def test_a_short_identifier_stays_whole(text, kept):
    assert terms(text) == [kept]
    assert terms(f"We use {text}, mostly.")[1:-1] == [kept]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++11 beats C", ["c++", "11", "beat", "c"]),
        ("C/C++", ["c", "c", "cc", "c++"]),
        ("notepad++", ["notepad", "notepad++"]),
        ("issue#12 a+b 1+1", ["issu", "12", "b", "1", "1"]),
        ("#lesson_learned", ["lesson", "learn", "lessonlearn"]),
    ],
)
def test_a_sign_belongs_to_a_language_not_to_a_sum(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the user's dog", ["user", "dog"]),
        ("users' dogs", ["user", "dog"]),
        ("I don't, we'll, they're, she'd, isn't, can't: fish", ["fish"]),
        ("I don’t, we’ll: fish", ["fish"]),
        ("I don\u02bct, don‘t: fish", ["fish"]),
        ("O'Brien", ["o", "brien", "obrien"]),
        ("don't-care", ["care", "dontcar"]),
    ],
)
def test_apostrophes_leave_no_fragments(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("running runs ran", ["run", "run", "ran"]),
        ("memories memory", ["memori", "memori"]),
        ("APIs api LLMs llms PDFs IDs", ["api", "api", "llm", "llm", "pdf", "id"]),
        ("DNS css boss", ["dns", "css", "boss"]),
    ],
)
def test_english_words_meet_in_their_stem(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("café CAFÉ cafe\u0301 cafe", ["cafe"] * 4),
        ("Straße Łódź Ærøskøbing İstanbul", ["strass", "lodz", "aeroskob", "istanbul"]),
        ("ｆｕｌｌ ﬁne ①", ["full", "fine", "1"]),
        ("Привет ПРИВЕТ", ["привет", "привет"]),
        ("старый_файл.py", ["стар", "файл", "py", "старыйфайлpy"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("“well—known”", ["well", "known"]),
        ("🎉👨\u200d👩\u200d👧 party", ["parti"]),
        ("≠ \u0301 a\x00b\ud800c", ["b", "c"]),
    ],
)
def test_other_alphabets_are_folded_and_kept(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語", ["日本", "本语"]),
        ("日", ["日"]),
        ("日\u0301", ["日"]),
        ("東京。大阪", ["东京", "大阪"]),
        ("ひらカナ", ["ひら", "らカ", "カナ"]),
        ("ﾃｽﾄ", ["テス", "スト"]),
        ("안녕하세요", ["안녕", "녕하", "하세", "세요"]),
        ("สวัสดี", ["สวั", "วัส", "สดี"]),
        ("ພາສາ", ["ພາ", "າສ", "ສາ"]),
        ("ភាសា", ["ភាសា"]),
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        ("iPhone用", ["phone", "iphon", "用"]),
    ],
)
def test_scripts_without_spaces_give_bigrams(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("資料庫備份", "资料库备份"),
        ("憑證過期", "凭证过期"),
        ("۲۰۲۶ ٧٣٠٥ E٧٣٠٥", "2026 7305 E7305"),
        ("الاجتماعات", "اِجْتِمَاعًا"),
        ("أحمد إلى", "احمد الي"),
        ("للدمج", "الدمج"),
        ("الخدمة", "خدمه"),
        ("كتـــاب", "كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("серверы", "серверу"),
        ("ещё", "еще"),
        ("يك", "یک"),
        ("كتاب", "کتاب"),
        ("می\u200cخواهم", "میخواهم"),
        ("ΟΔΟΣ", "οδός"),
        ("Ρόδος", "Ροδος"),
        ("ג׳ירפה", "ג'ירפה"),
        ("ISTANBUL", "İstanbul"),
        ("da nang", "Đà Nẵng"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
    ],
)
def test_spellings_of_one_word_in_another_script_meet(asked, stored):
    assert query_terms(asked) == terms(stored)


@pytest.mark.parametrize("word", ["گفتگو", "کتابها", "بازی", "لڑکے", "її", "ўзор"])
def test_a_word_with_letters_of_another_language_is_not_stemmed(word):
    [term] = terms(word)
    assert len(term) == len(unicodedata.normalize("NFC", word))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [("Müller", "Mueller"), ("Mueller", "Müller"), ("Muller", "Müller"), ("GRÖẞE", "Groesse")],
)
def test_umlauts_are_found_written_out_and_without_their_dots(asked, stored):
    assert set(query_terms(asked)) & set(terms(stored))


def test_a_question_asks_for_a_word_with_an_umlaut_once():
    assert terms("Müller-Lüdenscheidt")[:2] == ["muller", "ludenscheidt"]
    assert query_terms("Müller") == ["mueller"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MÜLLER", ["mueller"]),
        ("GRÖẞE", ["groess"]),
        ("datenÜbersicht", ["daten", "uebersicht", "datenuebersicht"]),
        ("ÆRØ", ["aero"]),
    ],
)
def test_a_letter_written_as_two_gives_no_hump(text, expected):
    assert query_terms(text) == expected
    assert set(expected) <= set(terms(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x80070005", ["0x80070005", "80070005"]),
        ("0xC0000005", ["0xc0000005", "c0000005"]),
        ("0x", ["0x"]),
    ],
)
def test_a_hexadecimal_number_is_found_without_its_sign(text, expected):
    assert terms(text) == expected


def test_the_chinese_table_goes_one_way_from_one_script_to_the_other():
    table = analyzer.simplified()
    assert len(table) > 500
    for code, char in table.items():
        assert chr(code) != char
        assert ord(char) not in table  # nothing is folded twice
        char.encode("gb2312")
    kept = [chr(code) for code in table if _in_simplified_use(chr(code))]
    assert kept == ["於", "夥", "乾", "後"]  # the simplified script has them too, for rare words


def _in_simplified_use(char: str) -> bool:
    try:
        char.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


def test_stop_words_are_dropped_unless_there_is_nothing_else():
    assert terms("To be, or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert query_terms("To be, or not to be") == ["to", "be", "or", "not"]
    assert terms("To be or not to be, that is the question") == ["question"]
    assert terms("!?") == []


def test_a_query_asks_for_each_term_once_in_its_order():
    assert query_terms("zebra apple zebras Apple") == ["zebra", "appl"]
    assert terms("zebra apple zebras Apple") == ["zebra", "appl", "zebra", "appl"]


def test_long_tokens_and_long_texts_are_cut():
    assert terms("x" * 500) == ["x" * analyzer.MAX_TERM]
    assert max(map(len, terms("abc_" * 500))) == analyzer.MAX_TERM
    assert terms("ж" * 500) == ["ж" * analyzer.MAX_TERM]
    assert max(map(len, terms("ก" + "ั" * 500 + "ข"))) <= analyzer.MAX_TERM
    padded = "word " * (analyzer.MAX_CHARS // 5)
    assert len(terms(padded + "tail")) == analyzer.MAX_CHARS // 5
    assert len(terms("\ufdfa" * analyzer.MAX_CHARS)) < analyzer.MAX_CHARS  # 18 letters each in NFKC


@pytest.mark.req("R-000-164")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("The QUICK brown fox", ["the", "quick", "brown", "fox"]),
        ("Go to UI, C# is ok", []),
        ("foo_bar-baz.py and utf8Decoder", ["foo", "bar", "baz", "and", "utf8", "decoder"]),
        ("", []),
    ],
)
def test_the_rfc_tokenizer_lowercases_splits_camels_and_wants_three_characters(text, expected):
    assert rfc_tokens(text) == expected


@given(
    st.text(alphabet=st.characters(), max_size=80)
    | st.text(alphabet="aB1'_.-/#+, é日\u0e31", max_size=40)
)
def test_a_term_holds_only_letters_digits_marks_hash_and_plus(text):
    for term in terms(text):
        assert 0 < len(term) <= analyzer.MAX_TERM
        for char in term:
            if char.isascii():
                assert char in "abcdefghijklmnopqrstuvwxyz0123456789#+"
            else:
                assert unicodedata.category(char)[0] in "LNM"


@given(st.text(max_size=60))
def test_a_text_finds_itself_whatever_its_normal_form(text):
    found = query_terms(text)
    assert len(set(found)) == len(found)
    assert set(found) <= set(terms(text))
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


def test_many_threads_get_the_same_terms():
    texts = [f"memories of number{number} and runningTest{number}" for number in range(400)]
    alone = [terms(text) for text in texts]
    analyzer._known.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(terms, texts * 5))
    assert together == alone * 5


@pytest.mark.parametrize(
    "text",
    [
        "a." * 50_000,
        "aB" * 50_000,
        "a'" * 50_000,
        "日本" * 50_000,
        "क" + "ा" * 99_999,
        "1,000" * 20_000,
        "ü." * 50_000,
        "\u0f73" * 100_000,
        "a" + "\u0315\u0300" * 50_000,
        "\u0640\u0315\u0300" * 33_000,
        "\uff76" + "\uff9e\u0315" * 50_000,
    ],
    ids=[
        "dots", "humps", "apostrophes", "han", "marks", "commas", "umlauts", "tibetan", "disorder",
        "stretched", "halfwidth",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_its_length(text):
    assert effort(lambda: (terms(text), query_terms(text))) < 1500


def test_a_letter_keeps_as_many_marks_as_any_script_gives_it():
    marked = "ก" + "ั" * 9
    assert terms("x " * 2_000 + marked)[-1] == terms(marked)[0] == marked
