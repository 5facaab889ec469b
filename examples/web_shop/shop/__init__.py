"""A small web shop: prices, a cart, vouchers and orders."""
