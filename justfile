# `just` lists the recipes. CI runs `just check`, `just smoke` and `just test-all`, nothing else.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

# Tests wait for other processes half of their time, so more of them run than there are cores.
processes := "-n 5 --dist worksteal"

[private]
default:
    @just --list --unsorted

# Create .venv from the lock and install this project
setup:
    ./.ci/setup

# Check format, lint, types, imports, sizes, house rules, workflows, generated files and lock; warn of old figures
[parallel]
check: types types-elsewhere format-check lint imports size house workflows generated lock-check ages

# Run the quick tests
test *ARGS:
    python -m pytest {{ processes }} -m "not slow" {{ ARGS }}

# Run all tests, with a sample (2 %) of each fault suite
test-all *ARGS:
    python -m pytest {{ processes }} {{ ARGS }}

# Run what is too long for the gate, under the date as its seed; an interrupted night goes on. Its report is in build/night
night *ARGS:
    python tools/night.py {{ ARGS }}

# Run the gate's tests ten times, five of them beside two busy processes, and report in build/again which failed
again RUNS="10":
    python tools/night.py --again {{ RUNS }}

# Run the fault suites in full and write results/proof/ (needs fiu-run and strace)
prove *ARGS:
    python tools/prove.py {{ ARGS }}

# Measure speed as ratios and write results/benchmarks/: everything, or `--parts`, `--bars [NAME ...]`, `--stages`
bench *ARGS:
    python -m bench.run {{ ARGS }}

# Compare statements, bytes and ratios to bare SQLite with bench/smoke.json; `--record` writes it anew
smoke *ARGS:
    python -m bench.smoke {{ ARGS }}

# What a release must pass: all checks, no published figure older than its code, the smoke bench, all tests; then build
release: check
    python tools/bench_ages.py --strict
    python -m bench.smoke
    python -m pytest {{ processes }}
    just build

# Build dist/: the same bytes for the same commit, checked as PyPI checks them
build:
    rm -rf dist
    SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" hatchling build
    twine check --strict dist/*

# Measure retrieval: `just eval --data SETS --vectors FILE --work DIR`; docs/reference/evaluation.md says where SETS come from
eval *ARGS:
    python -m bench.evaluate {{ ARGS }}

# Count the pages and words of the documentation, and build it into site/; a warning is an error. `just docs zensical` uses the other builder
docs BUILDER="mkdocs":
    python tools/docs_count.py
    NO_MKDOCS_2_WARNING=1 {{ BUILDER }} build --strict --clean

# Show the documentation at http://127.0.0.1:8000 and build it anew when a page changes
docs-serve BUILDER="zensical":
    NO_MKDOCS_2_WARNING=1 {{ BUILDER }} serve

# Check that every public name has a known type, by the other type checker (about a minute; needs Node)
verify-types:
    npx --yes pyright@1.1.414 --pythonpath .venv/bin/python --verifytypes memory_mesh --ignoreexternal

# Format the code and apply ruff's fixes
fix:
    ruff format
    ruff check --fix

# Write the generated files: MCP tools, golden outputs, tables, walks, reference, schemas
generate:
    python tools/generate_tools.py
    python tools/golden_learning.py
    python tools/privacy_report.py --table
    python tools/walk.py --write-docs
    python tools/write_situations.py
    python -m tools.reference
    python tools/draw_pictures.py
    python tools/terminal_picture.py
    python tools/schemas.py

# Write docs/conformance.md from the requirement marks of the tests
conformance *ARGS:
    python tools/conformance.py {{ ARGS }}

# Update requirements/lock.txt; versions that still fit stay (needs uv)
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
types-elsewhere:
    @echo "== the package as on macOS and Windows"
    mypy src --platform darwin --cache-dir .mypy_cache/darwin
    mypy src --platform win32 --cache-dir .mypy_cache/win32

[private]
imports:
    @echo "== import contracts"
    lint-imports --no-logo

[private]
size:
    @echo "== sizes"
    python tools/size_check.py
    python tools/statement_count.py --ceiling

[private]
house:
    @echo "== house rules"
    python tools/house_check.py

[private]
workflows:
    @echo "== workflows, forms and hooks"
    zizmor --offline --pedantic --quiet .github
    check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
    check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
    check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
    check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
    check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
    pre-commit validate-config

[private]
generated:
    @echo "== generated files"
    python tools/generate_tools.py --check
    python tools/golden_learning.py --check
    python tools/conformance.py --check
    python tools/walk.py --check
    python tools/write_situations.py --check
    python -m tools.reference --check
    python tools/schemas.py --check

[private]
lock-check:
    @echo "== lock"
    python tools/lock_check.py

[private]
ages:
    @echo "== ages of published figures"
    python tools/bench_ages.py
