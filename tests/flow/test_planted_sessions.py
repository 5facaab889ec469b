"""The planted sessions: what capture keeps of them is not less than what was measured.

The figures of both halves are in docs/benchmarks/capture.json; these are the floors.
"""

import pytest

from tests.corpora.sessions import Half
from tools.capture_report import Score, figures, scored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["dev", "held_out"])
def half(request: pytest.FixtureRequest) -> tuple[Half, list[Score]]:
    return request.param, list(scored(request.param))
