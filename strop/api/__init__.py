"""What users and the command line call: ``live`` for Python objects, the other files for what was typed."""
