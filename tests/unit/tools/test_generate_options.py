"""Options are written from one description, and what is written by hand stays."""

import pytest

from tools import generate_options
from tools.generate_options import CannotGenerate, generate

SAMPLE = '''
class Mesh:
    def add(
        self,
        *,
        merge: bool = False,
        # begin generated options (details)
        old: int = 3,
        # end generated options
    ) -> None:
        """Store.

        Options:
            old: gone.
            merge: by hand.
        """

    def get(self, *, limit: int) -> None:
        """Read."""

    def _private(self, *, secret: int) -> None:
        """Hidden."""
'''


def test_shared_options_are_written_and_others_kept():
    made = generate(SAMPLE)
    assert "        speaker: str | None = None,\n" in made
    assert "            merge: by hand.\n            scope: " in made
    assert "            speaker: who said it.\n" in made
    assert "old" not in made
    limit = generate_options.SHARED[""]["limit"]
    assert f'"""Read.\n\n        Options:\n            limit: {limit}.\n        """\n' in made
    assert '"""Hidden."""' in made
    assert generate(made) == made


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("            merge: by hand.\n", "", "describe merge"),
        ("by hand", "by hand" * 20, "too long"),
        ("(details)", "(nothing)", "no set of options"),
    ],
)
def test_what_cannot_be_written_is_named(before, after, said):
    with pytest.raises(CannotGenerate, match=said):
        generate(SAMPLE.replace(before, after))
