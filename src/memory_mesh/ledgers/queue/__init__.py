"""Queues: jobs that wait in the database of a store until a worker does them."""
