"""The page in a real Chromium: one browser for all of it, on loopback, with every request noted."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.model import Scope
from memory_mesh.platform.ports import bound
from memory_mesh.sync import MemoryMesh
from tests.faults.sample import is_whole
from tests.surface.page_reading import HOSTILE, opened
from tests.until import until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
WIDTHS = (390, 1024, 1440)
PAGES = (
    *("/why", "/memories", "/memories?status=any&q=office", "/memories/{id}", "/why?said=Bergen"),
    *("/told", "/told/{prompt}", "/inbox", "/working?examine=yes", "/health"),
)
MORE_PAGES = (  # what is reached from the others
    *("/memories/skills", "/memories?edit={id}", "/memories/{id}?edit=yes", "/memories?q=office"),
    *("/why?prompt={prompt}&edit={id}", "/told/{prompt}?why=office", "/inbox?show=conflicts"),
    *("/inbox?show=decided", "/working", "/../-/in"),
)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_PATIENCE = 30_000  # milliseconds, for what comes by itself
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")


@dataclass
class Walk:
    """A browser that is signed in, and what it asked for and said."""

    mesh: MemoryMesh
    page: Page
    url: str
    context: BrowserContext
    requests: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Opens a page of the namespace."""
        self.page.goto(f"{self.url}/default{path}")
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as found:
        made = found.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def walk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("browser") / "store"
    with opened(folder) as mesh, bound("127.0.0.1", 0) as listener:
        readers = OwnerReaders(mesh)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            Dashboard(readers).application(), log_level="warning", access_log=False, ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started)
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.set_default_timeout(10_000)
            made = Walk(mesh, context.new_page(), url, context)
            made.page.on("request", lambda request: made.requests.append(request.url))
            made.page.on("pageerror", lambda error: made.trouble.append(str(error)))
            made.page.on("dialog", lambda dialog: made.trouble.append(dialog.message))
            made.page.on(
                "console",
                lambda said: made.trouble.append(said.text) if said.type == "error" else None,
            )
            made.page.goto(f"{url}/-/in?token={readers.token}")
            yield made
            context.close()
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def office(walk: Walk) -> str:
    """A memory that misleads, and the prompt that it entered."""
    kept = walk.mesh.add("The office is in Bergen", allow_duplicate=True).id
    assert kept is not None
    walk.mesh.context("where is the office?")
    return kept


def test_results_follow_the_typing_without_a_new_page(walk: Walk) -> None:
    walk.mesh.add("Deploys go out on Tuesdays")
    walk.mesh.add("Tea is served at four in the kitchen")
    page = walk.go("/memories")
    page.evaluate("window.stayed = true")
    page.keyboard.press("/")
    page.keyboard.type("when do deploys go out")
    expect(page.locator("#found")).not_to_contain_text("Tea is served")
    expect(page.locator("#found")).to_contain_text("Deploys go out")
    assert page.evaluate("window.stayed")
    assert "q=when" in page.url


def test_keys_choose_rows_and_a_bulk_is_undone(walk: Walk) -> None:
    walk.mesh.add("The red box is on shelf one")
    walk.mesh.add("The blue box is on shelf two")
    page = walk.go("/memories")
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator("[data-chosen]")).to_have_text("2 chosen")
    page.locator("#many").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("Deleted 2 memories")
    expect(page.locator("#found")).not_to_contain_text("blue box")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#found")).to_contain_text("blue box")


def test_a_memory_is_edited_in_its_row(walk: Walk) -> None:
    kept = walk.mesh.add("The printer is on floor two").id
    page = walk.go("/memories")
    row = page.locator(f"#m-{kept}")
    row.hover()
    row.get_by_role("link", name="Edit").click()
    row.get_by_label("Text").fill("The printer is on floor three")
    row.get_by_role("button", name="Save").click()
    expect(page.locator(f"#m-{kept}")).to_contain_text("floor three")
    assert [each.text for each in walk.mesh.history(kept or "")][-1].endswith("three")


