"""The cart of one customer."""

from dataclasses import dataclass, field

from shop.prices import price


@dataclass
class Cart:
    """Items with their quantities, and at most one voucher."""

    items: dict[str, int] = field(default_factory=dict)
    off: int = 0  # cents that the voucher takes off

    def add(self, item: str, quantity: int = 1) -> None:
        """Puts items into the cart; an unknown item raises KeyError."""
        price(item)
        self.items[item] = self.items.get(item, 0) + quantity

    def total(self) -> int:
        """Returns what is to be paid, in cents; a voucher never makes it negative."""
        full = sum(price(item) * quantity for item, quantity in self.items.items())
        return max(0, full - self.off)
