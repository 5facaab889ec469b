"""Learns from memories: lessons, beliefs, procedures, skills."""
