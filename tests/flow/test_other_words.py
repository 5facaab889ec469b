"""A question whose words are not those of the record: other names, misspellings, stated tags."""

from contextlib import closing
from datetime import timedelta

import pytest

from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Lens, Matches, Scope
from memory_mesh.search import keyword_plan
from memory_mesh.search.ranking import words
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer


@pytest.fixture
def ask(mesh, tmp_path, clock):
    """The keyword leg alone: what it found, best first, and how it read the question."""

    def asked(question: str, as_of=None) -> tuple[list[str], Matches]:
        with (
            closing(SqliteLedger(tmp_path / "store", clock)) as ledger,
            ledger.read("default") as snapshot,
        ):
            lens = Lens(now=clock.now(), as_of=as_of)
            matches = keyword_plan.match(snapshot, analyzer.query_terms(question), lens, 10)
            memories = snapshot.load([match.version for match in matches.found])
        return [memories[match.version].text for match in matches.found], matches

    return asked


@pytest.fixture
def notes(mesh):
    mesh.add_many(
        [
            "Kubernetes upgrades happen on Tuesdays",
            "the k8s cluster has nine machines",
            "GitHub Actions minutes run out in March",
            "the actions of the board were minuted; a mirror is on GitHub, as everyone said",
            "TypeScript code passes the strict compiler",
            "the deployment of the shop waits for an error report",
            "Die Bestellnummern bestehen aus dem Datum",
            "a garden with roses",
            "a garden with tulips",
        ]
    )


@pytest.mark.parametrize(
    ("question", "first", "read_as"),
    [
        ("upgrades of k8s", "Kubernetes upgrades happen on Tuesdays", "kubernet"),
        ("Kubernetes machines", "the k8s cluster has nine machines", "k8s"),
        ("GHA", "GitHub Actions minutes run out in March", "github action"),
        ("typscript", "TypeScript code passes the strict compiler", "typescript"),
        ("typsecript", "TypeScript code passes the strict compiler", "typescript"),
        ("eror", "the deployment of the shop waits for an error report", "error"),
        ("Bestellnummer", "Die Bestellnummern bestehen aus dem Datum", "bestellnummern"),
    ],
)
@pytest.mark.usefixtures("notes")
def test_a_word_that_does_not_meet_is_read_as_one_that_does(ask, question, first, read_as):
    found, matches = ask(question)
    assert found[0] == first
    assert list(matches.read_as.values()) == [(read_as,)]


@pytest.mark.usefixtures("notes")
def test_a_name_of_several_words_needs_all_of_them_close_together(ask):
    found, _ = ask("GHA")
    assert found == ["GitHub Actions minutes run out in March"]


def test_what_was_asked_for_comes_before_what_it_is_read_as(ask, mesh):
    mesh.add_many(["the cluster of pg, small", "the cluster of postgres, small"])
    mesh.add_many([f"the garden of day {n}, green" for n in range(20)])
    assert ask("pg")[0] == ["the cluster of pg, small", "the cluster of postgres, small"]
    assert ask("postgres")[0] == ["the cluster of postgres, small", "the cluster of pg, small"]


@pytest.mark.usefixtures("notes")
def test_words_that_are_stored_are_read_as_they_stand(ask):
    found, matches = ask("garden roses")
    assert found == ["a garden with roses", "a garden with tulips"]
    assert matches.read_as == {}


@pytest.mark.usefixtures("notes")
def test_codes_that_nobody_stored_leave_room_for_a_misspelt_word(ask):
    _, matches = ask("E1 E2 E3 E4 typscript")
    assert matches.read_as == {"typscript": ("typescript",)}
    _, matches = ask("wqzxvbna plokijuh mnbvcxza typscript")
    assert matches.read_as == {}  # three words are looked for, no more


def test_an_error_code_is_never_read_as_its_neighbour(ask, mesh):
    mesh.add("E6214 means that the file is in Latin-1")
    assert ask("E6215")[0] == []
    assert ask("62141")[0] == []


def test_a_common_other_name_does_not_drown_a_rare_word(ask, mesh, monkeypatch):
    monkeypatch.setattr(words, "BUDGET", 20)
    mesh.add("a note on k8s")
    mesh.add_many([f"Kubernetes on day {n}" for n in range(40)])
    found, matches = ask("k8s")
    assert found == ["a note on k8s"]
    assert matches.read_as == {}
    mesh.add("the pg of the shop")
    found, matches = ask("kube shop")
    assert found[0] == "the pg of the shop"
    assert matches.dropped == ("kube",)
    assert found[1] == "Kubernetes on day 39"


