"""From what a user types to a Workload or a Candidate. Files are read and parsed here, never imported or executed."""
