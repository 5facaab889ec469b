"""Triggers (001's whenToUse): reads patterns, holds them against a text, checks and selects."""
