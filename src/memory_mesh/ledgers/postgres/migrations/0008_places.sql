-- A place is a schema with these tables. One database of one server has one, the schema memory_mesh;
-- a fleet has many on many servers, and a place can move to another server while it is used.
--
-- Whoever enters looks here first. A writer holds the table in share mode until its transaction ends,
-- and whoever moves the place takes it alone for the moment of the switch. So no write is between the
-- two servers, and whoever comes too late is told, and has done nothing.
CREATE TABLE place (
    one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    epoch bigint NOT NULL DEFAULT 0, -- how often the place has moved
    home boolean NOT NULL, -- false: another server has the namespaces
    fleet boolean NOT NULL DEFAULT false -- a directory says which namespaces are here
);
INSERT INTO place (home)
VALUES (coalesce(nullif(current_setting('memory_mesh.home', true), ''), 'true')::boolean);
ALTER TABLE place ENABLE ROW LEVEL SECURITY;

-- Namespaces that another place of the fleet has now, so that nobody begins them here anew.
CREATE TABLE departed (name text COLLATE "C" PRIMARY KEY);
ALTER TABLE departed ENABLE ROW LEVEL SECURITY;

-- `known` is the epoch that the directory told, or NULL without a directory. A place with a smaller one
-- is an old copy. Returns whether a namespace that is not here may be elsewhere.
CREATE FUNCTION fence(known bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE here memory_mesh.place;
BEGIN
    IF current_setting('transaction_read_only') = 'off' THEN
        LOCK TABLE memory_mesh.place IN ROW SHARE MODE;
    END IF;
    SELECT * INTO here FROM memory_mesh.place;
    IF here.home IS NOT TRUE OR here.epoch < known THEN
        RAISE EXCEPTION USING ERRCODE = 'MM001', MESSAGE =
            'the memories that were here moved to another server of a fleet; use the address of its '
            'directory';
    END IF;
    RETURN here.fleet AND known IS NULL;
END
$$;

CREATE FUNCTION enter(name_of text, capability bytea, known bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found_ns bigint;
    partly boolean;
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    PERFORM memory_mesh.forget_prepared();
    partly := memory_mesh.fence(known);
    SELECT n.ns INTO found_ns FROM memory_mesh.namespace n WHERE n.name = name_of;
    IF found_ns IS NULL AND (
        partly OR EXISTS (SELECT FROM memory_mesh.departed d WHERE d.name = name_of)
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'MM001', MESSAGE =
            'this database belongs to a fleet, and the namespace is not in it; use the address of '
            'the directory';
    END IF;
    PERFORM set_config('memory_mesh.ns', coalesce(found_ns::text, ''), true);
    PERFORM set_config('memory_mesh.tag', CASE WHEN found_ns IS NULL THEN ''
        ELSE encode(memory_mesh.entered(found_ns::text), 'hex') END, true);
    RETURN found_ns;
END
$$;

-- As processes of earlier versions call it.
CREATE OR REPLACE FUNCTION enter(name_of text, capability bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT memory_mesh.enter(name_of, capability, NULL) $$;

CREATE OR REPLACE FUNCTION begin_namespace(name_of text, capability bytea, first_head bytea)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'namespace ' || name_of, capability, 'the capability is not that of this namespace');
    INSERT INTO memory_mesh.namespace (name) VALUES (name_of) ON CONFLICT DO NOTHING;
    PERFORM memory_mesh.enter(name_of, capability, NULL);
    INSERT INTO memory_mesh.store
        (namespace, min_reader, min_writer, seq, recorded, position, head, identity)
    VALUES (name_of, 1, 1, 0, 0, 0, first_head, replace(gen_random_uuid()::text, '-', ''))
    ON CONFLICT DO NOTHING;
    RETURN current_setting('memory_mesh.ns')::bigint;
END
$$;

CREATE OR REPLACE FUNCTION take_due(capability bytea, most bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    PERFORM memory_mesh.fence(NULL);
    RETURN QUERY
    WITH taken AS (
        SELECT t.ns FROM memory_mesh.due t WHERE t.at <= now()
        ORDER BY t.at LIMIT most FOR UPDATE SKIP LOCKED
    ), moved AS (
        UPDATE memory_mesh.due d
        SET at = now() + greatest(interval '6 hours', least(interval '30 days', now() - d.changed))
        FROM taken WHERE d.ns = taken.ns
        RETURNING d.ns
    )
    SELECT n.name FROM moved JOIN memory_mesh.namespace n ON n.ns = moved.ns;
END
$$;

REVOKE EXECUTE ON FUNCTION fence, enter (text, bytea, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fence, enter (text, bytea, bigint) TO memory_mesh_app;

-- Replication finds the rows of each table by its key; this one has none.
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN
        SELECT c.oid FROM pg_class c WHERE c.oid = 'memory_mesh.session_write'::regclass
        UNION ALL
        SELECT inhrelid FROM pg_inherits WHERE inhparent = 'memory_mesh.session_write'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', part);
    END LOOP;
END
$$;
