-- The tables and functions of neolata by their own names, to be read: views of the tables here.
--
-- A view reads with the rights of whoever asks (`security_invoker`), and so does a function: each
-- shows the namespace that the transaction has entered, and nothing where it has entered none. The
-- values are those that `MemoryGraph` shows; trust is that of now.

CREATE SCHEMA neolata;

CREATE FUNCTION neolata.moment(micros bigint) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN 'epoch'::timestamptz + micros * interval '1 microsecond';

CREATE FUNCTION neolata.micros(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE
RETURN (extract(epoch FROM at) * 1000000)::bigint;

-- As policy.writing.trust computes it.
CREATE FUNCTION neolata.trust(
    source text, origins bigint, reinforcements bigint, disputes bigint, age_days double precision
)
RETURNS double precision LANGUAGE sql IMMUTABLE
RETURN round(greatest(0.0, least(1.0,
    CASE source WHEN 'user_explicit' THEN 1.0 WHEN 'system' THEN 0.95 WHEN 'tool_output' THEN 0.85
        WHEN 'user_implicit' THEN 0.7 WHEN 'document' THEN 0.6 ELSE 0.5 END::double precision
    + least(0.2, 0.05 * greatest(0, origins - 1))
    + CASE WHEN reinforcements + disputes = 0 THEN 0.0
        ELSE 0.15 * (reinforcements - disputes)::double precision
            / (reinforcements + disputes + 1) END
    - least(0.1, 0.1 * greatest(0.0, age_days) / 365)
))::numeric, 6)::double precision;

-- Of rows that were stored before it was noted whether a source was stated, as
-- policy.writing.trust says.
CREATE FUNCTION neolata.source_of(held memory_mesh.version) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN held.source_stated IS NULL AND held.source_kind = 'user_explicit'
    AND held.channel = 'library'
    AND coalesce(nullif(held.role, ''), nullif(held.speaker, ''), nullif(held.source_agent, ''),
        nullif(held.source_ref, '')) IS NULL
    THEN 'user_implicit' ELSE held.source_kind END;

CREATE FUNCTION neolata.agent_of(held memory_mesh.version) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN coalesce(nullif(held.agent, ''), held.source_agent);

-- True if whoever reads one version also reads the other.
CREATE FUNCTION neolata.seen_from(held memory_mesh.version, other memory_mesh.version)
RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (other.project IS NULL OR other.project IS NOT DISTINCT FROM held.project)
    AND (other.agent IS NULL OR other.agent IS NOT DISTINCT FROM held.agent)
    AND (other.session IS NULL OR other.session IS NOT DISTINCT FROM held.session);

CREATE FUNCTION neolata.is_current(held memory_mesh.version) RETURNS boolean
LANGUAGE sql STABLE
RETURN held.recorded_until IS NULL AND held.status = 'active'
    AND (held.valid_from IS NULL OR held.valid_from <= neolata.micros(now()))
    AND (held.valid_until IS NULL OR held.valid_until > neolata.micros(now()));

-- Every memory but deleted ones, as it is now.
CREATE VIEW neolata.every_memory WITH (security_invoker = true) AS
SELECT
    m.id,
    neolata.agent_of(v) AS agent_id,
    t.content,
    coalesce(nullif(v.label, ''), v.kind) AS category,
    ARRAY(SELECT json_array_elements_text(v.tags::json)) AS tags,
    (
        SELECT x.data FROM memory_mesh.vector x
        WHERE x.ns = v.ns AND x.text = v.text ORDER BY x.space DESC, x.part LIMIT 1
    ) AS embedding,
    coalesce(v.importance, 0.7) AS importance,
    m.uses AS access_count,
    neolata.moment(m.created) AS created_at,
    neolata.moment(v.recorded_from) AS updated_at,
    v.claim::jsonb AS claim,
    jsonb_build_object(
        'source', neolata.source_of(v), 'source_id', v.source_ref, 'corroboration', m.origins,
        'trust', believed.trust
    ) AS provenance,
    believed.trust AS confidence,
    v.status,
    CASE
        WHEN v.status <> 'quarantined' THEN NULL
        WHEN c.weaker THEN 'trust_insufficient'
        WHEN c.waits THEN 'predicate_requires_review'
        WHEN m.reinforcements - m.idle_reinforcements = 0
            AND m.disputes - m.idle_disputes >= 3 THEN 'disputed'
        WHEN json_typeof(v.extra::json -> 'quarantine') = 'string'
            THEN v.extra::json ->> 'quarantine'
        ELSE 'manual'
    END AS quarantine,
    m.reinforcements,
    m.disputes,
    v.successor AS superseded_by,
    coalesce(c.supersedes, '{}'::text[]) AS supersedes
FROM memory_mesh.version v
JOIN memory_mesh.memory m ON m.ns = v.ns AND m.number = v.memory
JOIN memory_mesh.text t ON t.ns = v.ns AND t.number = v.text
CROSS JOIN LATERAL (
    SELECT neolata.trust(
        neolata.source_of(v), m.origins, m.reinforcements - m.idle_reinforcements,
        m.disputes - m.idle_disputes,
        (neolata.micros(now()) - m.created) / 86400000000.0::double precision
    ) AS trust
) believed
LEFT JOIN LATERAL (
    SELECT
        bool_or(k.resolution IS NULL) AS waits,
        bool_or(k.resolution IS NULL AND k.new_trust < k.existing_trust) AS weaker,
        array_agg(e.id::text ORDER BY k.number DESC) FILTER (WHERE k.resolution = 'supersede')
            AS supersedes
    FROM (
        SELECT * FROM memory_mesh.conflict k
        WHERE k.ns = v.ns AND k.new = v.memory ORDER BY k.number DESC LIMIT 100
    ) k
    JOIN memory_mesh.memory e ON e.ns = k.ns AND e.number = k.existing
    JOIN memory_mesh.version o
        ON o.ns = k.ns AND o.memory = k.existing AND o.recorded_until IS NULL
    WHERE neolata.seen_from(v, o)
) c ON true
WHERE v.recorded_until IS NULL AND v.status <> 'deleted';

CREATE VIEW neolata.memories WITH (security_invoker = true) AS
SELECT * FROM neolata.every_memory WHERE status <> 'archived';

CREATE VIEW neolata.memory_archive WITH (security_invoker = true) AS
SELECT * FROM neolata.every_memory WHERE status = 'archived';

CREATE VIEW neolata.memory_links WITH (security_invoker = true) AS
SELECT
    s.id AS source_id,
    t.id AS target_id,
    l.similarity,
    neolata.moment(l.at) AS created_at
FROM memory_mesh.link l
JOIN memory_mesh.memory s ON s.ns = l.ns AND s.number = l.source
JOIN memory_mesh.memory t ON t.ns = l.ns AND t.number = l.target
WHERE s.status <> 'deleted' AND t.status <> 'deleted';

CREATE VIEW neolata.pending_conflicts WITH (security_invoker = true) AS
SELECT
    c.id,
    neolata.agent_of(n) AS agent_id,
    a.id AS new_id,
    b.id AS existing_id,
    c.new_trust,
    c.existing_trust,
    n.claim::jsonb AS new_claim,
    e.claim::jsonb AS existing_claim,
    c.reason,
    neolata.moment(c.created) AS created_at,
    neolata.moment(c.resolved) AS resolved_at,
    c.resolution,
    c.why
FROM memory_mesh.conflict c
JOIN memory_mesh.memory a ON a.ns = c.ns AND a.number = c.new
JOIN memory_mesh.memory b ON b.ns = c.ns AND b.number = c.existing
JOIN memory_mesh.version n ON n.ns = c.ns AND n.memory = c.new AND n.recorded_until IS NULL
JOIN memory_mesh.version e ON e.ns = c.ns AND e.memory = c.existing AND e.recorded_until IS NULL
WHERE c.resolution IS NULL AND n.status <> 'deleted' AND e.status <> 'deleted';

CREATE VIEW neolata.episodes WITH (security_invoker = true) AS
SELECT
    m.id,
    neolata.agent_of(v) AS agent_id,
    t.content AS title,
    neolata.moment(p.started) AS started,
    neolata.moment(p.ended) AS ended,
    coalesce(p.memory_ids, '{}'::text[]) AS memory_ids,
    neolata.moment(m.created) AS created_at
FROM memory_mesh.version v
JOIN memory_mesh.memory m ON m.ns = v.ns AND m.number = v.memory
JOIN memory_mesh.text t ON t.ns = v.ns AND t.number = v.text
LEFT JOIN LATERAL (
    SELECT
        min(coalesce(o.occurred_at, i.created)) AS started,
        max(coalesce(o.occurred_at, i.created)) AS ended,
        array_agg(i.id::text ORDER BY
            coalesce(o.occurred_at, i.created), coalesce(o.ord, 0), i.created, i.id) AS memory_ids
    FROM memory_mesh.link l
    JOIN memory_mesh.memory i ON i.ns = l.ns AND i.number = l.source
    JOIN memory_mesh.version o
        ON o.ns = l.ns AND o.memory = l.source AND neolata.is_current(o)
    WHERE l.ns = v.ns AND l.target = v.memory AND l.type = 'part_of' AND neolata.seen_from(v, o)
) p ON true
WHERE v.label = 'episode' AND neolata.is_current(v);

-- The memories that links hold together, each with the first of its group. Those of sessions have
-- no part in it, as in a graph that has none; the newest 50,000 links are read.
CREATE FUNCTION neolata.linked_groups()
RETURNS TABLE (leader bigint, memory bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    members bigint[];
    sources integer[];
    targets integer[];
    leads integer[]; -- of each member another of its group, or itself
    one integer;
    other integer;
BEGIN
    WITH held AS (
        SELECT l.source, l.target FROM memory_mesh.link l
        JOIN memory_mesh.version s ON s.ns = l.ns AND s.memory = l.source
        JOIN memory_mesh.version t ON t.ns = l.ns AND t.memory = l.target
        WHERE (l.similarity IS NULL OR l.similarity >= 0.7)
            AND neolata.is_current(s) AND neolata.is_current(t)
            AND s.session IS NULL AND t.session IS NULL
        ORDER BY l.source DESC, l.target DESC LIMIT 50000
    ), ends AS (
        SELECT e.number, row_number() OVER (ORDER BY e.number)::integer AS place
        FROM (SELECT source FROM held UNION SELECT target FROM held) e (number)
    )
    SELECT (SELECT array_agg(e.number ORDER BY e.place) FROM ends e),
        array_agg(a.place), array_agg(b.place)
    INTO members, sources, targets
    FROM held h JOIN ends a ON a.number = h.source JOIN ends b ON b.number = h.target;
    leads := ARRAY(SELECT generate_series(1, cardinality(members)));
    FOR link IN 1..coalesce(cardinality(sources), 0) LOOP
        one := sources[link];
        other := targets[link];
        WHILE leads[one] <> one LOOP
            leads[one] := leads[leads[one]];
            one := leads[one];
        END LOOP;
        WHILE leads[other] <> other LOOP
            leads[other] := leads[leads[other]];
            other := leads[other];
        END LOOP;
        leads[greatest(one, other)] := least(one, other);
    END LOOP;
    FOR place IN 1..coalesce(cardinality(members), 0) LOOP
        leads[place] := leads[leads[place]]; -- each leads to a smaller one, which is done
        leader := members[leads[place]];
        memory := members[place];
        RETURN NEXT;
    END LOOP;
END
$$;

-- A cluster is named by up to four stems that many of its texts have and few of the others, as
-- policy.clusters says; that shows a stem as the texts write it.
CREATE VIEW neolata.memory_clusters WITH (security_invoker = true) AS
WITH members AS (
    SELECT g.leader, m.id, neolata.agent_of(v) AS agent_id, v.recorded_from, t.terms
    FROM neolata.linked_groups() g
    JOIN memory_mesh.memory m ON m.number = g.memory
    JOIN memory_mesh.version v
        ON v.ns = m.ns AND v.memory = m.number AND v.recorded_until IS NULL
    JOIN memory_mesh.text t ON t.ns = v.ns AND t.number = v.text
), counted AS (
    SELECT e.leader, s.stem, count(*) AS texts
    FROM members e
    CROSS JOIN LATERAL (SELECT DISTINCT stem FROM string_to_table(e.terms, ' ') w (stem)) s
    WHERE s.stem ~ '[[:alpha:]]'
    GROUP BY e.leader, s.stem
), weighed AS (
    SELECT
        c.leader, c.stem, c.texts > 1 AS shared,
        bool_or(c.texts > 1) OVER (PARTITION BY c.leader) AS any_shared,
        c.texts * ln(
            ((SELECT count(*) FROM members) + 1)::double precision
            / sum(c.texts) OVER (PARTITION BY c.stem)::double precision
        ) AS worth
    FROM counted c
), named AS (
    SELECT
        w.leader, w.stem,
        row_number() OVER (PARTITION BY w.leader ORDER BY w.worth DESC, w.stem) AS place
    FROM weighed w
    WHERE w.shared OR NOT w.any_shared
), labels AS (
    SELECT n.leader, array_agg(n.stem ORDER BY n.place) AS terms
    FROM named n WHERE n.place <= 4 GROUP BY n.leader
)
SELECT
    'cluster_' || min(e.id) AS id,
    CASE WHEN count(DISTINCT e.agent_id) = 1 AND count(e.agent_id) = count(*)
        THEN min(e.agent_id) END AS agent_id,
    coalesce(array_to_string(l.terms, ', '), '') AS label,
    coalesce(l.terms, '{}'::text[]) AS terms,
    array_agg(e.id::text ORDER BY e.id) AS memory_ids,
    count(*) AS size,
    neolata.moment(max(e.recorded_from)) AS updated_at
FROM members e LEFT JOIN labels l ON l.leader = e.leader
GROUP BY e.leader, l.terms;

-- The nearest active memories by the cosine of their best part, in the newest space whose vectors
-- are as long as the one asked with; without an agent those of all. Memories of sessions stay out.
CREATE FUNCTION neolata.search_memories_semantic(
    query_embedding public.vector,
    agent_filter text DEFAULT NULL,
    match_count integer DEFAULT 10,
    similarity_threshold double precision DEFAULT 0
)
RETURNS TABLE (
    id text, agent_id text, content text, category text, tags text[], embedding public.vector,
    importance double precision, access_count bigint, created_at timestamptz,
    updated_at timestamptz, claim jsonb, provenance jsonb, confidence double precision,
    status text, quarantine text, reinforcements bigint, disputes bigint, superseded_by text,
    supersedes text[], similarity double precision
)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH scored AS (
        SELECT v.memory, max(1 - (x.data OPERATOR(public.<=>) query_embedding)) AS similarity
        FROM memory_mesh.vector x
        JOIN memory_mesh.version v ON v.ns = x.ns AND v.text = x.text
        WHERE x.space = (
                SELECT max(s.number) FROM memory_mesh.space s
                WHERE s.dimension = public.vector_dims(query_embedding)
            )
            AND neolata.is_current(v) AND v.session IS NULL
            AND (agent_filter IS NULL OR neolata.agent_of(v) = agent_filter)
        GROUP BY v.memory
    ), best AS (
        SELECT s.memory, s.similarity FROM scored s
        WHERE s.similarity >= similarity_threshold AND s.similarity <> 'NaN'
        ORDER BY s.similarity DESC, s.memory DESC LIMIT match_count
    )
    SELECT e.*, b.similarity
    FROM best b
    JOIN memory_mesh.memory m ON m.number = b.memory
    JOIN neolata.memories e ON e.id = m.id
    ORDER BY b.similarity DESC, b.memory DESC;
END;

CREATE FUNCTION neolata.search_memories_global(
    query_embedding public.vector,
    match_count integer DEFAULT 10,
    similarity_threshold double precision DEFAULT 0
)
RETURNS TABLE (
    id text, agent_id text, content text, category text, tags text[], embedding public.vector,
    importance double precision, access_count bigint, created_at timestamptz,
    updated_at timestamptz, claim jsonb, provenance jsonb, confidence double precision,
    status text, quarantine text, reinforcements bigint, disputes bigint, superseded_by text,
    supersedes text[], similarity double precision
)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT * FROM neolata.search_memories_semantic(
        query_embedding, NULL, match_count, similarity_threshold);
END;

GRANT USAGE ON SCHEMA neolata TO memory_mesh_app;
GRANT SELECT ON ALL TABLES IN SCHEMA neolata TO memory_mesh_app;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA neolata FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA neolata TO memory_mesh_app;
