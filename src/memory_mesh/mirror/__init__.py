"""A folder of Markdown files that people edit, kept in step with a namespace."""