def test_what_misled_is_found_and_corrected(walk: Walk, office: str) -> None:
    page = walk.go("/why")
    page.get_by_label("What the agent said").fill("Your office is in Bergen, take the train")
    page.get_by_role("button", name="Find out why").click()
    carrier = page.locator(".carries").first
    expect(carrier).to_contain_text("This one carries it")
    expect(carrier).to_contain_text("Who said it")
    carrier.get_by_role("link", name="Correct").click()
    page.get_by_label("What is right").fill("The office is in Oslo")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Corrected")
    expect(page.locator("#anew")).to_contain_text("changed")
    assert walk.mesh.history(office)[-1].text == "The office is in Oslo"


def test_a_memory_is_forgotten_for_good_with_a_receipt(walk: Walk) -> None:
    kept = walk.mesh.add("The code of the cellar is 4711").id
    page = walk.go(f"/memories/{kept}")
    page.get_by_role("button", name="Forget for good…").click()
    expect(page.locator("main")).to_contain_text("cannot be undone")
    page.get_by_role("button", name="Forget 1 memory for good").click()
    expect(page.locator("main")).to_contain_text("Receipt")
    assert "4711" not in str(walk.mesh.get_all(include=["deleted"]))


def test_the_slider_goes_back_in_time(walk: Walk) -> None:
    kept = walk.mesh.add("Standup is at nine").id or ""
    for text in ("Standup is at ten", "Standup is at eleven"):
        walk.mesh.update(kept, text)
    page = walk.go(f"/memories/{kept}")
    expect(page.locator("#versions")).to_contain_text("3 of 3")
    page.locator("#version").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#versions")).to_contain_text("2 of 3")
    expect(page.locator("#versions ins")).to_have_text("ten")


def test_the_inbox_is_walked_by_keyboard_alone(walk: Walk) -> None:
    kept = walk.mesh.add("Deploys of the shop go out at noon").id or ""
    spare = walk.mesh.add("The shop closes at six").id or ""
    agent = walk.mesh.view(channel="mcp")
    agent.review.propose_delete(spare, reason="nobody needs it")
    agent.review.propose_update(kept, "Deploys of the shop go out at one")
    page = walk.go("/inbox?show=proposals")
    page.keyboard.press("j")
    expect(page.locator("[data-row]").first).to_contain_text("at one")
    page.keyboard.press("a")
    expect(page.get_by_role("status")).to_contain_text("Approved 1")
    assert walk.mesh.history(kept)[-1].text.endswith("at one")
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    assert walk.mesh.history(kept)[-1].text.endswith("at noon")
    walk.go("/inbox?show=proposals")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.get_by_label("In your words").fill("Deploys of the shop go out at two")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved in your words")
    assert walk.mesh.history(kept)[-1].text.endswith("at two")
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(page.get_by_role("status")).to_contain_text("Rejected 1")
    assert walk.mesh.review.proposals() == []


def test_the_feed_goes_on_while_the_page_is_open_and_stays_small(walk: Walk) -> None:
    page = walk.go("/working")
    lines = page.locator("#feed > li")
    walk.mesh.add("The kettle was repaired")
    expect(lines.first).to_contain_text("The kettle was repaired", timeout=_PATIENCE)
    for part in range(3):
        walk.mesh.add_many([f"Crate {part} {at} is on the pier" for at in range(200)])
    expect(page.locator("[data-feed-state]")).to_contain_text("not shown", timeout=_PATIENCE)
    assert lines.count() <= 200
    page.get_by_role("button", name="Pause").click()
    walk.mesh.add("The kettle broke again")
    expect(page.locator("[data-feed-state]")).to_contain_text("wait", timeout=_PATIENCE)
    expect(page.locator("#feed")).not_to_contain_text("broke again")
    page.get_by_role("button", name="Go on").click()
    expect(lines.first).to_contain_text("broke again")


def test_the_switch_of_colours_is_kept(walk: Walk) -> None:
    page = walk.go("/memories")
    page.get_by_role("button", name="dark").click()
    walk.go("/why")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 22)"
    page.get_by_role("button", name="auto").click()


