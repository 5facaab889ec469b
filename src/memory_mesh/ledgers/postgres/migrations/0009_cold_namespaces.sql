-- Namespaces that nobody uses lie as archives on object storage. Of each the database keeps its row in
-- `namespace`, with where the archive is; whoever enters it is told so, inside the transaction.
--
--   warm ── freeze_namespace: rows deleted, `cold` set, in one transaction ──▶ cold
--    ▲                                                                         │
--    └── begin_waking: the row is locked, `cold` cleared; rows come back ◀─────┘

ALTER TABLE namespace ADD COLUMN cold jsonb; -- object, sha256, bytes, memories and since when

CREATE TABLE cold_storage (
    one smallint PRIMARY KEY CHECK (one = 1),
    address text NOT NULL
);

-- Objects that no namespace needs, or not any more: noted before they are there, and removed at `at`.
-- A row outlives its namespace, or nobody would remove the object.
CREATE TABLE spare_object (
    object text COLLATE "C" PRIMARY KEY,
    ns bigint NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX spare_object_at ON spare_object (at);
CREATE INDEX spare_object_ns ON spare_object (ns);

ALTER TABLE cold_storage ENABLE ROW LEVEL SECURITY; -- as all below: for the functions alone
ALTER TABLE spare_object ENABLE ROW LEVEL SECURITY;
ALTER TABLE spare_object ALTER object SET STATISTICS 0; -- nothing of it in the planner's samples

-- When to look whether a namespace is still used; a look is an entry of the index, never a scan.
ALTER TABLE due ADD COLUMN idle_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX due_idle_at ON due (idle_at);

-- The number of a namespace that is there; whoever enters a cold one is told so.
CREATE FUNCTION warm(found memory_mesh.namespace) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF found.cold IS NOT NULL THEN
        RAISE SQLSTATE 'MMC01' USING DETAIL = found.name,
            MESSAGE = 'the namespace is cold: its archive lies on object storage';
    END IF;
    RETURN found.ns;
END
$$;

-- The line of `enter` that finds the namespace asks for it, in every form of `enter` that there is.
DO $$
DECLARE
    of_enter oid;
    body text;
    done integer := 0;
BEGIN
    FOR of_enter IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'memory_mesh'::regnamespace AND p.proname = 'enter'
    LOOP
        body := pg_get_functiondef(of_enter);
        CONTINUE WHEN strpos(body, 'SELECT n.ns INTO found_ns') = 0;
        EXECUTE replace(
            body, 'SELECT n.ns INTO found_ns', 'SELECT memory_mesh.warm(n) INTO found_ns');
        done := done + 1;
    END LOOP;
    ASSERT done > 0, 'no namespace could be told to be cold';
END
$$;

CREATE FUNCTION must_be_inside() RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF memory_mesh.entered_ns() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no namespace was entered';
    END IF;
    RETURN memory_mesh.entered_ns();
END
$$;

-- Notes an object of the namespace that was entered before it is written, so that one whose writer
-- was killed is removed; freezing takes the note back. Its name shows whose it is, so that nobody has
-- the object of another namespace removed, or takes it for theirs.
CREATE FUNCTION note_object(object_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_ns bigint := memory_mesh.must_be_inside();
    place text := (
        SELECT left(encode(memory_mesh.keyed('archives ' || n.name), 'hex'), 32)
        FROM memory_mesh.namespace n WHERE n.ns = of_ns);
BEGIN
    IF (object_name ~ format('(^|/)%s/[0-9a-f]{32}\.tar\.gz$', place)) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'this object is not one of the namespace';
    END IF;
    INSERT INTO memory_mesh.spare_object VALUES (object_name, of_ns, now() + interval '1 day');
END
$$;

-- Deletes the rows of the namespace that was entered, and says where its archive is.
CREATE FUNCTION freeze_namespace(archived jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_ns bigint := memory_mesh.must_be_inside();
    table_name text;
BEGIN
    DELETE FROM memory_mesh.spare_object WHERE object = archived ->> 'object' AND ns = of_ns;
    IF NOT FOUND THEN -- somebody took it for left over
        RAISE insufficient_privilege USING MESSAGE = 'this object was not noted';
    END IF;
    FOR table_name IN
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'memory_mesh'::regnamespace
            AND c.relkind = 'r' AND c.relname LIKE format('near\_%s\_%%', of_ns)
    LOOP
        EXECUTE format('DROP TABLE memory_mesh.%I', table_name);
    END LOOP;
    FOR table_name IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'memory_mesh'::regnamespace AND a.attname = 'ns'
            AND c.relkind IN ('p', 'r') AND NOT c.relispartition
            AND c.relname NOT IN ('namespace', 'spare_object')
        ORDER BY c.relname = 'injection'
    LOOP
        EXECUTE format('DELETE FROM memory_mesh.%I WHERE ns = $1', table_name) USING of_ns;
    END LOOP;
    UPDATE memory_mesh.namespace
    SET cold = archived || jsonb_build_object('since', to_char(
        now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    WHERE ns = of_ns;
END
$$;

-- Takes a cold namespace for the caller, who brings its rows back in this transaction: where its
-- archive is. NULL where it is not cold, or not any more: who comes second waits for the first.
CREATE FUNCTION begin_waking(
    name_of text, capability bytea, first_head bytea, keep_days bigint
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_ns bigint;
    archived jsonb;
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    SELECT n.ns, n.cold INTO of_ns, archived FROM memory_mesh.namespace n
        WHERE n.name = name_of FOR UPDATE;
    IF archived IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE memory_mesh.namespace SET cold = NULL WHERE ns = of_ns;
    INSERT INTO memory_mesh.spare_object
    VALUES (archived ->> 'object', of_ns, now() + keep_days * interval '1 day');
    INSERT INTO memory_mesh.due (ns, changed, at) VALUES (of_ns, now(), now());
    PERFORM memory_mesh.begin_namespace(name_of, capability, first_head);
    RETURN archived;
END
$$;

-- Deletes a cold namespace for good: how many memories its archive had; NULL where it is not cold.
CREATE FUNCTION erase_cold(name_of text, capability bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE of_namespace memory_mesh.namespace;
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    SELECT * INTO of_namespace FROM memory_mesh.namespace n WHERE n.name = name_of FOR UPDATE;
    IF of_namespace.cold IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO memory_mesh.erased (identity) VALUES (of_namespace.identity) ON CONFLICT DO NOTHING;
    DELETE FROM memory_mesh.namespace WHERE ns = of_namespace.ns;
    RETURN (of_namespace.cold ->> 'memories')::bigint;
END
$$;

-- With a namespace go its objects, those of before too.
CREATE FUNCTION spare_objects() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE memory_mesh.spare_object SET at = now() WHERE ns = OLD.ns;
    INSERT INTO memory_mesh.spare_object SELECT OLD.cold ->> 'object', OLD.ns, now()
        WHERE OLD.cold IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER spare_objects AFTER DELETE ON namespace
    FOR EACH ROW EXECUTE FUNCTION spare_objects();

-- Objects whose time has come, at most so many; with the name of one it is forgotten.
CREATE FUNCTION objects_to_remove(capability bytea, most bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    PERFORM memory_mesh.fence(NULL);
    RETURN QUERY SELECT s.object FROM memory_mesh.spare_object s WHERE s.at <= now()
        ORDER BY s.at LIMIT most;
END
$$;

CREATE FUNCTION object_removed(capability bytea, object_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    PERFORM memory_mesh.fence(NULL);
    DELETE FROM memory_mesh.spare_object WHERE object = object_name;
END
$$;

-- The next namespaces that nobody wrote to for so many days. Each is looked at again when it could be
-- idle for as long; one that is, tomorrow, unless it is cold then.
CREATE FUNCTION take_idle(capability bytea, days bigint, most bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    PERFORM memory_mesh.fence(NULL);
    RETURN QUERY
    WITH taken AS (
        SELECT t.ns FROM memory_mesh.due t WHERE t.idle_at <= now()
        ORDER BY t.idle_at LIMIT most FOR UPDATE SKIP LOCKED
    ), moved AS (
        UPDATE memory_mesh.due d
        SET idle_at = greatest(d.changed + days * interval '1 day', now() + interval '1 day')
        FROM taken WHERE d.ns = taken.ns
        RETURNING d.ns, d.changed
    )
    SELECT coalesce(n.name, '') FROM moved LEFT JOIN memory_mesh.namespace n
        ON n.ns = moved.ns AND moved.changed + days * interval '1 day' <= now();
END
$$;

-- Says that the namespace that was entered is read, so that it is looked at later.
CREATE FUNCTION is_used_until(moment timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE memory_mesh.due SET idle_at = moment WHERE ns = memory_mesh.must_be_inside();
END
$$;

-- Those of some names that are cold, each with where its archive is.
CREATE FUNCTION cold_among(capability bytea, names text []) RETURNS TABLE (name text, cold jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    RETURN QUERY SELECT n.name::text, n.cold FROM memory_mesh.namespace n
        WHERE n.name = ANY (names) AND n.cold IS NOT NULL ORDER BY n.name;
END
$$;

CREATE FUNCTION cold_address(capability bytea) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    RETURN (SELECT s.address FROM memory_mesh.cold_storage s);
END
$$;

REVOKE EXECUTE ON FUNCTION warm, must_be_inside, note_object, freeze_namespace, begin_waking, erase_cold,
    spare_objects, objects_to_remove, object_removed, take_idle, is_used_until, cold_among,
    cold_address FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_object, freeze_namespace, begin_waking, erase_cold, objects_to_remove,
    object_removed, take_idle, is_used_until, cold_among, cold_address TO memory_mesh_app;
