"""The main job from its first event to its last: the loop, its budget, when it stops, and how it is taken up again."""
