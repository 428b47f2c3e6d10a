"""The memory of Strop: the append-only ledger in any database that SQLAlchemy speaks to, and files by content."""
