"""The figures of bench/convmemory.py on rows that a reader can count."""

from bench import convmemory


def rows():
    recalls = {("a", 0): 1.0, ("a", 1): 0.0, ("b", 0): 1.0}
    return [
        {"seed": seed, "tenant": tenant, "id": f"{tenant}/{at}", "category": "x", "recall": recall}
        for seed, tenants in ((7, "a"), (11, "ab"))
        for (tenant, at), recall in recalls.items()
        if tenant in tenants
    ]


def test_the_figure_is_the_mean_of_the_seeds_not_of_the_questions():
    found = convmemory.measured(rows())
    assert {seed: each["n"] for seed, each in found["by_seed"].items()} == {7: 2, 11: 3}
    assert found["by_seed"][7]["R@10"] == 0.5
    assert found["R@10"] == round((1 / 2 + 2 / 3) / 2, 4)


def test_an_interval_holds_the_figure_and_the_page_shows_both():
    found = convmemory.measured(rows())
    for low, high in found["intervals"].values():
        assert low <= found["R@10"] <= high
    assert found["intervals"]["conversations"] == [0.5, 1.0]
    page = convmemory.page({**found, "minutes": 3.0, "others": []})
    assert "**58.3**" in page
    assert "| mxbai-rerank-large-v1 over 500 candidates, on a GPU | 80.8 |" in page
