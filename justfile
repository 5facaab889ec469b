# `just` lists the recipes. CI runs `just check` and `just test-all`, nothing else.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

[private]
default:
    @just --list --unsorted

# Make .venv with everything locked, and this project in it
setup:
    ./.ci/setup

# Everything but the tests: form, types, imports, sizes, house rules, generated files, lock
check: format-check lint types imports size house generated lock-check

# The tests that take no more than moments
test *ARGS:
    python -m pytest -m "not slow" {{ ARGS }}

# Every test; of each fault suite a fixed, seeded tenth
test-all *ARGS:
    python -m pytest {{ ARGS }}

# The full counts of every fault suite, into docs/proof/
prove *ARGS:
    python tools/prove.py {{ ARGS }}

# Speed as ratios measured in one run: table and chart
bench *ARGS:
    python -m bench.run {{ ARGS }}

# Retrieval on all sets: `just eval --data SETS --vectors FILE --work DIR`, into docs/benchmarks/
eval *ARGS:
    python -m bench.evaluate {{ ARGS }}

# Format, and mend what ruff can mend
fix:
    ruff format
    ruff check --fix

# Write what is made by command: options in signatures, async classes, golden outputs, tables, walks
generate:
    python tools/generate_options.py
    python tools/generate_async.py
    python tools/golden_learning.py
    python tools/privacy_report.py --table
    python tools/walk.py --write-docs

# Write docs/conformance.md from the marks of the tests
conformance *ARGS:
    python tools/conformance.py {{ ARGS }}

# Resolve requirements/lock.txt anew, keeping what still fits (needs uv)
lock *ARGS:
    uv pip compile pyproject.toml --group dev --all-extras --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-header --quiet \
        --output-file requirements/lock.txt {{ ARGS }}
    python tools/lock_check.py

[private]
format-check:
    @echo "== ruff format"
    ruff format --check

[private]
lint:
    @echo "== ruff check"
    ruff check

[private]
types:
    @echo "== mypy --strict"
    mypy

[private]
imports:
    @echo "== import contracts"
    lint-imports --no-logo

[private]
size:
    @echo "== sizes"
    python tools/size_check.py

[private]
house:
    @echo "== house rules"
    python tools/house_check.py

[private]
generated:
    @echo "== generated files"
    python tools/generate_options.py --check
    python tools/generate_async.py --check
    python tools/golden_learning.py --check
    python tools/conformance.py --check
    python tools/walk.py --check

[private]
lock-check:
    @echo "== lock"
    python tools/lock_check.py
