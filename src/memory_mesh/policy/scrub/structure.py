"""Stage 1, structural cleaning: HTML becomes Markdown, line ends and stray blanks are tidied.

What stays is what a person reads, code byte for byte. Stripping Markdown syntax, the other half of
the stage, happens where the plain text of a unit is read (`outline`): it is embedded, never stored.
"""

from memory_mesh.policy.scrub import forms
from memory_mesh.policy.scrub.forms import Form

_CODE_INDENT = ("    ", "\t")


def cleaned(text: str, form: Form) -> tuple[str, list[str]]:
    """The text as readable Markdown, and what was taken out of it."""
    text = forms.with_plain_line_ends(text)
    removed: list[str] = []
    if form is Form.HTML and forms.has_markup(text):
        from memory_mesh.policy.scrub import html_markdown

        text, removed = html_markdown.to_markdown(text)
    if "\n" not in text:
        return text.strip(), removed
    return _tidied(text, closed_up=form in (Form.HTML, Form.DOCUMENT)), removed


def _tidied(text: str, *, closed_up: bool) -> str:
    """Without blanks at the ends of lines and blank lines around; closed up, never two of them."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    if len(lines) <= 1:
        return "".join(lines).strip()
    kept: list[str] = []
    for line, in_code in zip(lines, forms.fenced(lines), strict=True):
        if in_code:
            kept.append(line)
        elif not line.strip():
            if not (closed_up and kept and not kept[-1]):
                kept.append("")
        else:
            kept.append(line if line.startswith(_CODE_INDENT) else line.rstrip(" \t"))
    return "\n".join(kept)
