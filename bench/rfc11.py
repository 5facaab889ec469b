"""What cleaning costs beside embedding, and a folder beside the bare embedder.

    MEMORY_MESH_MODEL_DIR=FOLDER python -m bench.rfc11    into results/benchmarks/rfc11.{json,md}

Both sides of a ratio are measured in turns. Texts are of bench.corpus, as Markdown with a heading
and a list, and an address and a key in each of them, so that the rules have something to do.
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
from itertools import islice
from pathlib import Path

from bench import corpus, report
from bench.measure import Figures, alternate, median_ms, ratio_of_medians, rounded, say, seconds
from memory_mesh.cli import main as cli_main
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.text import scrub

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks"
ROUNDS = 60


def main() -> None:
    """Measure both and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    model = Path(os.environ["MEMORY_MESH_MODEL_DIR"])
    embedder, code = OnnxEmbedder(model), report.code()
    figures = cleaning(embedder) | folder(embedder, options.files)
    stamped = report.stamped(figures, {"files": options.files, "rounds": ROUNDS}, code)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "rfc11.json").write_text(json.dumps(stamped, indent=2) + "\n", encoding="utf-8")
    (options.out / "rfc11.md").write_text(table(stamped, figures), encoding="utf-8")
    for name, value in figures.items():
        say(f"  {name} = {value}")


def cleaning(embedder: OnnxEmbedder) -> Figures:
    """Scrub and redact 1 KB, beside embedding the same text."""
    texts = [page(number, 1_024) for number in range(ROUNDS)]
    redactor = NamespaceRedactor(b"k" * 32, "bench")

    def clean(number: int) -> scrub.Scrubbed:
        return scrub.scrub(texts[number], scrub.IN_MESH, redact=redactor.text)

    clean(0)
    embedder.embed(texts[:1])
    cleaned, embedded = alternate(ROUNDS, clean, lambda number: embedder.embed([texts[number]]))
    return {
        "scrub_and_redact_1kb_ms": median_ms(cleaned.wall),
        "embed_1kb_ms": median_ms(embedded.wall),
        "clean_over_embed": ratio_of_medians(cleaned.wall, embedded.wall),
    }


def folder(embedder: OnnxEmbedder, files: int) -> Figures:
    """`ingest-dir` of files of 4 KB, beside the embedder over the chunks of the same files."""
    with tempfile.TemporaryDirectory() as temporary:
        root, store = Path(temporary) / "files", Path(temporary) / "store"
        root.mkdir()
        for number in range(files):
            (root / f"{number:05}.md").write_text(page(number, 4_096), encoding="utf-8")
        words = ["ingest-dir", str(root), "--db-dir", str(store), "--json", "--project", ""]
        with contextlib.redirect_stdout(io.StringIO()):
            ingested = seconds(lambda: cli_main.run(words))
            again = seconds(lambda: cli_main.run(words))
        say(f"  {files} files in {ingested:.1f} s")
        chunks = [
            chunk.text
            for path in sorted(root.iterdir())
            for chunk in scrub.chunks_of(path.read_text(encoding="utf-8"))
        ]
        bare = seconds(lambda: embedder.embed(chunks))
    return {
        "ingest_dir_s": rounded(ingested),
        "bare_embedder_s": rounded(bare),
        "ingest_over_embedder": rounded(ingested / bare),
        "ingest_dir_again_s": rounded(again),
        "chunks": len(chunks),
    }


def page(number: int, size: int) -> str:
    """A Markdown page of about this many bytes."""
    start = number * 64
    head = (
        f"# Page {number}\n\nWrite to user{number}@example.com, key ghp_{number:036d}.\n\n"
        "- first item\n- second item\n\n"
    )
    body = " ".join(islice(corpus.texts(start, start + 64), 64))
    return f"{head}{body}"[:size]


def table(stamped: dict[str, object], figures: Figures) -> str:
    """The figures as a page."""
    shown = [f"| {name} | {value} |" for name, value in figures.items()]
    return "\n".join(
        [
            "# Cleaning and folders: cost",
            "",
            "Written by `python -m bench.rfc11`; both sides of a ratio run on the same texts.",
            "",
            f"{stamped['date']}, commit {str(stamped['commit'])[:10]}, {stamped['cores']} cores.",
            "",
            "| figure | value |",
            "|---|---|",
            *shown,
            "",
        ]
    )


if __name__ == "__main__":
    main()
