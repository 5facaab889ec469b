-- Namespaces that come from files have the same numbers. Sampled over all of them, each number is
-- found often, and a plan would rather read a whole namespace than look its rows up by number. So
-- the planner is told what holds inside a namespace: a number is that of one row, and few rows name
-- the same text or memory.
DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT c.oid::regclass AS of_table, a.attname,
            CASE c.relkind WHEN 'p' THEN 'n_distinct_inherited' ELSE 'n_distinct' END AS setting,
            CASE a.attname WHEN 'number' THEN -1 ELSE -0.5 END AS share
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'memory_mesh'::regnamespace
            AND (c.relkind = 'p' OR c.relispartition AND c.relkind = 'r')
            AND a.attname IN ('number', 'text', 'memory') AND a.atttypid = 'bigint'::regtype
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET STATISTICS 1', held.of_table, held.attname);
        EXECUTE format('ALTER TABLE %s ALTER %I SET (%s = %s)',
            held.of_table, held.attname, held.setting, held.share);
    END LOOP;
END
$$;
