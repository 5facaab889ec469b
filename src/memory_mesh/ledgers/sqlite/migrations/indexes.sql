-- Indexes of a file that has grown. What a search or an add asks for is indexed in every file.

CREATE INDEX version_memory ON version (memory, recorded_from);
CREATE INDEX version_valid_from ON version (valid_from)
    WHERE valid_from IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_valid_until ON version (valid_until)
    WHERE valid_until IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_pattern ON version (pattern)
    WHERE pattern IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_severity ON version (severity, number)
    WHERE severity IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_claim ON version (subject, predicate, project, agent, session)
    WHERE subject IS NOT NULL AND recorded_until IS NULL AND status = 'active';
CREATE INDEX version_exclusive ON version (subject, predicate, project, agent, session)
    WHERE subject IS NOT NULL AND recorded_until IS NULL AND status = 'active'
    AND json_extract(claim, '$.exclusive');
CREATE INDEX version_waiting ON version (status, number)
    WHERE status IN ('quarantined', 'disputed') AND recorded_until IS NULL;
CREATE INDEX version_origin ON version (source_ref)
    WHERE source_ref IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_label ON version (label, memory)
    WHERE label IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_pinned ON version (memory)         -- a session starts with them
    WHERE pinned = 1 AND recorded_until IS NULL;
CREATE INDEX version_subject ON version (subject, memory)  -- what is known of an entity
    WHERE subject IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_standing ON version (source_kind, memory)  -- as in shared/snapshot.py
    WHERE (kind IN ('preference', 'decision') OR label IN ('role', 'convention')
    OR subject = 'user' AND predicate IN ('name', 'is a', 'work for', 'live in', 'speak',
        'allergic to', 'prefer', 'like', 'love', 'dislike', 'hate', 'avoid', 'eat', 'drink')
    OR subject IN ('we', 'project') AND predicate NOT IN ('is', 'have'))
    AND session IS NULL AND recorded_until IS NULL AND status = 'active';
CREATE INDEX observation_memory ON observation (memory);
CREATE INDEX link_target ON link (target);
CREATE INDEX block_seq ON block (seq);
CREATE INDEX block_about ON block (memories);           -- most blocks name one memory
CREATE INDEX recall_at ON recall (at);
CREATE INDEX skill_name ON skill (name);
CREATE INDEX skill_reliability ON skill (reliability) WHERE status = 'active';
CREATE INDEX conflict_pending ON conflict (number) WHERE resolution IS NULL;
CREATE INDEX conflict_new ON conflict (new);
CREATE INDEX conflict_existing ON conflict (existing);
CREATE INDEX session_write_audience ON session_write (session, project, agent, at);
CREATE INDEX session_write_at ON session_write (at);
CREATE INDEX proposal_pending ON proposal (number) WHERE decided IS NULL;
CREATE INDEX proposal_memory ON proposal (memory);
CREATE INDEX injection_at ON injection (at);
CREATE INDEX injected_memory ON injected (memory);
CREATE INDEX audience_parts ON audience (project, agent, session);
CREATE INDEX version_audience ON version (audience, recorded_until, status, text);
