-- The keys that processes write with, the newest last: a machine that lacks it writes nothing. Of
-- each there is its name, and a digest that says nothing without the key.
CREATE TABLE key_in_use (
    number integer PRIMARY KEY,
    id text NOT NULL,
    digest text NOT NULL UNIQUE
);
ALTER TABLE key_in_use ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION newest_key() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT digest || ' ' || id FROM memory_mesh.key_in_use ORDER BY number DESC LIMIT 1
$$;

CREATE FUNCTION use_key(capability bytea, key_digest text, key_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
    LOCK TABLE memory_mesh.key_in_use IN EXCLUSIVE MODE;
    INSERT INTO memory_mesh.key_in_use
    SELECT coalesce(max(number), 0) + 1, key_id, key_digest FROM memory_mesh.key_in_use
    ON CONFLICT (digest) DO NOTHING;
END
$$;

REVOKE EXECUTE ON FUNCTION newest_key, use_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION newest_key, use_key TO memory_mesh_app;
