"""A chat that remembers its user: two lines around an OpenAI-compatible client.

    pip install . openai
    OPENAI_API_KEY=... python examples/agents/openai_memory.py USER [FOLDER]

OPENAI_BASE_URL names any server that speaks the same interface, such as a local one.
"""

import os
import sys

from openai import OpenAI

from memory_mesh.agents.adapters.openai import with_memory
from memory_mesh.sync import MemoryMesh


def main() -> None:
    """Answer each line of standard input."""
    user, *folder = sys.argv[1:] or [""]
    if not user or user in {"-h", "--help"} or len(folder) > 1:
        sys.exit("usage: python examples/agents/openai_memory.py USER [FOLDER]")
    model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    mesh = MemoryMesh(db_dir=folder[0] if folder else None)
    with mesh, with_memory(OpenAI(), mesh, user=user) as client:
        for line in sys.stdin:
            answer = client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": line.strip()}]
            )
            print(answer.choices[0].message.content)


if __name__ == "__main__":
    main()
