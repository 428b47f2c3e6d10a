"""Which bytes of an arena belong to no tensor: nobody may ever change those."""

import torch


def guard_mask(layout):
    """True for every byte between the tensors."""
    mask = torch.ones(layout.total_bytes, dtype=torch.bool)
    for slot in (None, *range(layout.slots)):
        for span, start in layout.placed(slot):
            mask[start : start + span.extent_bytes] = False
    return mask
