"""The public object: one store, its views, and the operations by family."""
