-- The tables of one database with any number of namespaces.
--
-- Every table has the columns of the SQLite ledger, and `ns`, the number of the namespace, as its
-- last one. A statement names no namespace: row-level security adds it, and the default of `ns`
-- fills it in. The names below are in the schema that this file is run in.

CREATE TABLE namespace (
    ns bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    identity text COLLATE "C" UNIQUE -- that of its row in `store`, which only it may read
);

CREATE TABLE secret (
    one smallint PRIMARY KEY CHECK (one = 1),
    inner_pad bytea NOT NULL,
    outer_pad bytea NOT NULL
);

CREATE TABLE erased (
    identity text COLLATE "C" PRIMARY KEY
);

CREATE SEQUENCE numbers;

CREATE TABLE store (
    one smallint NOT NULL DEFAULT 1,
    namespace text COLLATE "C" NOT NULL,
    min_reader bigint NOT NULL,
    min_writer bigint NOT NULL,
    seq bigint NOT NULL,
    recorded bigint NOT NULL,
    position bigint NOT NULL,
    head bytea NOT NULL,
    identity text COLLATE "C" NOT NULL,
    analyzer bigint NOT NULL DEFAULT 0,
    old_texts bigint NOT NULL DEFAULT 0,
    old_skills bigint NOT NULL DEFAULT 0,
    ns bigint NOT NULL,
    PRIMARY KEY (ns)
) PARTITION BY HASH (ns);

CREATE TABLE memory (
    number bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    uses bigint NOT NULL DEFAULT 0,
    last_used bigint,
    helpful bigint NOT NULL DEFAULT 0,
    harmful bigint NOT NULL DEFAULT 0,
    usefulness double precision NOT NULL DEFAULT 1.0,
    reinforcements bigint NOT NULL DEFAULT 0,
    disputes bigint NOT NULL DEFAULT 0,
    origins bigint NOT NULL DEFAULT 1,
    idle_reinforcements bigint NOT NULL DEFAULT 0,
    idle_disputes bigint NOT NULL DEFAULT 0,
    other_steps bigint NOT NULL DEFAULT 0,
    crc bigint,
    tally bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);

CREATE TABLE text (
    number bigint NOT NULL,
    memory bigint NOT NULL,
    content text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    terms text COLLATE "C" NOT NULL,
    echo bytea,
    crc bigint,
    hash_key bytea GENERATED ALWAYS AS (substr(hash, 1, 3)) STORED,
    echo_key bytea GENERATED ALWAYS AS (substr(echo, 1, 3)) STORED,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number)
) PARTITION BY HASH (ns);
CREATE INDEX text_hash ON text (ns, hash_key);
CREATE INDEX text_echo ON text (ns, echo_key) WHERE echo IS NOT NULL;

CREATE TABLE version (
    number bigint NOT NULL,
    memory bigint NOT NULL,
    text bigint NOT NULL,
    seq bigint NOT NULL,
    recorded_from bigint NOT NULL,
    recorded_until bigint,
    status text COLLATE "C" NOT NULL,
    successor text COLLATE "C",
    kind text COLLATE "C" NOT NULL,
    label text COLLATE "C",
    project text COLLATE "C",
    agent text COLLATE "C",
    session text COLLATE "C",
    ord bigint,
    speaker text COLLATE "C",
    role text COLLATE "C",
    occurred_at bigint,
    valid_from bigint,
    valid_until bigint,
    source_kind text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    source_agent text COLLATE "C",
    source_ref text COLLATE "C",
    importance double precision,
    confidence double precision,
    tier text COLLATE "C" NOT NULL,
    pinned bigint NOT NULL,
    tags text COLLATE "C" NOT NULL,
    extra text COLLATE "C" NOT NULL,
    lesson text COLLATE "C",
    pattern text COLLATE "C",
    severity bigint,
    rule_confidence double precision,
    heritage text COLLATE "C",
    skill text COLLATE "C",
    claim text COLLATE "C",
    subject text COLLATE "C",
    predicate text COLLATE "C",
    source_stated bigint,
    triggers text COLLATE "C" NOT NULL DEFAULT '[]',
    reasons text COLLATE "C" NOT NULL DEFAULT '[]',
    crc bigint,
    audience bigint,
    speaker_key text COLLATE "C" GENERATED ALWAYS AS (lower(speaker)) STORED,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    CHECK (recorded_until IS NULL OR recorded_until > recorded_from)
) PARTITION BY HASH (ns);
CREATE UNIQUE INDEX version_open ON version (ns, memory) WHERE recorded_until IS NULL;
CREATE INDEX version_text ON version (ns, text);
CREATE INDEX version_memory ON version (ns, memory, recorded_from);
CREATE INDEX version_session ON version (ns, session, ord) WHERE session IS NOT NULL;
CREATE INDEX version_speaker ON version (ns, speaker_key, number) WHERE speaker_key IS NOT NULL;
CREATE INDEX version_triggers ON version (ns, memory)
    WHERE triggers <> '[]' AND recorded_until IS NULL AND status = 'active';
