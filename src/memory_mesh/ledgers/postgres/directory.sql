-- The directory of a fleet, in a database of its own: which server has which place, and which
-- namespaces are not where the digest of their name says. No name of a namespace is in it.
CREATE SCHEMA IF NOT EXISTS memory_mesh_fleet;
CREATE TABLE IF NOT EXISTS memory_mesh_fleet.fleet (
    one smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    places integer NOT NULL CHECK (places > 0), -- among which namespaces are shared out by digest
    shown bytea NOT NULL, -- told to nobody: a digest that only the key of the fleet makes
    login text -- the role that processes connect as, on every server
);
CREATE TABLE IF NOT EXISTS memory_mesh_fleet.server (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL UNIQUE, -- without user and password
    draining boolean NOT NULL DEFAULT false -- gets no more places
);
CREATE TABLE IF NOT EXISTS memory_mesh_fleet.place (
    name text PRIMARY KEY CHECK (name ~ '^(memory_mesh|place_[0-9a-z]+)$'), -- of its schema
    slot integer UNIQUE, -- NULL: holds only what is located there
    server integer NOT NULL REFERENCES memory_mesh_fleet.server,
    epoch bigint NOT NULL DEFAULT 0,
    target integer REFERENCES memory_mesh_fleet.server, -- where it moves to
    source integer REFERENCES memory_mesh_fleet.server, -- whence, until the old copy is gone
    begun timestamptz -- of the move
);
CREATE TABLE IF NOT EXISTS memory_mesh_fleet.located (
    digest bytea PRIMARY KEY, -- keyed, of the name of a namespace
    place text NOT NULL REFERENCES memory_mesh_fleet.place,
    heading text REFERENCES memory_mesh_fleet.place -- where it moves to
);
GRANT USAGE ON SCHEMA memory_mesh_fleet TO memory_mesh_app;
GRANT SELECT ON memory_mesh_fleet.server, memory_mesh_fleet.place, memory_mesh_fleet.located
    TO memory_mesh_app;
