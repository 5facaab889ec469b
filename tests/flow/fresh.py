"""A new interpreter, to see what a script loads."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping


def modules_after(script: str, environment: Mapping[str, str]) -> set[str]:
    """The top-level modules loaded when the script is done."""
    said = subprocess.run(
        [sys.executable, "-c", f"{script}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {name.partition(".")[0] for name in json.loads(said)}
