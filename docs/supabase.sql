-- The tables and functions that `supabase_storage` needs, with the names of neolata. Run it once in
-- the SQL editor of the project. An embedding has the length that your embedder's vectors have.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE memories (
    id text PRIMARY KEY,
    agent_id text NOT NULL,
    content text NOT NULL,
    category text,
    tags text[],
    embedding vector(384),
    importance double precision,
    access_count bigint,
    created_at timestamptz NOT NULL,
    updated_at timestamptz,
    claim jsonb,
    provenance jsonb,
    confidence double precision,
    status text DEFAULT 'active',
    quarantine text,
    reinforcements bigint,
    disputes bigint,
    superseded_by text,
    supersedes text[]
);
CREATE INDEX memories_of_agent ON memories (agent_id, id);
CREATE TABLE memory_archive (LIKE memories INCLUDING ALL);

CREATE TABLE memory_links (
    source_id text NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    target_id text NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    similarity double precision,
    created_at timestamptz,
    PRIMARY KEY (source_id, target_id)
);
CREATE INDEX memory_links_back ON memory_links (target_id);

CREATE TABLE pending_conflicts (
    id text,
    agent_id text,
    new_id text NOT NULL,
    existing_id text NOT NULL,
    new_trust double precision,
    existing_trust double precision,
    new_claim jsonb,
    existing_claim jsonb,
    reason text,
    created_at timestamptz,
    resolved_at timestamptz,
    resolution text,
    why text,
    PRIMARY KEY (agent_id, id)
);

CREATE TABLE episodes (
    id text,
    agent_id text,
    title text NOT NULL,
    started timestamptz,
    ended timestamptz,
    memory_ids text[],
    created_at timestamptz,
    PRIMARY KEY (agent_id, id)
);

CREATE TABLE memory_clusters (
    id text,
    agent_id text,
    label text,
    terms text[],
    memory_ids text[],
    size bigint,
    updated_at timestamptz,
    PRIMARY KEY (agent_id, id)
);

-- Without a policy only the service key reads and writes. Add policies for other keys.
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE pending_conflicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE episodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_clusters ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION search_memories_semantic(
    query_embedding vector, agent_filter text, match_count integer DEFAULT 10,
    similarity_threshold double precision DEFAULT 0
)
RETURNS TABLE (
    id text, agent_id text, content text, category text, tags text[],
    importance double precision, created_at timestamptz, updated_at timestamptz,
    confidence double precision, similarity double precision
)
LANGUAGE sql STABLE AS $$
    SELECT m.id, m.agent_id, m.content, m.category, m.tags, m.importance, m.created_at,
        m.updated_at, m.confidence, 1 - (m.embedding <=> query_embedding)
    FROM memories m
    WHERE m.status = 'active' AND (agent_filter IS NULL OR m.agent_id = agent_filter)
        AND 1 - (m.embedding <=> query_embedding) >= similarity_threshold
    ORDER BY m.embedding <=> query_embedding LIMIT match_count
$$;

CREATE FUNCTION search_memories_global(
    query_embedding vector, match_count integer DEFAULT 10,
    similarity_threshold double precision DEFAULT 0
)
RETURNS TABLE (
    id text, agent_id text, content text, category text, tags text[],
    importance double precision, created_at timestamptz, updated_at timestamptz,
    confidence double precision, similarity double precision
)
LANGUAGE sql STABLE AS $$
    SELECT * FROM search_memories_semantic(
        query_embedding, NULL, match_count, similarity_threshold)
$$;
