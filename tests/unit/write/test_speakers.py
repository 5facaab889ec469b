"""Who said a text: the table of channel, role, speaker and source."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Channel, Draft, Source, SourceKind
from memory_mesh.rules.trust import as_stored_before, authority, ceiling, lowest, may_change
from memory_mesh.write.rules.drafts import draft_of
from memory_mesh.write.rules.speakers import ROLES, kind_said, with_kind

USER, SYSTEM, TOOL = SourceKind.USER_EXPLICIT, SourceKind.SYSTEM, SourceKind.TOOL_OUTPUT
IMPLICIT, PAGE, GUESS = SourceKind.USER_IMPLICIT, SourceKind.DOCUMENT, SourceKind.INFERENCE
LIBRARY = Channel.LIBRARY
NAMES = st.none() | st.sampled_from(
    ["user", "Assistant", "tool", "SYSTEM", "Ana", "MyAgent", "https://a.example", "notes.md", "m1"]
)


def source(channel=LIBRARY, metadata=None, **details):
    return draft_of("tea", metadata, details, agent_id="me", channel=channel).source


@pytest.mark.parametrize(
    ("channel", "stated", "kind"),
    [
        (LIBRARY, {}, IMPLICIT),
        (Channel.CLI, {}, USER),
        (Channel.HOOK, {}, USER),
        (Channel.TOOL, {}, TOOL),
        (Channel.FILE, {}, PAGE),
        (Channel.WEB, {}, PAGE),
        (Channel.IMPORT, {}, PAGE),
        (Channel.MCP, {}, GUESS),
        (Channel.ASSISTANT, {}, GUESS),
        (Channel.EXTRACTION, {}, GUESS),
        (LIBRARY, {"role": "user"}, USER),
        (LIBRARY, {"role": "USER"}, USER),
        (LIBRARY, {"role": " Human "}, USER),
        (LIBRARY, {"role": "assistant"}, GUESS),
        (LIBRARY, {"role": "Agent"}, GUESS),
        (LIBRARY, {"role": "AI"}, GUESS),
        (LIBRARY, {"role": "model"}, GUESS),
        (LIBRARY, {"role": "bot"}, GUESS),
        (LIBRARY, {"role": "tool"}, TOOL),
        (LIBRARY, {"role": "function"}, TOOL),
        (LIBRARY, {"role": "system"}, SYSTEM),
        (LIBRARY, {"role": "moderator"}, IMPLICIT),
        (Channel.CLI, {"role": "assistant"}, GUESS),
        (Channel.MCP, {"role": "user"}, GUESS),
        (Channel.WEB, {"role": "system"}, PAGE),
        (Channel.TOOL, {"role": "user"}, TOOL),
        (LIBRARY, {"speaker": "Ana"}, USER),
        (LIBRARY, {"speaker": "Assistant"}, GUESS),
        (LIBRARY, {"speaker": "Ana", "role": "assistant"}, GUESS),
        (LIBRARY, {"source_agent": "MyAgent"}, GUESS),
        (LIBRARY, {"metadata": {"source": "MyAgent"}}, GUESS),
        (LIBRARY, {"metadata": {"source": "openai/gpt-4.1"}}, GUESS),
        (LIBRARY, {"metadata": {"source": "user"}}, IMPLICIT),
        (LIBRARY, {"metadata": {"source": "System"}}, IMPLICIT),
        (LIBRARY, {"metadata": {"source": "user_explicit"}}, IMPLICIT),
        (LIBRARY, {"metadata": {"source": "assistant"}}, GUESS),
        (LIBRARY, {"metadata": {"source": "user"}, "role": "user"}, USER),
        (LIBRARY, {"metadata": {"source": "user"}, "source_agent": "MyAgent"}, GUESS),
        (Channel.CLI, {"metadata": {"source": "user"}}, USER),
        (LIBRARY, {"metadata": {"source": "https://a.example/x"}}, PAGE),
        (LIBRARY, {"metadata": {"source": "docs/notes.md"}}, PAGE),
        (LIBRARY, {"metadata": {"source": "/etc/hosts"}}, PAGE),
        (LIBRARY, {"metadata": {"source": r"C:\notes\a"}}, PAGE),
        (LIBRARY, {"metadata": {"source": "tool:grep"}}, TOOL),
        (LIBRARY, {"metadata": {"source": "tool_output"}}, TOOL),
        (Channel.CLI, {"metadata": {"source": "MyAgent"}}, GUESS),
        (Channel.WEB, {"metadata": {"source": "site 3"}}, PAGE),
        (LIBRARY, {"source_ref": "https://a.example"}, PAGE),
        (LIBRARY, {"source_ref": "src/app.py:12"}, PAGE),
        (LIBRARY, {"source_ref": "tool:pytest"}, TOOL),
        (LIBRARY, {"source_ref": "page 3"}, PAGE),
        (LIBRARY, {"source_ref": "message 7", "role": "user"}, USER),
        (LIBRARY, {"source_ref": "https://a.example", "role": "user"}, PAGE),
        (LIBRARY, {"source_ref": "https://a.example", "source_kind": "user_explicit"}, USER),
        (LIBRARY, {"metadata": {"source": "MyAgent"}, "source_kind": "tool_output"}, TOOL),
        (LIBRARY, {"role": "user", "source_kind": "document"}, PAGE),
        (Channel.WEB, {"source_kind": "user_explicit"}, PAGE),
        (Channel.MCP, {"source_kind": "system"}, GUESS),
    ],
)
def test_who_said_it(channel, stated, kind):
    found = source(channel, **stated)
    assert (found.kind, found.channel) == (kind, channel)
    assert found.stated == ("source_kind" in stated)


@given(
    channel=st.sampled_from(Channel),
    names=st.tuples(NAMES, NAMES, NAMES, NAMES),
    stated=st.none() | st.sampled_from(SourceKind),
)
def test_nothing_that_is_said_passes_the_ceiling(channel, names, stated):
    role, speaker, agent, ref = names
    draft = Draft(text="tea", role=role, speaker=speaker, source=Source(agent=agent, ref=ref))
    found = with_kind(draft, channel, stated=stated).source
    assert lowest((found.kind, ceiling(channel))) is found.kind
    assert lowest((authority(found), ceiling(channel))) is authority(found)


def test_role_and_speaker_alone():
    assert kind_said(None, None) is None
    assert kind_said("moderator", None) is None
    assert kind_said("user", "bot") is GUESS
    assert {kind_said(role.upper(), None) for role in ROLES} == {USER, SYSTEM, TOOL, GUESS}


@pytest.mark.parametrize(
    ("details", "channel", "expected"),
    [
        ({}, LIBRARY, USER),
        ({"source_agent": "MyAgent"}, LIBRARY, USER),
        ({"role": "assistant"}, Channel.CLI, USER),
        ({"source_kind": "document"}, LIBRARY, PAGE),
        ({"source_kind": "user_implicit"}, LIBRARY, IMPLICIT),
        ({}, Channel.MCP, GUESS),
        ({"role": "user"}, Channel.WEB, PAGE),
    ],
)
def test_authority_is_the_channels_ceiling_or_the_stated_kind(details, channel, expected):
    assert authority(source(channel, **details)) is expected


def test_a_lesser_channel_changes_nothing_that_the_library_stored():
    for details in ({}, {"source_agent": "MyAgent"}, {"role": "assistant"}):
        assert not may_change(TOOL, source(**details))
        assert may_change(USER, source(**details))
    assert may_change(TOOL, source(source_kind="inference"))


@pytest.mark.parametrize(
    ("before", "role", "kind"),
    [
        (Source(USER), None, IMPLICIT),
        (Source(USER), "user", USER),
        (Source(USER, agent="MyAgent"), None, USER),
        (Source(USER, ref="message 7"), None, USER),
        (Source(USER, Channel.CLI), None, USER),
        (Source(SYSTEM), None, SYSTEM),
        (Source(PAGE), None, PAGE),
    ],
)
def test_what_the_library_stored_before_without_a_word_is_implicit(before, role, kind):
    after = as_stored_before(before, role, None)
    assert after.kind is kind
    assert authority(after) is authority(before)
