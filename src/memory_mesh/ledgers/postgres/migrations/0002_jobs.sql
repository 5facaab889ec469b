-- Which namespaces jobs should look at, and when. A commit puts its namespace on the list; whoever
-- plans jobs reads those whose time has come, by the index, and no others.

CREATE TABLE due (
    ns bigint PRIMARY KEY REFERENCES namespace ON DELETE CASCADE,
    changed timestamptz NOT NULL, -- the last commit that put it on the list
    at timestamptz NOT NULL -- when to look next
);
CREATE INDEX due_at ON due (at);

-- Where the namespace is on the list already, the row is only locked: `take_due` passes over it
-- until this transaction is over, so no look misses what it writes.
CREATE FUNCTION note_due() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO memory_mesh.due AS d (ns, changed, at) VALUES (NEW.ns, now(), now())
    ON CONFLICT (ns) DO UPDATE SET changed = now(), at = now() WHERE d.at > now();
    RETURN NULL;
END
$$;

CREATE TRIGGER note_due AFTER UPDATE OF seq ON store
    FOR EACH ROW WHEN (OLD.seq <> NEW.seq) EXECUTE FUNCTION note_due();

-- Names whose time has come, at most so many. The next look is as far away as the last change, since
-- time alone can make work: six hours at least, thirty days at most.
CREATE FUNCTION take_due(capability bytea, most bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM memory_mesh.must_open(
        'all namespaces', capability, 'the capability is not that of all namespaces');
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

ALTER TABLE due ENABLE ROW LEVEL SECURITY; -- read by the functions above and by nobody else

INSERT INTO due (ns, changed, at) SELECT ns, now(), now() FROM namespace;

REVOKE EXECUTE ON FUNCTION note_due, take_due FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_due TO memory_mesh_app;
