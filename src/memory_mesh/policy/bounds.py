"""What is too much, in one place."""

MAX_CHARACTERS = 100_000  # of a memory's text: RFC-0011's implementation cuts off here
