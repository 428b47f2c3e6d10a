"""Statistics over plain arrays and records: errors, comparison, looks, noise, roofline, power. No torch, no I/O."""
