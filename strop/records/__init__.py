"""The nouns of Strop: frozen records that print, compare, hash and travel; no torch, no I/O, no behaviour that could
fail.
"""
