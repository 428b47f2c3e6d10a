"""A module's buffers as a state that a call may change and that we put back."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from strop.wire.tensors import same_bits


def snapshot(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all buffers by name."""
    return {name: buffer.detach().clone() for name, buffer in module.named_buffers()}


def restore(module: torch.nn.Module, saved: Mapping[str, torch.Tensor]) -> None:
    """Put saved buffers back, in place wherever the module still has a buffer of that shape and type."""
    now = dict(module.named_buffers())
    with torch.no_grad():
        for name, value in saved.items():
            held = now.get(name)
            if held is not None and held.shape == value.shape and held.dtype == value.dtype:
                held.copy_(value)
            else:
                owner, _, key = name.rpartition(".")
                module.get_submodule(owner).register_buffer(key, value.clone())


def changed(module: torch.nn.Module, saved: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
    """Names of buffers whose bits differ from the saved ones; a buffer of another shape has changed too."""
    now = dict(module.named_buffers())
    return tuple(name for name, value in saved.items() if name not in now or not same_bits(now[name], value))
