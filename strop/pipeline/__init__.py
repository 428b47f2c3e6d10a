"""The line: one file per station, in walking order: survey, aim, propose, build, verify, measure, decide;
``stations`` joins them.
"""
