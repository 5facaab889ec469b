"""neolata's methods by family; `MemoryGraph` composes them."""
