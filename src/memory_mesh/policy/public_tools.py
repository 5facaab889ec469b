"""Agents and tools that anybody may use, so that their names tell nothing about who used them."""

_NAMES = """
planner developer tester reviewer architect coder researcher orchestrator executor writer analyst
claude-code claude codex cursor copilot aider gemini windsurf cline opencode goose llama gpt
read write edit multiedit bash grep glob ls webfetch websearch task todowrite notebookedit agent
search fetch browser shell terminal editor apply_patch str_replace view create python node
git gh glab svn hg diff patch make cmake ninja bazel gradle maven mvn ant just task npm npx yarn
pnpm bun deno pip pipx uv poetry conda mamba pdm hatch cargo rustc go gofmt gcc clang ld javac java
kotlinc swift xcodebuild dotnet msbuild ruby bundle rake gem php composer perl lua julia r rscript
pytest unittest tox nox coverage hypothesis jest vitest mocha cypress playwright selenium junit
rspec phpunit ruff black isort flake8 pylint mypy pyright eslint prettier tsc biome shellcheck
clippy rustfmt golangci-lint ktlint checkstyle spotless stylelint hadolint yamllint markdownlint
docker docker-compose podman buildah kubectl helm kustomize terraform tofu ansible packer pulumi
vagrant aws gcloud az doctl flyctl vercel netlify heroku wrangler
sqlite3 psql mysql mongosh redis-cli duckdb sqlalchemy alembic flyway liquibase prisma
curl wget httpie ssh scp rsync tar zip unzip gzip sed awk jq yq cat head tail find xargs sort
uniq wc cut tr echo ps top kill systemctl journalctl cron tmux screen vim nano emacs code
ffmpeg imagemagick pandoc latex pdflatex jupyter nbconvert sphinx mkdocs hugo jekyll
strace gdb lldb valgrind perf memory-mesh pre-commit act jenkins github-actions gitlab-ci
"""
PUBLIC = frozenset(_NAMES.split())
OTHER = "other"


def public_name(component: str) -> str:
    """Returns the name of a public agent or tool, or `other`: paths and arguments are cut off."""
    words = component.replace("\\", "/").split()
    name = words[0].rpartition("/")[2].lower() if words else ""
    name = name.removesuffix(".exe")
    return name if name in PUBLIC else OTHER
