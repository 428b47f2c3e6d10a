"""The format that crosses the wall: framed messages on two descriptors, tensors in arenas that the parent owns."""
