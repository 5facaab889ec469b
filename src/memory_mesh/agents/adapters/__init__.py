"""Memory in frameworks and clients: each adapter is one small module."""
