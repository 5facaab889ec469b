"""The live page in a real Chromium while memories pour in: it shows, counts, and stays small."""

import multiprocessing
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import CDPSession, Page, expect, sync_playwright

from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.platform.ports import bound
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Report
from tests.until import until

_A_SECOND, _AT_ONCE = 200, 10  # memories
_MOST_LINES = 200  # of the list
_NODES = 30  # of the document, that a line has at most
_BUSY = 0.5  # of a processor: a page that uses more answers no click
_PATIENCE = 60_000  # milliseconds: tells a page that hangs from a slow machine
_WATCH = """
window.frames_drawn = 0; window.long_tasks = [];
const frame = () => { window.frames_drawn += 1; requestAnimationFrame(frame); };
requestAnimationFrame(frame);
new PerformanceObserver((list) => list.getEntries().forEach(
  (entry) => window.long_tasks.push(entry.duration))).observe({ entryTypes: ["longtask"] });
"""


def chromium() -> str:
    """Where it is; empty where it is not."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or ""


def followed(folder: Path, *, seconds: int) -> Report:
    """Opens the live page, lets 200 memories a second arrive, and looks at other pages beside."""
    report = Report({"seconds": seconds, "arrived": 0, "shown or counted": 0, "pages answered": 0})
    with _served(folder) as (url, token), sync_playwright() as found:
        browser = found.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        context = browser.new_context()
        page, other = context.new_page(), context.new_page()
        page.goto(f"{url}/-/in?token={token}")
        page.add_init_script(_WATCH)
        page.goto(f"{url}/default/working")
        expect(page.locator("[data-pulse]")).to_be_visible(timeout=_PATIENCE)
        watched = context.new_cdp_session(page)
        watched.send("Performance.enable")
        _pour(folder, seconds, report, (page, other, watched), url)
        browser.close()
    return report


def _pour(
    folder: Path, seconds: int, report: Report, pages: tuple[Page, Page, CDPSession], url: str
) -> None:
    page, other, watched = pages
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(folder, seconds))
    before, begun = _figures(watched), time.monotonic()
    writer.start()
    while writer.is_alive():
        answer = other.goto(f"{url}/default/memories", timeout=_PATIENCE)
        if answer is None or answer.status != 200:  # what a page answers
            report.broken("not answered", str(answer and answer.status))
        report.count("pages answered")
        page.evaluate("document.title")  # a page that is frozen does not answer
        other.wait_for_timeout(500)
    writer.join()
    arrived = seconds * _A_SECOND
    report.figures["arrived"] = arrived
    state = page.locator("[data-feed-state]")
    expect(state).to_contain_text(f"{arrived:,} since", timeout=_PATIENCE)
    report.figures["shown or counted"] = arrived
    took = time.monotonic() - begun
    _judge(page, report, (before, _figures(watched)), took)


def _judge(page: Page, report: Report, figures: tuple[dict[str, float], ...], took: float) -> None:
    before, after = figures
    lines = page.locator("#feed > li").count()
    tasks: list[float] = page.evaluate("window.long_tasks")
    busy = (after["ThreadTime"] - before["ThreadTime"]) / took
    nodes = round(after["Nodes"] - before["Nodes"])
    report.figures |= {
        "lines in the page": lines,
        "frames a second": round(page.evaluate("window.frames_drawn") / took, 1),
        "tasks above 50 ms": len(tasks),
        "longest task in ms": round(max(tasks, default=0.0)),
        "processor share of the page": round(busy, 3),
        "heap in MB": round(after["JSHeapUsedSize"] / 1e6, 1),
        "nodes that came": nodes,
    }
    if lines > _MOST_LINES:
        report.broken("not cut", f"{lines} lines")
    if busy > _BUSY:
        report.broken("busy", f"{busy:.2f} of a processor")
    if nodes > _NODES * _MOST_LINES:  # what is cut is given back
        report.broken("grows", f"{nodes} nodes")


def _figures(watched: CDPSession) -> dict[str, float]:
    watched.send("HeapProfiler.collectGarbage")
    found = watched.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in found}


def _write(folder: Path, seconds: int) -> None:
    """Another process: as many memories a second, in small writes."""
    with MemoryMesh(folder, embedder="none") as mesh:
        begun = time.monotonic()
        for at in range(0, seconds * _A_SECOND, _AT_ONCE):
            mesh.add_many([f"Crate {at + each} stands on the pier" for each in range(_AT_ONCE)])
            ahead = at / _A_SECOND - (time.monotonic() - begun)
            if ahead > 0:
                time.sleep(ahead)


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, str]]:
    """The page of a store at a free port: its address and the token of its link."""
    with MemoryMesh(folder, embedder="none") as mesh, bound("127.0.0.1", 0) as listener:
        mesh.add("The pier is empty")
        readers = OwnerReaders(mesh)
        options = {"log_level": "warning", "access_log": False, "ws": "none"}
        server = uvicorn.Server(uvicorn.Config(Dashboard(readers).application(), **options))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", readers.token or ""
        finally:
            server.should_exit = True
            thread.join()
