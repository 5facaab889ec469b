-- Subjects of claims and what a profile is made of get indexes.
CREATE INDEX version_subject ON version (ns, subject, memory)
    WHERE subject IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_standing ON version (ns, source_kind, memory)
    WHERE (kind IN ('preference', 'decision') OR label IN ('role', 'convention')
    OR subject = 'user' AND predicate IN ('name', 'is a', 'work for', 'live in', 'speak',
        'allergic to', 'prefer', 'like', 'love', 'dislike', 'hate', 'avoid', 'eat', 'drink')
    OR subject IN ('we', 'project') AND predicate NOT IN ('is', 'have'))
    AND session IS NULL AND recorded_until IS NULL AND status = 'active';
