"""Sliding windows against torch's own pools: means and maxima, layouts, borders, long windows, threads, special
values.
"""

import pytest
import torch

from strop.kernels.windows import WINDOW

F = torch.nn.functional


def mean(value, kernel, stride, padding, include=True, divisor=0, ceil=False):
    axes = len(kernel)
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[axes - 1]
    options = {"divisor_override": divisor or None} if axes > 1 else {}
    expected = pool(value.double(), kernel, stride, padding, ceil, include, **options)
    found = WINDOW(value, "mean", kernel, stride, padding, [1] * axes, expected.shape[-axes:], include, divisor)
    return found, expected


@pytest.mark.parametrize("kernel", [[1], [2], [12], [13], [25], [64], [77]])
@pytest.mark.parametrize("stride", [1, 2, 5])
def test_short_and_long_windows(kernel, stride):
    value = torch.randn(3, 4, 100)
    found, expected = mean(value, kernel, [stride], [kernel[0] // 2])
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 3, 11, 13), (3, 11, 13), (2, 16, 9, 9), (1, 1, 70, 70)])
@pytest.mark.parametrize("last", [False, True])
def test_layouts_of_images(shape, last):
    value = torch.randn(shape)
    if last and len(shape) == 4:
        value = value.contiguous(memory_format=torch.channels_last)
    for kernel, stride, padding in (([3, 3], [1, 1], [1, 1]), ([5, 2], [2, 3], [2, 0]), ([9, 4], [1, 2], [4, 2])):
        for include in (True, False):
            found, expected = mean(value, kernel, stride, padding, include, ceil=include)
            torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)
            assert found.stride() == F.avg_pool2d(value, kernel, stride, padding, include, include).stride()


def test_gaps_offsets_and_transposes():
    wide = torch.randn(2, 6, 30, 40)
    for value in (wide[:, 1::2], wide[..., 3:], wide[..., ::2], wide.transpose(2, 3), wide.transpose(1, 3)):
        found, expected = mean(value, [3, 3], [1, 1], [1, 1])
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


def test_volumes_of_a_batch_and_of_one():
    one = torch.randn(3, 7, 8, 9)
    # Strides that would be channels-last, were the first dimension a batch.
    turned = torch.randn(3, 8, 9, 7).permute(0, 3, 1, 2)
    for value, include, divisor in ((torch.randn(2, 3, 7, 8, 9), True, 0), (one, False, 0), (turned, True, 5)):
        found, expected = mean(value, [3, 2, 3], [2, 1, 1], [1, 1, 0], include, divisor)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("dilation", [1, 2])
def test_maxima_are_exact(dtype, dilation):
    value = torch.randn(2, 3, 20, 21).to(dtype)
    value[0, 0, 3, 4] = float("nan")
    value[1, 2] = float("-inf")
    expected = F.max_pool2d(value, 3, 2, 1, dilation)
    found = WINDOW(value, "max", [3, 3], [2, 2], [1, 1], [dilation] * 2, expected.shape[-2:], True, 0)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_means_of_small_integers_are_exact():
    value = torch.randint(-50, 50, (2, 3, 30, 30)).float() * 9
    found, expected = mean(value, [3, 3], [1, 1], [0, 0])
    assert torch.equal(found.double(), expected.float().double())


def test_infinities_stay_where_they_are():
    value = torch.randn(1, 1, 8, 8)
    value[0, 0, 2, 2], value[0, 0, 6, 6] = float("inf"), float("nan")
    found, expected = mean(value, [3, 3], [1, 1], [1, 1])
    torch.testing.assert_close(found.double(), expected, equal_nan=True, rtol=1e-5, atol=1e-6)


def test_several_threads_give_the_same_numbers():
    threads, value = torch.get_num_threads(), torch.randn(1, 1, 300, 300)
    before, _ = mean(value, [5, 5], [1, 1], [2, 2])
    try:
        torch.set_num_threads(2)
        assert torch.equal(mean(value, [5, 5], [1, 1], [2, 2])[0], before)
    finally:
        torch.set_num_threads(threads)


def test_an_empty_batch_stays_empty():
    assert WINDOW(torch.empty(0, 3, 8), "mean", [2], [2], [0], [1], [4], True, 0).shape == (0, 3, 4)
