"""The parent's side of the wall: children, the memory lent to them, their limits, and their certain end."""
