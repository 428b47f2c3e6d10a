"""Kernel families that transforms instantiate; each works in a user's process with torch and this room alone."""
