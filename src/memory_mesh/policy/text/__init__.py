"""Text to terms: analysis, sentences, spelling, synonyms and time expressions."""
