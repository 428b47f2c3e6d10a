"""One file per step of the ledger's schema, in the order of their numbers."""
