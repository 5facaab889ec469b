"""RFC-0011's LanceDB tables: import, export and migration."""
