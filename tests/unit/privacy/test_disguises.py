"""Values in disguise are found, and code that only speaks of secrets is left alone."""

import pytest

from memory_mesh.privacy import NamespaceRedactor, suspicious
from tests.effort import effort

REDACTOR = NamespaceRedactor(b"key" * 11, "default")
MAIL = "bob.builder@example.com"
TOKEN = "ghp_" + "a1B2" * 9
BEGIN = "-----BEGIN RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "spelled",
    [
        "bob.builder%40example.com",
        "bob.builder&#64;example.com",
        "bob.builder&#x40;example.com",
        "bob.builder&commat;example.com",
        "bob.builder\\@example.com",
        "bob.builder\uff20example.com",
        "bob.builder\ufe6bexample.com",
        "bob.builder\u200b@example.com",
        "bob.buil\u00adder@exam\u2060ple.com",
    ],
)
def test_an_address_is_the_same_however_its_sign_is_written(spelled):
    assert suspicious(spelled)
    assert REDACTOR.text(f"see {spelled} now") == f"see {REDACTOR.text(MAIL)} now"


@pytest.mark.parametrize(
    "text",
    [
        "jose\u0301@example.com",
        "bob@mu\u0308nchen.de",
        "nguy\u1ec5n@example.com",
        "संपर्क@डाटामेल.भारत",
        "bob@a.b.c.d.e.f.g.example.com",
    ],
)
def test_an_address_goes_whole_in_any_script(text):
    assert REDACTOR.text(text).startswith("[EMAIL_")
    assert REDACTOR.text(text).endswith("]")


def test_a_mark_apart_from_its_letter_makes_no_other_address():
    assert REDACTOR.text("jose\u0301@example.com") == REDACTOR.text("jos\u00e9@example.com")


@pytest.mark.parametrize(
    "text",
    [
        TOKEN[:9] + "\u200b" + TOKEN[9:],
        "4111\u200b1111\u200b1111\u200b1111",
        "๔๑๑๑ ๑๑๑๑ ๑๑๑๑ ๑๑๑๑",
        "𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏",
        "GB33-BUKB-2020-1555-5555-55",
        f"{BEGIN}\nMII\ue000EabcdEfgh\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_nobody_sees_hides_nothing(text):
    assert REDACTOR.text(text).startswith("[")
    assert REDACTOR.text(text).endswith("]")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("SSN: 536 90 4399", "4399"),
        ("SSN 536.90.4399", "4399"),
        ("my card 4111.1111.1111.1111", "1111"),
        ("my card:\n4111 1111\n1111 1111", "1111"),
        ("card\t4111\t1111\t1111\t1111", "1111"),
        ("**Password:** hunter22", "hunter22"),
        ("**password**: hunter22", "hunter22"),
        ("DB_PASS=hunter22", "hunter22"),
        ("pw=hunter22", "hunter22"),
        ('{"pass": "hunter22"}', "hunter22"),
        ("<password>hunter22</password>", "hunter22"),
        ("password = 'it\\'s5ecret1'", "ecret1"),
        ("password=pässwörd12", "rd12"),
        ("пароль: Секрет123", "123"),
        ("the password was changed to hunter22", "hunter22"),
        ("curl -u admin:hunter22 https://example.com", "hunter22"),
        ("curl -sS --user 'admin:hunter22' https://example.com", "hunter22"),
        (f"> {BEGIN}\n> MIIEabcd\n> efgh==", "MIIE"),
        (f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\nMIIEabcd", "MIIE"),
    ],
)
def test_surroundings_that_give_a_secret_away(text, secret):
    assert suspicious(text)
    assert secret not in REDACTOR.text(text)


def test_a_secret_in_a_query_ends_where_the_next_field_starts():
    alone = REDACTOR.text("password=hunter22")
    assert REDACTOR.text("?password=hunter22&user=bob") == f"?{alone}&user=bob"


def test_a_note_after_the_first_line_of_a_key_stays():
    note = "and then the rest of this note is about deploying"
    assert REDACTOR.text(f"{BEGIN} {note}").endswith(f"] {note}")
    assert REDACTOR.text(f"{BEGIN}\nMIIEabcd\n\nThen we left").endswith("]\n\nThen we left")


@pytest.mark.parametrize(
    "text",
    [
        "ssh -T git@github.com",
        "git clone ssh://git@github.com/org/repo.git",
        "if token == tok2.ID_1 and password != user.password2:",
        'if token == "lambda":',
        '{"token": token_2, "api_key": API_KEY_2}',
        "token: !vault |",
        "<version>1.2.3.4</version>",
        "docker run -u 1000:1000 image",
        "curl -u $USER:$PASS https://example.com",
        "--- PASS: TestLogin2 (0.00s)",
        "low_pass=filter12 and first_pass: done12",
        "h * 69069 + 907133923",
        "می\u200cخواهم 👩\u200d👧 سلام",
    ],
)
def test_what_only_speaks_of_them_stays(text):
    assert REDACTOR.text(text) == text


@pytest.mark.parametrize(
    "value",
    [
        {"card": 4111111111111111.0},
        {"password": 'ab"cd9x'},
        {"password": "hunt\ner22x"},
        {"password": {"value": "hunter22"}},
        {"name": "DB_PASSWORD", "value": "hunter22"},
        {"x" * 70 + "_password": "hunter22"},
    ],
)
def test_a_value_is_read_whole_and_by_the_name_it_goes_by(value):
    redacted = REDACTOR.json(value)
    assert "_" in str(redacted)
    assert "[" in str(redacted)
    assert REDACTOR.json(redacted) == redacted
    assert not any(raw in str(redacted) for raw in ("4111", "ab", "er22", "hunt"))


@pytest.mark.parametrize("value", [1.5, 128000.0, 10**400, float("inf"), True, None])
def test_other_numbers_stay(value):
    assert REDACTOR.json({"tokens": value}) == {"tokens": value}


def test_a_long_row_of_hexadecimal_groups_is_no_address():
    text = "2606:" * 40
    assert REDACTOR.text(text) == text


@pytest.mark.parametrize(
    "shape",
    [
        "curl -u a:",
        "a%40",
        "4\u200b",
        "<password>x1",
        "password='\\'",
        "a\\@b.",
        f"{BEGIN}\nA: b\n",
    ],
)
def test_a_disguise_costs_no_more_than_its_length(shape):
    hostile = (shape * 50_000)[:50_000]
    assert effort(lambda: REDACTOR.text(hostile)) < 500