def test_tags_find_a_memory(ask, mesh):
    mesh.add("The billing engine Marigold is rewritten", tags=["Goldie", "the old one"])
    mesh.add("The route planner Tanglewood is rewritten", tags=["TW"])
    assert ask("Goldie")[0] == ["The billing engine Marigold is rewritten"]
    assert mesh.search("goldie")[0].content == "The billing engine Marigold is rewritten"


def test_new_tags_find_it_at_once_and_the_old_ones_as_of_before(ask, mesh, clock):
    id_ = mesh.add("The engine Marigold is rewritten", tags=["Goldie"]).id
    before = clock.now()
    clock.advance(timedelta(hours=1))
    mesh.update(id_, tags=["Mary"])
    assert ask("Mary")[0] == ["The engine Marigold is rewritten"]
    assert ask("Goldie")[0] == []
    assert ask("Goldie", as_of=before)[0] == ["The engine Marigold is rewritten"]
    assert ask("Mary", as_of=before)[0] == []
    assert mesh.care.verify().ok


def test_a_new_text_keeps_being_found_by_its_tags(ask, mesh):
    id_ = mesh.add("The engine Marigold is rewritten", tags=["Goldie"]).id
    mesh.update(id_, "The engine Marigold is done")
    assert ask("Goldie")[0] == ["The engine Marigold is done"]
    mesh.update(id_, "The engine Marigold is gone", tags=["Mary"])
    assert ask("Mary")[0] == ["The engine Marigold is gone"]
    assert ask("Goldie")[0] == []
    assert mesh.care.verify().ok


def test_tags_that_say_nothing_new_store_no_second_text(mesh):
    id_ = mesh.add("The engine Marigold is rewritten").id
    mesh.update(id_, tags=["engine"])
    assert mesh.care.verify().checked["text hashes"] == 1
    mesh.update(id_, tags=["Goldie"])
    assert mesh.care.verify().checked["text hashes"] == 2
    mesh.delete(id_)
    mesh.restore(id_)
    assert mesh.search("goldie")[0].id == id_
    assert mesh.care.verify().ok


def test_a_deleted_memory_is_not_found_by_its_tags(ask, mesh):
    id_ = mesh.add("The engine Marigold is rewritten", tags=["Goldie"]).id
    mesh.update(id_, tags=["Goldie", "Mary"])
    mesh.delete(id_)
    assert ask("Goldie Mary")[0] == []
    assert mesh.care.verify().ok


def test_a_memory_with_new_tags_is_still_found_by_meaning(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "meant", custom_embedder=real_embedder) as mesh:
        id_ = mesh.add("The user prefers dark themes").id or ""
        mesh.add("Bread needs flour and salt")
        mesh.update(id_, tags=["Goldie"])
        hits = mesh.search("night mode on the screen")
        assert hits[0].id == id_
        assert hits.explanation.found_by_vector == 2
        assert hits.explanation.pending == 0
        assert mesh.care.verify().ok


@pytest.mark.usefixtures("notes")
def test_an_answer_tells_how_a_word_was_read(mesh):
    told = mesh.search("strict typscript", keyword_only=True).explanation.read_as
    assert told == {"typscript": ("typescript",)}
    assert mesh.search("strict TypeScript", keyword_only=True).explanation.read_as == {}
    assert mesh.search("GHA minutes").explanation.read_as == {"gha": ("github action",)}
    assert mesh.search("typscript", profile="rrf").explanation.read_as == {}


def test_no_word_of_a_memory_that_is_not_returned_is_told(mesh, tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, project="secret") as other:
        other.add("the merger with Typesetters is near")
    mesh.add("a garden with roses")
    hits = mesh.search("garden typesettrs", scope=Scope("open"), keyword_only=True)
    assert [hit.content for hit in hits] == ["a garden with roses"]
    assert hits.explanation.read_as == {}
    seen = mesh.search("garden typesettrs", scope=Scope("secret"), keyword_only=True)
    assert seen.explanation.read_as == {"typesettr": ("typesett",)}


def test_a_word_that_only_others_keep_stops_no_spelling(mesh):
    mesh.add("Zachariaz repairs clocks", scope=Scope(project="p"))
    before = [hit.id for hit in mesh.search("Zacharias", scope=Scope(project="p"))]
    mesh.add("Zacharias is not to be told of", scope=Scope(project="q"))
    assert before
    assert [hit.id for hit in mesh.search("Zacharias", scope=Scope(project="p"))] == before
