"""The service: every operation of a mesh over HTTP, for those who have a key."""
