"""What the gate lets pass unseen no rule would have found; and it is cheap."""

import subprocess
import sys

from hypothesis import given, strategies as st

from memory_mesh.privacy import RULES, suspicious
from memory_mesh.privacy.gate import HINTS
from memory_mesh.privacy.table import SCANNER
from tests.corpora.pii import negatives, positives
from tests.effort import effort

PIECES = st.sampled_from(
    [
        *HINTS,
        *"0123456789.:-_/=@ \"'",
        "hunter",
        "a1B2c3",
        "x" * 24,
        "AKIA",
        "tel ",
        "::",
        "1.2",
        "密",
    ]
)
FACT = "The user prefers dark mode and wants answers in German; the staging deploy runs on Fridays."


@given(st.lists(PIECES, max_size=24).map("".join) | st.text(max_size=40))
def test_what_is_not_suspicious_has_nothing_in_it(text):
    assert suspicious(text) or not SCANNER.find(text)


def test_every_text_with_something_in_it_is_suspicious():
    found = [case.text for case in (*positives(), *negatives()) if SCANNER.find(case.text)]
    assert [text for text in found if not suspicious(text)] == []


def test_a_value_without_its_surroundings_is_suspicious_if_a_rule_finds_it():
    raws = {case.raw for case in positives() if SCANNER.find(case.raw)}
    assert len(raws) > 1500
    assert [raw for raw in raws if not suspicious(raw)] == []


def test_no_rule_is_tried_on_a_hint_the_gate_does_not_know():
    for rule in RULES:
        if rule.gate == "open":
            assert rule.hints, rule.name
            assert all(any(known in hint for known in HINTS) for hint in rule.hints), rule.name


def test_plain_facts_are_not_suspicious():
    assert not suspicious(FACT)
    assert not suspicious("用户喜欢深色模式，并且希望用德语回答")
    assert not suspicious("Port 8080 is free, 5432 is not")


def test_sentences_and_times_with_digits_are_no_addresses():
    assert not suspicious("We met at 10:30 in room 12. It was late. We left at 11:45. Then home.")
    assert not suspicious("Version 3.11 runs. Version 3.12 does not. Python 2 is gone. So is 1.")
    assert suspicious("The host is 93.184.216.34 again")
    assert suspicious("The host is 2606:2800:220:1:248:1893:25c8:1946 again")


def test_the_question_takes_microseconds():
    assert effort(lambda: [suspicious(FACT) for _ in range(1_000)]) < 20


def test_importing_the_package_loads_no_rule_and_no_library():
    code = (
        "import sys, memory_mesh.privacy as p; p.suspicious('plain text')\n"
        "p.NamespaceRedactor(b'k', 'n').text('plain text')\n"
        "heavy = ('phonenumbers', 'stdnum', 're2', 'hashlib', 'hmac', 'ipaddress', 'dataclasses')\n"
        "print([m for m in sys.modules if m in heavy or 'privacy.' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout))
    assert loaded == {"memory_mesh.privacy.gate"}