def test_no_page_is_wider_than_a_phone(walk: Walk, office: str) -> None:
    page = walk.page
    page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    for path in (*PAGES, *MORE_PAGES):
        walk.go(path.format(id=office, prompt=walk.mesh.care.prompts(limit=1)[0].id))
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= WIDTHS[0], path
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_header_of_a_phone_is_one_line_on_a_short_page(walk: Walk) -> None:
    walk.page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    header = walk.go("/memories/skills").locator("header.side").bounding_box()
    assert header is not None
    assert header["height"] < 80
    walk.page.set_viewport_size({"width": 1280, "height": 800})


def test_keeping_both_is_undone_by_a_key(walk: Walk) -> None:
    walk.mesh.add("The depot is in Drammen")
    walk.mesh.view(channel="mcp").add("The depot is in Halden")
    page = walk.go("/inbox?show=conflicts")
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.get_by_role("status")).to_contain_text("Both are kept")
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    expect(page.locator("main")).to_contain_text("Halden")


@pytest.fixture
def waiting(walk: Walk) -> None:
    """Something of each kind waits in the inbox, and something was decided."""
    agent = walk.mesh.view(channel="mcp")
    spare = walk.mesh.add("The ferry leaves at six", allow_duplicate=True).id or ""
    agent.review.propose_update(spare, "The ferry leaves at seven")
    done = agent.review.propose_delete(spare, reason="the ferry is closed")
    walk.mesh.review.decide(done.id, approve=False)
    walk.mesh.add("The harbour is in Horten")
    agent.add("The harbour is in Moss")
    agent.lessons.record("Moor the boat before the crane moves", when="loading")
    agent.skills.add("name: moor\nintent: moor a boat\nagent: ann\n")


def test_axe_finds_nothing_serious(walk: Walk, office: str, waiting: None) -> None:
    """In the gate every other page is dark; at night each page is both."""
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    prompt, wrong = walk.mesh.care.prompts(limit=1)[0].id, []
    for at, path in enumerate((*PAGES, *MORE_PAGES)):
        for scheme in SCHEMES if is_whole() else SCHEMES[at % 2 :][:1]:
            walk.page.emulate_media(color_scheme=scheme)
            page = walk.go(path.format(id=office, prompt=prompt))
            wrong += [
                (path, scheme, each["id"], each["nodes"][0]["failureSummary"])
                for each in _violations(page, axe)
                if each["impact"] in {"serious", "critical"}
            ]
    walk.page.emulate_media(color_scheme="light")
    assert wrong == []


def _violations(page: Page, axe: str) -> list[dict[str, Any]]:
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("axe.run()")["violations"]
    return found


def test_everything_is_read_without_a_script(walk: Walk, browser: Browser, office: str) -> None:
    context = browser.new_context(
        java_script_enabled=False,
        storage_state=walk.context.storage_state(),
    )
    page = context.new_page()
    page.goto(f"{walk.url}/default/memories")
    page.get_by_role("searchbox").fill("where is the office")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="The office is in Bergen").first.click()
    expect(page.locator("#blocks")).to_contain_text("retain")
    context.close()


def test_hostile_memories_run_nothing(walk: Walk) -> None:
    view = walk.mesh.view(namespace="hostile")
    for text in HOSTILE:
        view.add(f"Note {text}", {"tags": [text[:40]]}, speaker=text, scope=Scope(project=text))
    view.context("Note", scope=Scope(project=HOSTILE[0]))
    kept = view.get_all(across=["project"])[0].id
    for path in ("/memories", f"/memories?edit={kept}", f"/memories/{kept}", "/why?said=Note"):
        walk.page.goto(f"{walk.url}/hostile{path}")
        assert walk.page.evaluate("window.pwned === undefined")


def test_the_whole_session_asked_loopback_alone_and_broke_no_rule(walk: Walk) -> None:
    """The last one: it judges what all others did."""
    assert {urlsplit(url).hostname for url in walk.requests} == {"127.0.0.1"}
    assert walk.trouble == []
    assert Path(CHROMIUM).exists()
