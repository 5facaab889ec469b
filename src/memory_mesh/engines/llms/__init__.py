"""Language models behind an HTTP service; which one, the settings say."""
