"""The command line: reads what was typed, starts work through ``strop.api``, and prints. It holds no logic."""
