"""The checks of the shop: python -m unittest checks."""

import sqlite3
import unittest

from shop.app import app
from shop.orders import place
from shop.vouchers import checked


class Checks(unittest.TestCase):
    """What a customer may rely on."""

    def test_a_voucher_is_taken_off(self) -> None:
        """Two mugs with WELCOME cost 22 euros."""
        self.assertEqual(_asked("mug=2&voucher=WELCOME"), ("200 OK", "22.00 €\n"))

    def test_an_unknown_code_is_a_sentence(self) -> None:
        """A wrong code is the customer's mistake, not an error of the server."""
        self.assertEqual(_asked("voucher=NOPE")[0], "400 Bad Request")

    def test_money_is_cents(self) -> None:
        """A float is refused before it is written."""
        with self.assertRaises(ValueError):
            checked({"HALF": 0.5})

    def test_an_order_sent_twice_is_one_order(self) -> None:
        """The browser sends again when the network is slow."""
        database = sqlite3.connect(":memory:")
        self.addCleanup(database.close)
        self.assertTrue(place(database, "k-1", 2200))
        self.assertFalse(place(database, "k-1", 2200))


def _asked(query: str) -> tuple[str, str]:
    said: list[str] = []
    body = app({"QUERY_STRING": query}, lambda status, _: said.append(status))
    return said[0], b"".join(body).decode()