CREATE INDEX version_valid_from ON version (ns, valid_from)
    WHERE valid_from IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_valid_until ON version (ns, valid_until)
    WHERE valid_until IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_pattern ON version (ns, pattern)
    WHERE pattern IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_severity ON version (ns, severity, number)
    WHERE severity IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_claim ON version (ns, subject, predicate)
    WHERE subject IS NOT NULL AND recorded_until IS NULL AND status = 'active';
CREATE INDEX version_waiting ON version (ns, status, number)
    WHERE status IN ('quarantined', 'disputed') AND recorded_until IS NULL;
CREATE INDEX version_origin ON version (ns, source_ref)
    WHERE source_ref IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_label ON version (ns, label, memory)
    WHERE label IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_pinned ON version (ns, memory)
    WHERE pinned = 1 AND recorded_until IS NULL;
CREATE INDEX version_audience ON version (ns, audience, recorded_until, status, text);

CREATE TABLE observation (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    memory bigint NOT NULL,
    at bigint NOT NULL,
    hash bytea NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    reasons text COLLATE "C" NOT NULL DEFAULT '[]',
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number)
) PARTITION BY HASH (ns);
CREATE UNIQUE INDEX observation_key ON observation (ns, key) WHERE key IS NOT NULL;
CREATE INDEX observation_memory ON observation (ns, memory);

CREATE TABLE link (
    source bigint NOT NULL,
    target bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    similarity double precision,
    at bigint,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, source, target, type)
) PARTITION BY HASH (ns);
CREATE INDEX link_target ON link (ns, target);

CREATE TABLE recall (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    id text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    at bigint NOT NULL,
    memories text COLLATE "C" NOT NULL,
    wire text COLLATE "C",
    metadata text COLLATE "C" NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX recall_at ON recall (ns, at);

CREATE TABLE space (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    name text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    revision text COLLATE "C" NOT NULL,
    dimension bigint NOT NULL,
    max_tokens bigint NOT NULL,
    normalised bigint NOT NULL,
    query_prefix text COLLATE "C" NOT NULL,
    text_prefix text COLLATE "C" NOT NULL,
    reached bigint NOT NULL DEFAULT 0,
    body_version bigint,
    body_highest bigint,
    body_rows bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, name)
) PARTITION BY HASH (ns);

CREATE TABLE vector (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    text bigint NOT NULL,
    space bigint NOT NULL,
    part bigint NOT NULL,
    seq bigint NOT NULL,
    data public.vector NOT NULL,
    start bigint,
    stop bigint,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, text, space, part)
) PARTITION BY HASH (ns);

CREATE TABLE wordless (
    text bigint NOT NULL,
    space bigint NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, text, space)
) PARTITION BY HASH (ns);

CREATE TABLE sink (
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    attempts bigint NOT NULL,
    at bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, name)
) PARTITION BY HASH (ns);

CREATE TABLE dead_letter (
    sink text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    failure text COLLATE "C" NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, sink, seq)
) PARTITION BY HASH (ns);

CREATE TABLE skill (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    intent text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    tags text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    terms text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    session text COLLATE "C",
    source_kind text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    source_agent text COLLATE "C",
    source_ref text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    reliability double precision NOT NULL,
    uses bigint NOT NULL,
    last_used bigint,
    created bigint NOT NULL,
    extra text COLLATE "C" NOT NULL,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX skill_name ON skill (ns, name);
CREATE INDEX skill_reliability ON skill (ns, reliability) WHERE status = 'active';

CREATE TABLE skill_vector (
    skill bigint NOT NULL,
    space bigint NOT NULL,
    data bytea NOT NULL,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, skill, space)
) PARTITION BY HASH (ns);

