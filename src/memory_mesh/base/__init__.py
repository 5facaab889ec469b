"""What the whole package stands on: quick dataclasses, names of `typing`, the mask of messages."""
