"""Notes of Obsidian and basic-memory: links, tags, observations and relations."""

from memory_mesh.formats.memory_file import (
    ObservationLine,
    RelationLine,
    inline_tags,
    link_target,
    observations,
    parse,
    relations,
    render,
    wiki_links,
)

COFFEE = """\
---
title: Coffee Brewing Methods
type: note
permalink: coffee/brewing-methods
tags:
- coffee
- brewing
---

# Coffee Brewing Methods

## Observations

- [method] Pour over extracts more #brewing (by taste)
- [tip] Water at 94 °C
- [ ] buy filters
- [x] buy beans
- [a link](https://example.com) is no observation

## Relations

- relates_to [[Coffee Bean Origins]]
- requires [[Proper Grinding#Burrs|a grinder]]
- [[Kettle]]

See ![[cup.png]], [[Coffee Bean Origins]], `[[code]]` and #morning/ritual, not #1 or a#b.

```
[[fenced]] #fenced
- [code] no
```
"""


def test_a_note_of_basic_memory_is_read_and_kept():
    (note,) = parse(COFFEE).documents
    assert note.title == "Coffee Brewing Methods"
    assert note.tags == ("coffee", "brewing")
    assert note.more == {"type": "note", "permalink": "coffee/brewing-methods"}
    assert note.raw == COFFEE
    assert parse(render(note)).documents == (note,)


def test_links_tags_observations_and_relations_are_read_outside_of_code():
    assert wiki_links(COFFEE) == ("Coffee Bean Origins", "Proper Grinding", "Kettle", "cup.png")
    assert inline_tags(COFFEE) == ("brewing", "morning/ritual")
    assert observations(COFFEE) == (
        ObservationLine("method", "Pour over extracts more #brewing (by taste)", ("brewing",)),
        ObservationLine("tip", "Water at 94 °C", ()),
    )
    assert relations(COFFEE) == (
        RelationLine("relates_to", "Coffee Bean Origins"),
        RelationLine("requires", "Proper Grinding"),
        RelationLine("relates_to", "Kettle"),
    )


def test_the_target_of_a_link_is_the_note_it_names():
    assert link_target("[[Folder/Note#Heading|shown]]") == "Folder/Note"
    assert link_target("![[Note^block]]") == "Note"
    assert link_target("oauth-too-broad.md") == "oauth-too-broad.md"
    assert wiki_links("[[]] [[ ]] [[#here]] [[a") == ()
