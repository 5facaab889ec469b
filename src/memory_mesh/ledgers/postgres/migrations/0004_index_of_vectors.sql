-- An index of the vectors of a large namespace, so that a search does not compare them all.
--
-- Each space of each namespace has a table of its own, `near_<ns>_<space>`, with numbers and vectors
-- of half precision under an HNSW index: what others store makes it neither larger nor slower. It
-- holds the vectors up to `body_highest` of its space; those above are compared one by one. Searches
-- take texts and exact cosines from `vector`, and read both in one moment.

CREATE FUNCTION near_table(space_number bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE of_ns bigint := memory_mesh.entered_ns();
BEGIN
    IF of_ns IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no namespace was entered';
    END IF;
    RETURN format('near_%s_%s', of_ns, space_number);
END
$$;

-- Whether this pgvector looks on when a filter hides what it found, and indexes so many dimensions.
CREATE FUNCTION can_index(dimension bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT dimension BETWEEN 1 AND 4000 AND EXISTS (
        SELECT 1 FROM pg_extension WHERE extname = 'vector'
            AND string_to_array(substring(extversion FROM '^[0-9]+\.[0-9]+'), '.')::integer[]
                >= ARRAY[0, 8])
$$;

CREATE FUNCTION begin_index(space_number bigint, dimension bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE near_name text := memory_mesh.near_table(space_number);
BEGIN
    EXECUTE format('DROP TABLE IF EXISTS memory_mesh.%I', near_name);
    EXECUTE format(
        'CREATE TABLE memory_mesh.%I (number bigint PRIMARY KEY, data public.halfvec(%s) NOT NULL)',
        near_name, dimension);
    EXECUTE format('REVOKE ALL ON memory_mesh.%I FROM PUBLIC', near_name);
    EXECUTE format('ALTER TABLE memory_mesh.%I ENABLE ROW LEVEL SECURITY', near_name);
    EXECUTE format(
        'CREATE INDEX ON memory_mesh.%I USING hnsw (data public.halfvec_ip_ops)', near_name);
END
$$;

-- Takes the next vectors of a space in, for about so many milliseconds, and returns the index as it
-- is then; no row where there can be none. The caller has locked the namespace, so nobody deletes a
-- vector meanwhile.
CREATE FUNCTION index_vectors(
    space_name text, milliseconds bigint, OUT version bigint, OUT highest bigint, OUT held bigint
)
RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_ns bigint := memory_mesh.entered_ns();
    of_space memory_mesh.space;
    next_one record;
    near_name text;
    ends timestamptz := clock_timestamp() + milliseconds * interval '1 millisecond';
BEGIN
    IF of_ns IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no namespace was entered';
    END IF;
    SELECT * INTO of_space FROM memory_mesh.space WHERE ns = of_ns AND name = space_name;
    IF NOT FOUND OR NOT memory_mesh.can_index(of_space.dimension) THEN
        RETURN;
    END IF;
    near_name := memory_mesh.near_table(of_space.number);
    version := of_space.body_version;
    highest := of_space.body_highest;
    held := of_space.body_rows;
    IF version IS NULL OR to_regclass('memory_mesh.' || near_name) IS NULL THEN
        PERFORM memory_mesh.begin_index(of_space.number, of_space.dimension);
        version := nextval('memory_mesh.numbers');
        highest := 0;
        held := 0;
    END IF;
    FOR next_one IN
        SELECT x.number, x.data FROM memory_mesh.vector x
        WHERE x.ns = of_ns AND x.space = of_space.number AND x.number > highest
        ORDER BY x.number LIMIT 1000
    LOOP
        EXECUTE format('INSERT INTO memory_mesh.%I VALUES ($1, $2::public.halfvec)', near_name)
            USING next_one.number, next_one.data;
        highest := next_one.number;
        held := held + 1;
        EXIT WHEN clock_timestamp() > ends;
    END LOOP;
    UPDATE memory_mesh.space SET body_version = version, body_highest = highest, body_rows = held
    WHERE ns = of_ns AND number = of_space.number AND (body_version, body_highest, body_rows)
        IS DISTINCT FROM (version, highest, held);
    RETURN NEXT;
END
$$;

-- The numbers of the nearest vectors in the index of a space, at most so many, in no exact order.
CREATE FUNCTION near(space_number bigint, asked public.vector, most bigint) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
DECLARE near_name text := memory_mesh.near_table(space_number);
BEGIN
    IF to_regclass('memory_mesh.' || near_name) IS NULL THEN
        RETURN; -- somebody dropped it: whoever asked compares the vectors one by one
    END IF;
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    PERFORM set_config('hnsw.ef_search', least(1000, greatest(800, 2 * most))::text, true);
    RETURN QUERY EXECUTE format(
        'SELECT number FROM memory_mesh.%I '
        'ORDER BY data OPERATOR(public.<#>) $1::public.halfvec LIMIT $2', near_name
    ) USING asked, most;
END
$$;

-- How many numbers an index lacks, has without a vector, or has with other values.
CREATE FUNCTION index_differs(space_number bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    near_name text := memory_mesh.near_table(space_number);
    differing bigint;
BEGIN
    IF to_regclass('memory_mesh.' || near_name) IS NULL THEN
        RETURN (SELECT s.body_rows FROM memory_mesh.space s
            WHERE s.ns = memory_mesh.entered_ns() AND s.number = space_number);
    END IF;
    EXECUTE format(
        'SELECT count(*) FROM (SELECT x.number, x.data FROM memory_mesh.vector x '
        'JOIN memory_mesh.space s ON s.ns = x.ns AND s.number = x.space '
        'WHERE x.ns = $1 AND x.space = $2 AND x.number <= s.body_highest) held '
        'FULL JOIN memory_mesh.%I n ON n.number = held.number '
        'WHERE held.number IS NULL OR n.number IS NULL '
        'OR n.data OPERATOR(public.<>) held.data::public.halfvec', near_name
    ) INTO differing USING memory_mesh.entered_ns(), space_number;
    RETURN differing;
END
$$;

-- A vector that is deleted leaves the index in the same transaction.
CREATE FUNCTION take_from_index() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_space record;
    taken bigint;
BEGIN
    FOR of_space IN
        SELECT s.ns, s.number, format('near_%s_%s', s.ns, s.number) AS near_name
        FROM memory_mesh.space s
        WHERE (s.ns, s.number) IN (SELECT g.ns, g.space FROM gone g)
    LOOP
        CONTINUE WHEN to_regclass('memory_mesh.' || of_space.near_name) IS NULL;
        EXECUTE format(
            'DELETE FROM memory_mesh.%I WHERE number IN (SELECT g.number FROM gone g '
            'WHERE g.ns = $1 AND g.space = $2)', of_space.near_name
        ) USING of_space.ns, of_space.number;
        GET DIAGNOSTICS taken = ROW_COUNT;
        UPDATE memory_mesh.space SET body_rows = body_rows - taken
        WHERE ns = of_space.ns AND number = of_space.number AND taken > 0;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER take_from_index AFTER DELETE ON vector REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION take_from_index();

-- The indexes of a namespace go with it.
CREATE FUNCTION drop_indexes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE near_name text;
BEGIN
    FOR near_name IN
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'memory_mesh'::regnamespace
            AND c.relkind = 'r' AND c.relname LIKE format('near\_%s\_%%', OLD.ns)
    LOOP
        EXECUTE format('DROP TABLE memory_mesh.%I', near_name);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER drop_indexes AFTER DELETE ON namespace
    FOR EACH ROW EXECUTE FUNCTION drop_indexes();

REVOKE EXECUTE ON FUNCTION near_table, can_index, begin_index, index_vectors, near, index_differs,
    take_from_index, drop_indexes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION index_vectors, near, index_differs TO memory_mesh_app;
