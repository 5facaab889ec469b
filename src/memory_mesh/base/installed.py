"""How this copy was installed, for advice that can be typed as it stands."""

import sys


def install_command(extra: str, *, again: bool = False) -> str:
    """The command that installs an extra from where this copy came: index, wheel or checkout."""
    import json  # a message that is rarely needed loads none of these at start-up
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    try:
        came = json.loads(distribution("memory-mesh").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # the package lies on the path as plain files
        came = {}
    url, folder = came.get("url", ""), came.get("dir_info")
    path = Path(unquote(urlsplit(url).path))
    what = f"memory-mesh[{extra}]"
    if folder is not None and path.is_dir():
        what = f"{path}[{extra}]"
    elif url and (path.is_file() or not url.startswith("file:")):
        what += f" @ {'git+' * ('vcs_info' in came)}{url}"
    editable = "-e " if folder and path.is_dir() and folder.get("editable") else ""
    tool = "pip install --force-reinstall" if again else "pip install"
    if Path(sys.prefix).parent.parts[-2:] == ("uv", "tools"):
        tool = "uv tool install --force"
    return f"{tool} {editable}{shlex.quote(what)}"
