"""What anybody may ask of a memory: a face of ten methods, and 24 obligations tried against it."""
