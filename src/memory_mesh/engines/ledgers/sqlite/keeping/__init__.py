"""What keeps a namespace file safe: checksums, copies, and what is left of a damaged one."""
