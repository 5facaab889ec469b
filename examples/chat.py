"""A chat that remembers you, with any OpenAI-compatible server.

    pip install . openai
    export OPENAI_API_KEY=...                          # a local server takes any word
    export OPENAI_BASE_URL=http://localhost:11434/v1   # left out: OpenAI's own
    export OPENAI_MODEL=llama3.2                       # left out: gpt-5-mini
    python examples/chat.py USER [FOLDER]

Each user has memories of their own. Stop the program and start it again: it still knows you.
"""

import os
import sys

from openai import OpenAI, OpenAIError
from openai.types.chat import ChatCompletionMessageParam

from memory_mesh.agents.adapters.openai import with_memory
from memory_mesh.sync import MemoryMesh


def main() -> None:
    """Answer each line of standard input."""
    user, *folder = sys.argv[1:] or [""]
    if not user or user in {"-h", "--help"} or len(folder) > 1:
        sys.exit("usage: python examples/chat.py USER [FOLDER]")
    model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    messages: list[ChatCompletionMessageParam] = []  # this conversation; memory has the others
    mesh = MemoryMesh(db_dir=folder[0] if folder else None)
    with mesh, with_memory(OpenAI(), mesh, user=user) as client:
        for line in sys.stdin:
            messages.append({"role": "user", "content": line.strip()})
            try:
                answer = client.chat.completions.create(model=model, messages=messages)
            except OpenAIError as error:
                sys.exit(f"The server did not answer: {error}")
            said = answer.choices[0].message.content or ""
            messages.append({"role": "assistant", "content": said})
            print(said, flush=True)


if __name__ == "__main__":
    main()
