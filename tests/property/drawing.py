"""How the property tests draw: how many cases, tensors of any layout, and layers of any setting."""

import torch
from hypothesis import Phase, settings
from hypothesis import strategies as st

THOROUGH = "thorough"


def cases(quick):
    """Settings for one test: ``quick`` cases, or what the thorough profile says.

    A case takes a capture, so failures are shown as they were found: to shrink one would take minutes.
    """
    phases = [Phase.explicit, Phase.reuse, Phase.generate]
    if settings.get_current_profile_name() == THOROUGH:
        return settings(settings.get_profile(THOROUGH), phases=phases)
    return settings(max_examples=quick, phases=phases)


@st.composite
def layouts(draw, shape, dtype=torch.float32, scale=1.0):
    """A tensor of that shape: contiguous, permuted, a slice with gaps, at an offset, or channels-last."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    kind = draw(st.sampled_from(["contiguous", "permuted", "gaps", "offset", "channels_last"]))

    def normal(sizes):
        return (torch.randn(sizes, generator=generator, dtype=torch.float64) * scale).to(dtype)

    if kind == "permuted":
        order = draw(st.permutations(range(len(shape))))
        back = [order.index(place) for place in range(len(shape))]
        return normal([shape[place] for place in order]).permute(back)
    if kind == "gaps":
        place = draw(st.integers(0, len(shape) - 1))
        wide = [size * 2 + 1 if at == place else size for at, size in enumerate(shape)]
        return normal(wide)[tuple(slice(1, None, 2) if at == place else slice(None) for at in range(len(shape)))]
    if kind == "offset":
        return normal([shape[0] + 1, *shape[1:]])[1:]
    value = normal(shape)
    if kind == "channels_last" and len(shape) in (4, 5):
        layout = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        return value.contiguous(memory_format=layout)
    return value


FLOATS = st.sampled_from([torch.float32, torch.float32, torch.float64, torch.bfloat16])


def redraw(module, seed):
    """Give every parameter and buffer of a module values that matter: weights, statistics and affine parameters
    alike.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if value.is_floating_point():
                drawn = torch.randn(value.shape, generator=generator, dtype=torch.float64)
                value.copy_(drawn.abs() + 0.3 if name.endswith("running_var") else drawn * 0.5)
    return module
