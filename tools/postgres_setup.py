import sys, os, time, hashlib
import psycopg
def setup(uri, key=b"k"*32):
    with psycopg.connect(uri, autocommit=True) as c:
        c.execute("DROP SCHEMA IF EXISTS memory_mesh CASCADE")
        if not c.execute("SELECT 1 FROM pg_roles WHERE rolname='memory_mesh_app'").fetchone():
            c.execute("CREATE ROLE memory_mesh_app NOLOGIN")
        c.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        with c.transaction():
            c.execute("CREATE SCHEMA memory_mesh")
            c.execute("SET LOCAL search_path = memory_mesh")
            c.execute(open("src/memory_mesh/engines/ledgers/postgres/migrations/0001_start.sql").read())
            k=key.ljust(64,b"\0")
            c.execute("INSERT INTO secret VALUES (1,%s,%s)",(bytes(b^0x36 for b in k),bytes(b^0x5c for b in k)))
if __name__=="__main__":
    t=time.time(); setup(os.environ["MEMORY_MESH_TEST_POSTGRES"]); print(time.time()-t)
