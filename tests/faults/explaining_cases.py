"""The planted cases of `explain`: why each gate is what it must be, by construction.

::

    namespace ▸ scope ▸ status ▸ validity ▸ filter ▸ candidates ▸ limit ▸ threshold ▸ older ▸ packed

The first gate that dropped a memory is named. Each case builds one obstacle on purpose, and any
number of later ones at random : they must not be named.

namespace   The memory is in another namespace of the store; or nobody ever wrote its id; or its
            audience (project, agent, session) is not that of the mesh that explains, and
            `see_across` does not name the part that differs. That the explained search may be one
            that sees it (`scope`, `across`) changes nothing: who explains may not look at it.
scope       The mesh that explains sees the memory, by its own scope or by `see_across`; the
            explained search asks for another project, agent or session.
status      All may see it; it is quarantined, disputed, superseded, archived, deleted or of an
            expired session, and `include` names no status or another one. Of the past (`as_of`):
            it was quarantined then, and is active today.
validity    It is active; the time asked for is before `valid_from` or not before `valid_until`.
filter      It is valid; one stated field of it differs from what the filter wants.
candidates  It passes the filter, and no leg can find it: it shares no word with the question, and
            there are no vectors, or the search does without; or it has no trigger in the profile
            `points`, or only a trigger in a search of the past; or a leg is asked for n candidates
            (rrf: twice the limit; mesh: 100) and n memories fit better: they hold the question's
            words several times in a shorter text, or stand nearer to it on the planted axis.
limit       It is a candidate: it holds a word of the question, and every leg reads deeper than the
            store is large. At least `limit` others hold all of the question's words, in less text.
            A threshold that it misses as well comes later and is not named. A memory that the newer
            statement of another one pushed out was cut by the limit, too: it is no older statement.
threshold   It is among the first `limit`, there are no more candidates than that, and its score
            (min_relevance) or similarity (min_similarity, lane's own 0.2) is below what is asked.
older       The question holds a word that only the older statement has, so it stands at the last
            place that the limit leaves; the newer one that updates it comes along, stands above it,
            and takes that place.
packed      The search shows it, with a score above the floor of packs; the budget is too small for
            any memory at all, or the pack of this very question leaves it out.
None        The search shows it: the same obstacles, each removed by an option of the call.
"""

from collections.abc import Callable, Mapping, Sequence

from tests.faults import explaining_hidden as hidden, explaining_ranked as ranked
from tests.faults.explaining_ground import Case, Ground

Planter = Callable[[Ground], Case]
KINDS: Mapping[str, Sequence[Planter]] = {
    "namespace": (hidden.elsewhere, hidden.never, hidden.not_yours, hidden.not_yours),
    "scope": (hidden.asked_for_others, hidden.seen_across),
    "status": (hidden.of_status, hidden.of_status, hidden.of_status, hidden.waited_then),
    "validity": (hidden.not_valid,),
    "filter": (hidden.filtered,),
    "candidates": (ranked.no_word, ranked.no_trigger, ranked.too_deep) * 4
    + (ranked.beyond_a_hundred,),
    "limit": (
        ranked.cut_by_limit,
        ranked.cut_by_limit,
        ranked.cut_by_limit,
        ranked.cut_by_limit_of_points,
        ranked.pushed_out,
    ),
    "threshold": (ranked.below, ranked.below, ranked.below_a_tenth),
    "older": (ranked.older,),
    "packed": (ranked.no_room_at_all, ranked.left_out),
    "shown": (
        ranked.shown,
        ranked.shown,
        ranked.shown_by_points,
        ranked.let_through,
        ranked.in_the_pack,
    ),
}