CREATE TABLE predicate (
    name text COLLATE "C" NOT NULL,
    cardinality text COLLATE "C" NOT NULL,
    conflict_policy text COLLATE "C" NOT NULL,
    normalize text COLLATE "C" NOT NULL,
    dedup_policy text COLLATE "C" NOT NULL,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, name)
) PARTITION BY HASH (ns);

CREATE TABLE conflict (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    new bigint NOT NULL,
    existing bigint NOT NULL,
    new_trust double precision NOT NULL,
    existing_trust double precision NOT NULL,
    reason text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    resolved bigint,
    resolution text COLLATE "C",
    why text COLLATE "C",
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX conflict_pending ON conflict (ns, number) WHERE resolution IS NULL;
CREATE INDEX conflict_new ON conflict (ns, new);
CREATE INDEX conflict_existing ON conflict (ns, existing);

CREATE TABLE tombstone (
    digest bytea NOT NULL,
    at bigint NOT NULL,
    why text COLLATE "C" NOT NULL,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, digest)
) PARTITION BY HASH (ns);

CREATE TABLE session_write (
    session text COLLATE "C" NOT NULL,
    project text COLLATE "C",
    agent text COLLATE "C",
    at bigint NOT NULL,
    ns bigint NOT NULL
) PARTITION BY HASH (ns);
CREATE INDEX session_write_audience ON session_write (ns, session, project, agent, at);
CREATE INDEX session_write_at ON session_write (ns, at);

CREATE TABLE proposal (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    verb text COLLATE "C" NOT NULL,
    memory bigint NOT NULL,
    change text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    source_kind text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    source_agent text COLLATE "C",
    source_ref text COLLATE "C",
    created bigint NOT NULL,
    decided bigint,
    approved bigint,
    why text COLLATE "C",
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX proposal_pending ON proposal (ns, number) WHERE decided IS NULL;
CREATE INDEX proposal_memory ON proposal (ns, memory);

CREATE TABLE state (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, name)
) PARTITION BY HASH (ns);

CREATE TABLE injection (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    by_agent text COLLATE "C",
    project text COLLATE "C",
    agent text COLLATE "C",
    session text COLLATE "C",
    question text COLLATE "C" NOT NULL,
    format text COLLATE "C" NOT NULL,
    fence text COLLATE "C" NOT NULL,
    tokens bigint NOT NULL,
    max_tokens bigint NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number),
    UNIQUE (ns, id),
    CHECK (tokens <= max_tokens)
) PARTITION BY HASH (ns);
CREATE INDEX injection_at ON injection (ns, at);

CREATE TABLE injected (
    injection bigint NOT NULL,
    place bigint NOT NULL,
    memory bigint NOT NULL,
    recorded bigint NOT NULL,
    section text COLLATE "C" NOT NULL,
    tokens bigint NOT NULL,
    score double precision,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, injection, place),
    FOREIGN KEY (ns, injection) REFERENCES injection (ns, number) ON DELETE CASCADE
) PARTITION BY HASH (ns);
CREATE INDEX injected_memory ON injected (ns, memory);

CREATE TABLE block (
    position bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    at bigint NOT NULL,
    memories text COLLATE "C" NOT NULL,
    wire bytea,
    salt bytea,
    erased bigint NOT NULL DEFAULT 0,
    metadata bytea,
    digest bytea NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, position),
    UNIQUE (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX block_seq ON block (ns, seq);
CREATE INDEX block_about ON block (ns, memories);

CREATE TABLE audience (
    number bigint NOT NULL DEFAULT nextval('numbers'),
    project text COLLATE "C",
    agent text COLLATE "C",
    session text COLLATE "C",
    memories bigint NOT NULL DEFAULT 0,
    crc bigint,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, number)
) PARTITION BY HASH (ns);
CREATE INDEX audience_parts ON audience (ns, project, agent, session);

CREATE TABLE metadata_mark (
    mark bigint NOT NULL,
    memory bigint NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, mark, memory)
) PARTITION BY HASH (ns);

-- Words: `shelf` is live or rest, as the two keyword tables of SQLite are, or skill.
CREATE TABLE posting (
    shelf text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    holder bigint NOT NULL, -- the number of the text or skill
    places smallint[] NOT NULL, -- where the word stands in it
    length integer NOT NULL, -- how many words it has
    ns bigint NOT NULL,
    PRIMARY KEY (ns, shelf, word, holder)
) PARTITION BY HASH (ns);

