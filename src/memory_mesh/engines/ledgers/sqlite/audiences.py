"""Makes the numbers and counts of audiences anew from what versions say."""

import sqlite3

from memory_mesh.engines.ledgers.sql.visibility import PARTS
from memory_mesh.engines.ledgers.sqlite import schema

_SAME = " AND ".join(f"a.{part} IS v.{part}" for part in PARTS)
_OF_VERSION = f"(SELECT a.number FROM audience a WHERE {_SAME})"  # noqa: S608  # own names
_REBUILD = f"""
    DELETE FROM audience WHERE crc IS NOT row_crc(project, agent, session)
        OR number NOT IN (SELECT min(number) FROM audience GROUP BY project, agent, session);
    INSERT INTO audience (project, agent, session, crc)
        SELECT project, agent, session, row_crc(project, agent, session)
        FROM (SELECT DISTINCT project, agent, session FROM version) v
        WHERE NOT EXISTS (SELECT 1 FROM audience a WHERE {_SAME});
    UPDATE version AS v SET audience = {_OF_VERSION} WHERE audience IS NOT {_OF_VERSION};
    UPDATE audience SET memories = held FROM (
        SELECT a.number AS of_audience, coalesce(h.held, 0) AS held FROM audience a LEFT JOIN
            (SELECT audience, count(*) AS held FROM version WHERE recorded_until IS NULL
            AND status = 'active' GROUP BY audience) h ON h.audience = a.number)
        WHERE number = of_audience AND memories IS NOT held"""  # noqa: S608  # own names; a number is kept where it is right: an index holds it beside each vector


def rebuild(db: sqlite3.Connection) -> int:
    """Makes numbers and counts anew from what versions say; how many were wrong or missing."""
    if schema.has_grown(db):
        schema.make_indexes(db, "audience_parts")
    return sum(db.execute(statement).rowcount for statement in _REBUILD.split(";"))
