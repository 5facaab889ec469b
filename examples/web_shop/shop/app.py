"""The shop as a WSGI application: GET /cart?mug=2&voucher=WELCOME returns the total."""

from collections.abc import Callable, Iterable
from urllib.parse import parse_qsl

from shop.cart import Cart
from shop.prices import shown
from shop.vouchers import vouchers


def app(request: dict[str, str], respond: Callable[..., object]) -> Iterable[bytes]:
    """Answers one request; a customer's mistake is a 400 with a sentence, never a traceback."""
    cart = Cart()
    try:
        for name, value in parse_qsl(request.get("QUERY_STRING", "")):
            if name == "voucher":
                cart.off = vouchers()[value]
            else:
                cart.add(name, int(value))
    except (KeyError, ValueError) as error:
        respond("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"we do not know {error}\n".encode()]
    respond("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{shown(cart.total())}\n".encode()]