CREATE TABLE word_count (
    shelf text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    holders bigint NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, shelf, word)
) PARTITION BY HASH (ns);

CREATE TABLE shelf_size (
    shelf text COLLATE "C" NOT NULL,
    holders bigint NOT NULL,
    words bigint NOT NULL,
    ns bigint NOT NULL,
    PRIMARY KEY (ns, shelf)
) PARTITION BY HASH (ns);

-- Who may see which namespace: a process shows a capability, the keyed digest of the namespace's
-- name, once in each transaction. What `enter` then sets cannot be made by anybody without the key,
-- and holds in this transaction of this connection only.

CREATE FUNCTION keyed(message text) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT sha256(outer_pad || sha256(inner_pad || convert_to(message, 'UTF8')))
    FROM memory_mesh.secret
$$;

CREATE FUNCTION must_open(message text, capability bytea, refusal text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (memory_mesh.keyed(message) = capability) IS NOT TRUE THEN -- also where one is missing
        RAISE insufficient_privilege USING MESSAGE = refusal;
    END IF;
END
$$;

CREATE FUNCTION entered(entered_ns text) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT memory_mesh.keyed(concat_ws(
        ' ', 'entered', entered_ns, pg_backend_pid(), extract(epoch FROM transaction_timestamp())
    ))
$$;

-- The namespace that this transaction has entered, or NULL. Policies take the number from here,
-- once for each statement: one that read the setting again for each row would follow a statement
-- that changes the setting while it runs.
CREATE FUNCTION entered_ns() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE claimed text := current_setting('memory_mesh.ns', true);
BEGIN
    IF encode(memory_mesh.entered(claimed), 'hex') = current_setting('memory_mesh.tag', true) THEN
        RETURN claimed::bigint;
    END IF;
    RETURN NULL;
END
$$;

-- Takes away what SQL prepared in this session: drivers prepare by other means, and a statement
-- that stands under the name of one of theirs would be run in the next namespace.
CREATE FUNCTION forget_prepared() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE statement_name text;
BEGIN
    FOR statement_name IN SELECT p.name FROM pg_prepared_statements p WHERE p.from_sql LOOP
        EXECUTE format('DEALLOCATE %I', statement_name);
    END LOOP;
END
$$;

CREATE FUNCTION enter(name_of text, capability bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE found_ns bigint;
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    PERFORM memory_mesh.forget_prepared();
    SELECT n.ns INTO found_ns FROM memory_mesh.namespace n WHERE n.name = name_of;
    PERFORM set_config('memory_mesh.ns', coalesce(found_ns::text, ''), true);
    PERFORM set_config('memory_mesh.tag', CASE WHEN found_ns IS NULL THEN ''
        ELSE encode(memory_mesh.entered(found_ns::text), 'hex') END, true);
    RETURN found_ns;
END
$$;

CREATE FUNCTION begin_namespace(name_of text, capability bytea, first_head bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    INSERT INTO memory_mesh.namespace (name) VALUES (name_of) ON CONFLICT DO NOTHING;
    PERFORM memory_mesh.enter(name_of, capability);
    INSERT INTO memory_mesh.store
        (namespace, min_reader, min_writer, seq, recorded, position, head, identity)
    VALUES (name_of, 1, 1, 0, 0, 0, first_head, replace(gen_random_uuid()::text, '-', ''))
    ON CONFLICT DO NOTHING;
    RETURN current_setting('memory_mesh.ns')::bigint;
END
$$;

CREATE FUNCTION note_identity() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE memory_mesh.namespace SET identity = NEW.identity WHERE ns = NEW.ns;
    RETURN NULL;
END
$$;
CREATE TRIGGER identity_of_store AFTER INSERT OR UPDATE OF identity ON store
    FOR EACH ROW EXECUTE FUNCTION note_identity();

CREATE FUNCTION numbers_after(highest bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF memory_mesh.entered_ns() IS NULL OR highest >= 4611686018427387904 THEN
        RAISE insufficient_privilege USING MESSAGE = 'numbers are moved from inside a namespace';
    END IF;
    IF highest > (SELECT last_value FROM memory_mesh.numbers) THEN
        PERFORM setval('memory_mesh.numbers', highest);
    END IF;
END
$$;

-- Deletes the namespace that was entered, and notes its identity: no archive brings it back.
CREATE FUNCTION erase_namespace() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    erased_ns bigint := memory_mesh.entered_ns();
    held bigint;
    table_name text;
BEGIN
    IF erased_ns IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no namespace was entered';
    END IF;
    INSERT INTO memory_mesh.erased (identity)
        SELECT n.identity FROM memory_mesh.namespace n WHERE n.ns = erased_ns
        ON CONFLICT DO NOTHING;
    SELECT count(*) INTO held FROM memory_mesh.memory WHERE ns = erased_ns;
    FOR table_name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'memory_mesh'::regnamespace AND c.relkind = 'p'
        ORDER BY c.relname = 'injection'
    LOOP
        EXECUTE format('DELETE FROM memory_mesh.%I WHERE ns = $1', table_name) USING erased_ns;
    END LOOP;
    DELETE FROM memory_mesh.namespace WHERE ns = erased_ns;
    RETURN held;
END
$$;

CREATE FUNCTION is_erased(sought text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT 1 FROM memory_mesh.erased WHERE identity = sought)
$$;

CREATE FUNCTION has_identity(sought text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT 1 FROM memory_mesh.namespace WHERE identity = sought)
$$;

CREATE FUNCTION names_after(capability bytea, after text, most bigint) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    RETURN QUERY
        SELECT n.name FROM memory_mesh.namespace n WHERE n.name > after ORDER BY n.name LIMIT most;
END
$$;

-- As SQLite has them, so that both ledgers read JSON with the same words.

-- `atom` is the value of a number.
CREATE FUNCTION json_each(
    given text, OUT key text, OUT value text, OUT type text, OUT atom numeric
)
RETURNS SETOF record LANGUAGE sql IMMUTABLE
AS $$
    SELECT e.key, e.value #>> '{}', CASE json_typeof(e.value)
        WHEN 'string' THEN 'text' WHEN 'boolean' THEN e.value::text
        WHEN 'number' THEN CASE WHEN e.value::text ~ '[.eE]' THEN 'real' ELSE 'integer' END
        ELSE json_typeof(e.value) END,
        CASE WHEN json_typeof(e.value) = 'number' THEN (e.value #>> '{}')::numeric END
    FROM (
        SELECT (n - 1)::text AS key, v AS value
        FROM json_array_elements(CASE WHEN left(given, 1) = '[' THEN given::json ELSE '[]' END)
            WITH ORDINALITY a (v, n)
        UNION ALL
        SELECT o.key, o.value
        FROM json_each(CASE WHEN left(given, 1) = '{' THEN given::json ELSE '{}' END) o
    ) e
$$;

CREATE FUNCTION max(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT greatest(one, other) $$;
CREATE FUNCTION min(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT least(one, other) $$;

CREATE FUNCTION json_extract(given text, path text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT given::json #>> string_to_array(replace(replace(substr(path, 3), ']', ''), '[', ''), '.')
$$;

-- A plan must suit namespaces of every size, and is made once for a connection, maybe when tables
-- are empty. So it takes each namespace for large, and nearly every row for one in use: it looks rows
-- up by what a statement names, and never reads a whole namespace for a few. Statistics tell it so:
-- they are gathered from rows that are removed below. Those of `ns` are never gathered anew.
CREATE FUNCTION plan_for_large(of_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    columns text;
    made text;
    usual text; -- columns that most often are NULL, or the same
    part regclass;
    parts regclass[] := ARRAY(
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = of_table);
BEGIN
    SELECT string_agg(quote_ident(c.attname), ', ' ORDER BY c.attnum),
        string_agg(CASE
            WHEN c.attname = 'ns' THEN 'n'
            WHEN NOT c.attnotnull THEN format('NULL::%s', c.type)
            WHEN c.type IN ('text', 'bytea') THEN format('''''::%s', c.type)
            WHEN c.type = 'smallint[]' THEN '''{}''::smallint[]'
            WHEN c.type LIKE '%vector' THEN format('''[0]''::%s', c.type)
            ELSE format('0::%s', c.type) END, ', ' ORDER BY c.attnum),
        string_agg(quote_ident(c.attname), ', ')
            FILTER (WHERE NOT c.attnotnull OR c.attname IN ('ns', 'status'))
    INTO columns, made, usual
    FROM (SELECT *, format_type(atttypid, atttypmod) AS type FROM pg_attribute) c
    WHERE c.attrelid = of_table AND c.attnum > 0 AND c.attgenerated = '' AND NOT c.attisdropped;
    EXECUTE format(
        'INSERT INTO %s (%s) SELECT %s FROM generate_series(1, 200) n', of_table, columns, made);
    EXECUTE format('ALTER TABLE %s ALTER ns SET (n_distinct_inherited = 1)', of_table);
    FOREACH part IN ARRAY parts LOOP
        EXECUTE format('ALTER TABLE %s ALTER ns SET (n_distinct = 1)', part);
    END LOOP;
    EXECUTE format('ANALYZE %s (%s)', of_table, usual);
    FOREACH part IN ARRAY parts || of_table LOOP
        EXECUTE format('ALTER TABLE %s ALTER ns SET STATISTICS 0', part);
    END LOOP;
END
$$;

-- Every table and every partition has the policy; only the tables may be used. Those without `ns`
-- are read by the functions above and by nobody else, whatever rights are given later.
DO $$
DECLARE
    table_name text;
    part integer;
BEGIN
    FOR table_name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'memory_mesh'::regnamespace AND c.relkind = 'p'
        ORDER BY c.oid
    LOOP
        FOR part IN 0..current_setting('memory_mesh.partitions')::integer - 1 LOOP
            EXECUTE format(
                'CREATE TABLE memory_mesh.%I PARTITION OF memory_mesh.%I '
                'FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                table_name || '_' || part, table_name,
                current_setting('memory_mesh.partitions'), part);
        END LOOP;
        PERFORM memory_mesh.plan_for_large(format('memory_mesh.%I', table_name)::regclass);
        EXECUTE format(
            'ALTER TABLE memory_mesh.%I ALTER ns SET DEFAULT '
            'current_setting(''memory_mesh.ns'')::bigint', table_name);
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON memory_mesh.%I TO memory_mesh_app',
            table_name);
    END LOOP;
    EXECUTE (
        SELECT 'TRUNCATE ' || string_agg(c.oid::regclass::text, ', ') FROM pg_class c
        WHERE c.relnamespace = 'memory_mesh'::regnamespace AND c.relkind = 'p');
    FOR table_name IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'memory_mesh'::regnamespace
            AND c.relkind IN ('p', 'r') AND a.attname = 'ns' AND c.relname <> 'namespace'
    LOOP
        EXECUTE format('ALTER TABLE memory_mesh.%I ENABLE ROW LEVEL SECURITY', table_name);
        EXECUTE format('ALTER TABLE memory_mesh.%I FORCE ROW LEVEL SECURITY', table_name);
        EXECUTE format(
            'CREATE POLICY of_the_namespace ON memory_mesh.%I '
            'USING (ns = (SELECT memory_mesh.entered_ns()))', table_name);
    END LOOP;
END
$$;

ALTER TABLE namespace ENABLE ROW LEVEL SECURITY;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration ENABLE ROW LEVEL SECURITY;
ALTER TABLE erased ENABLE ROW LEVEL SECURITY;

-- EXPLAIN tells what the planner thinks of a value, and so whether it is among those sampled from
-- all namespaces. No samples are kept of texts, but of those that are words of ours.
DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'memory_mesh'::regnamespace AND c.relkind = 'p' AND a.attnum > 0
            AND a.atttypid IN ('text'::regtype, 'bytea'::regtype, 'public.vector'::regtype)
            AND a.attname NOT IN (
                'shelf', 'status', 'kind', 'source_kind', 'channel', 'tier', 'outcome', 'type',
                'operation', 'verb', 'resolution', 'format', 'cardinality', 'conflict_policy',
                'normalize', 'dedup_policy')
    LOOP
        EXECUTE format(
            'ALTER TABLE memory_mesh.%I ALTER %I SET STATISTICS 0', held.relname, held.attname);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA memory_mesh TO memory_mesh_app;
GRANT USAGE ON SEQUENCE numbers TO memory_mesh_app;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA memory_mesh FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enter, begin_namespace, names_after, entered_ns, numbers_after,
    erase_namespace, is_erased, has_identity,
    memory_mesh.json_each (text), json_extract, max (bigint, bigint), min (bigint, bigint)
    TO memory_mesh_app;
