"""An agent that lives in this project: it asks its memory, works, and leaves a trace.

    python agent.py "Add the voucher AUTUMN of 5 euros"

The model is played by `act`: it knows one kind of task, and follows what its prompt says. The rest
is what an agent with a real model does as well.
"""

import re
import sys
from pathlib import Path

from shop import vouchers

from memory_mesh.mirror import Mirror
from memory_mesh.model import Channel
from memory_mesh.sync import MemoryMesh
from memory_mesh.traces import Run, recording
from memory_mesh.traces.files import export_files, import_files, write_layout

HERE = Path(__file__).parent
MEMORIES, TRACES = HERE / ".rawko/memories", HERE / "traces"
AGENT, PROJECT = "developer", "web-shop"
TASK = re.compile(r"Add the voucher (?P<code>\w+) of (?P<euros>\d+) euros")
USAGE = 'usage: python agent.py "Add the voucher CODE of NUMBER euros"'


def main() -> int:
    """Serves the task of the command line; returns 1 if it failed, 2 if it is none."""
    task = " ".join(sys.argv[1:])
    if not TASK.fullmatch(task):
        print(USAGE, file=sys.stderr)
        return 2
    for folder in (MEMORIES, TRACES):
        folder.mkdir(parents=True, exist_ok=True)
    with MemoryMesh(project=PROJECT) as mesh:
        mirror = Mirror(mesh, MEMORIES)
        mirror.pull()  # what people wrote, and what git brought
        import_files(mesh, [TRACES])
        try:
            print(serve(mesh, task))
            code = 0
        except ValueError as error:
            print(f"failed: {error}")  # the trace says so, too, and later plans warn of it
            code = 1
        mesh.care.run_jobs()  # learns from the traces when enough of them are new
        mirror.push()  # what the agent knows now, as files for the next commit
        export_files(mesh.traces(), TRACES)
        write_layout(mesh, HERE, PROJECT)
    return code


def serve(mesh: MemoryMesh, task: str) -> str:
    """Does one task with what is known, and keeps what came of it."""
    known = [mesh.build_agent_prompt(AGENT, task=task)]
    with recording(mesh, task) as run:  # asks earlier runs first: run.advice
        for part in ("worked", "failed", "avoid"):
            known += (f"{part}: {advice.text}" for advice in getattr(run.advice, part))
        done = act(task, "\n".join(known), run)
    mesh.view(channel=Channel.ASSISTANT).add(  # the word of the agent, not of the user
        done,
        {"type": "decision", "title": done, "rationale": f"Task: {task}"},
        triggers=["voucher|discount"],
        source_agent=AGENT,
    )
    return done


def act(task: str, prompt: str, run: Run) -> str:
    """Adds a voucher: `Add the voucher AUTUMN of 5 euros`. An exception is a failed run."""
    print(prompt)
    asked = TASK.fullmatch(task)
    if asked is None:
        raise ValueError(USAGE)
    code, euros = asked["code"], asked["euros"]
    off = int(euros) * 100 if "cents" in prompt else float(euros)
    run.tool("editor", "python")
    with run.doing("Read shop/vouchers.json"):
        codes = vouchers.vouchers()
    with run.doing(f"Add the code {code} with its amount in cents"):
        vouchers.save(codes | {code: off})
    return f"The voucher {code} takes {off} cents off"


if __name__ == "__main__":
    sys.exit(main())
