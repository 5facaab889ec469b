"""Which failures are one pattern: names, numbers and paths do not count, the kind does."""

import pytest

from memory_mesh.learn.rules.failure_signature import signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'a_b' in /srv/x.py:8", "worker.py:99 KeyError: 'other'"),
        (
            "ValueError: invalid literal for int() with base 10: 'abc'",
            "ValueError: invalid literal for int() with base 16: '9z' (row 12)",
        ),
        ("dial tcp 10.0.0.1:5432: connection refused", "Error: connect ECONNREFUSED ::1:6379"),
        ("The report worker was OOMKilled at 03:12", "java.lang.OutOfMemoryError: Java heap space"),
        ("sqlite3.OperationalError: no such table: a", 'relation "b" does not exist'),
        ("GET /v1/users/12 -> 404 Not Found", "GET /v2/orders/9 -> 404 Not Found"),
        ("The export of Acme stopped at row 12.", "The export of Globex stopped at row 9."),
        ("Cannot read property 'x' of null", "Cannot read properties of null (reading 'y')"),
    ],
)
def test_the_same_failure_with_other_names_is_one_pattern(one: str, other: str) -> None:
    assert signature(one) == signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "TypeError: Cannot read properties of undefined (reading 'map')",
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        ),
        ("ReferenceError: total is not defined", "NameError: name 'total' is not defined"),
        ("No module named 'redis'", "Error: Cannot find module 'redis'"),
        ("HTTP 502 from the gateway", "HTTP 504 from the gateway"),
        ("exited with code 1", "exited with code 2"),
        ("The export stopped because the disk filled.", "The import stopped because of a lock."),
        ("ETIMEDOUT while connecting", "ECONNRESET while reading"),
    ],
)
def test_another_failure_is_another_pattern(one: str, other: str) -> None:
    assert signature(one) != signature(other)


def test_an_exception_without_a_message_is_its_class() -> None:
    assert signature("TimeoutError while uploading. Always retry uploads.") == "timeout_error"
    assert signature("") == ""
