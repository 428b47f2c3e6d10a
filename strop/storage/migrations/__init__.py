"""Alembic's scripts for the ledger, shipped with the package and run when an older ledger is opened.

``schema.py`` says what a ledger looks like today. To change it, add ``versions/vNNNN_what.py`` with the next number,
whose ``down_revision`` is the newest one; a script spells its tables and views out in full and never imports
``schema.py``, because what it creates must not change with the code. Going back is not supported: a ledger is
append-only.
"""
