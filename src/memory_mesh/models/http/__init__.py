"""One guarded HTTP client for every service."""
