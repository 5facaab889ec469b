"""The size check and the lock check see what they are there to see."""

import pytest

from tools import lock_check, size_check

HASH = f"--hash=sha256:{'0' * 64}"
PROJECT = {
    "build-system": {"requires": ["hatchling>=1"]},
    "project": {
        "name": "memory-mesh",
        "dependencies": ["PyStemmer>=3,<4"],
        "optional-dependencies": {"all": ["memory-mesh[lance]"]},
    },
    "dependency-groups": {"dev": ["pytest>=8"]},
}
LOCK = f"""hatchling==1.2 \\
    {HASH}
pystemmer==3.1.0 \\
    {HASH}
pytest==9.0 ; python_full_version < '3.12' \\
    {HASH} \\
    {HASH}
    # via memory-mesh (pyproject.toml:dev)
pytest==9.1 ; python_full_version >= '3.12' \\
    {HASH}
"""


def too_big(source, place="src/memory_mesh/x.py"):
    return [size.kind for size in size_check.measure(source, place) if size.too_big]


def wide_class(name, count, prefix="verb"):
    methods = "".join(f"    def {prefix}_{n}(self): ...\n" for n in range(count))
    return f"class {name}:\n{methods}    def _private(self): ...\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n" * 500, []),
        ("x = 1\n" * 501, ["file"]),
        ("def f():\n" + "    x = 1\n" * 59, []),
        ("async def f():\n" + "    x = 1\n" * 60, ["function"]),
        (wide_class("Wide", 15), []),
        (wide_class("Wide", 16), ["class"]),
        (wide_class("MemoryMesh", 16), ["class"]),
        (wide_class("TestMany", 30, prefix="test"), []),
    ],
)
def test_what_passes_its_limit_is_named(source, expected):
    assert too_big(source) == expected


def test_a_protocol_of_the_ports_has_at_most_ten_methods_of_its_own():
    ten, eleven = wide_class("Writer", 10), wide_class("Writer", 11)
    composed = wide_class("Ledger(Writer, Protocol)", 1)
    assert too_big(ten + composed, size_check.PORTS) == []
    assert too_big(eleven + composed, size_check.PORTS) == ["protocol"]
    assert too_big(eleven, "src/memory_mesh/view.py") == []


def test_generated_options_are_not_measured():
    line = "        x: int = 0,\n"
    marks = "        # begin generated options (x)\n{}        # end generated options\n"
    document = '        """Do.\n\n        Options:\n{}        """\n'
    generated = marks.format(line * 90) + "    ):\n" + document.format("            x: it.\n" * 90)
    source = "class A:\n    def f(\n        *,\n{}" + "        x = 1\n" * 50
    assert too_big(source.format(generated)) == []
    assert too_big(source.format(generated + "        x = 1\n" * 10)) == ["function"]


def test_a_whole_lock_has_no_fault():
    assert lock_check.find_faults(PROJECT, LOCK) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("pystemmer==3.1.0", "pystemmer==4.0", "locked at 4.0, pyproject wants <4,>=3"),
        ("pystemmer==3.1.0", "other==3.1.0", "PyStemmer<4,>=3 is not locked"),
        ("pytest==9.1", "pytest==7.9", "locked at 7.9"),
        (f"hatchling==1.2 \\\n    {HASH}", "hatchling==1.2", "hatchling has no hash"),
        ("hatchling==1.2", "--index-url https://host/simple\nhatchling==1.2", "host or a path"),
        ("hatchling==1.2", "--find-links wheels\nhatchling==1.2", "host or a path"),
        ("# via memory-mesh", "# via -r /home/me/x", "host or a path"),
    ],
)
def test_a_fault_of_the_lock_is_named(before, after, fault):
    faults = lock_check.find_faults(PROJECT, LOCK.replace(before, after, 1))
    assert len(faults) == 1
    assert fault in faults[0]
