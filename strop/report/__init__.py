"""What people and scripts read: a run folded from its events, as tables, live view, JSON, Markdown and HTML."""
