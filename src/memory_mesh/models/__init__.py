"""Adapters to what is outside: databases, indexes, models, services."""
