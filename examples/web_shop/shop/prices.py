"""Prices. Money is an integer number of cents, never a float."""

PRICES = {"mug": 1250, "shirt": 2900, "sticker": 300}


def price(item: str) -> int:
    """Returns the price of an item in cents, VAT included."""
    return PRICES[item]


def shown(cents: int) -> str:
    """Returns an amount as a customer reads it: 12.50 €."""
    return f"{cents // 100}.{cents % 100:02} €"
