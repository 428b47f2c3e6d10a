"""The first ledger: one append-only table of events, and views that a person can read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_VIEWS = (
    """
    CREATE VIEW runs AS
    SELECT begun.run, begun.at AS started, newest.at AS last_event, begun.title AS workload, begun.outcome AS target,
           begun.reason AS contract,
           (SELECT count(*) FROM events s WHERE s.run = begun.run AND s.kind = 'run_started') AS sittings,
           (SELECT count(DISTINCT p.subject) FROM events p WHERE p.run = begun.run AND p.kind = 'proposed')
               AS candidates,
           CASE WHEN newest.kind = 'run_ended' THEN newest.outcome ELSE 'not ended' END AS stopped,
           CASE WHEN newest.kind = 'run_ended' THEN newest.reason END AS because,
           best.subject AS kept, best.title AS kept_recipe, best.speedup AS kept_speedup
    FROM events begun
    JOIN events newest ON newest.run = begun.run
     AND newest.sequence = (SELECT max(n.sequence) FROM events n WHERE n.run = begun.run)
    LEFT JOIN events best ON best.run = begun.run
     AND best.sequence = (SELECT max(b.sequence) FROM events b WHERE b.run = begun.run AND b.kind = 'best')
    WHERE begun.sequence = 1
    """,
    """
    CREATE VIEW candidates AS
    SELECT p.run, p.subject AS candidate, p.title AS recipe, p.outcome AS origin, p.reason AS legality,
           j.outcome AS verdict, j.reason AS objection,
           CASE WHEN d.sequence IS NULL THEN 'in work' ELSE d.outcome END AS decision,
           CASE WHEN d.outcome <> 'keep' THEN coalesce(d.reason, j.reason, 'build') END AS stopped_by,
           d.speedup, d.low, d.high,
           CASE WHEN d.final AND d.outcome = 'keep' THEN 1 ELSE 0 END AS confirmed
    FROM events p
    LEFT JOIN events j ON j.run = p.run AND j.sequence =
        (SELECT max(x.sequence) FROM events x WHERE x.run = p.run AND x.kind = 'judged' AND x.subject = p.subject)
    LEFT JOIN events d ON d.run = p.run AND d.sequence =
        (SELECT max(x.sequence) FROM events x WHERE x.run = p.run AND x.kind = 'decided' AND x.subject = p.subject)
    WHERE p.kind = 'proposed' AND p.sequence =
        (SELECT max(x.sequence) FROM events x WHERE x.run = p.run AND x.kind = 'proposed' AND x.subject = p.subject)
    """,
    """
    CREATE VIEW kept AS
    SELECT run, candidate, recipe, origin, legality, speedup, low, high, confirmed
    FROM candidates WHERE decision = 'keep'
    """,
    """
    CREATE VIEW failures AS
    SELECT stopped_by, count(*) AS candidates, count(DISTINCT run) AS runs
    FROM candidates WHERE stopped_by IS NOT NULL GROUP BY stopped_by
    """,
)

_SQLITE_GUARDS = (
    """
    CREATE TRIGGER events_never_change BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: events never change'); END
    """,
    """
    CREATE TRIGGER events_never_leave BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: events never leave'); END
    """,
    # INSERT OR REPLACE deletes without asking the trigger above, so a number that is taken is refused before that.
    """
    CREATE TRIGGER events_follow BEFORE INSERT ON events
    WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE run = NEW.run)
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: an event takes the next number of its run'); END
    """,
)

_POSTGRESQL_GUARDS = (
    """
    CREATE FUNCTION strop_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'the ledger is append-only: events never change and never leave'; END $$
    """,
    """
    CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION strop_append_only()
    """,
)


def upgrade() -> None:
    """Create everything."""
    op.create_table(
        "events",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("speedup", sa.Float),
        sa.Column("low", sa.Float),
        sa.Column("high", sa.Float),
        sa.Column("final", sa.Boolean, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("run", "sequence", name="events_once"),
        sa.CheckConstraint("sequence >= 1", name="events_count_from_one"),
    )
    op.create_index("events_by_subject", "events", ["subject", "kind", "run", "sequence"])
    op.create_index("events_by_kind", "events", ["run", "kind", "sequence"])
    guards = _SQLITE_GUARDS if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL_GUARDS
    for statement in (*guards, *_VIEWS):
        op.execute(statement)


def downgrade() -> None:
    """Refused: it would throw away what happened."""
    raise NotImplementedError("a ledger is append-only and cannot be taken back to an older schema")
