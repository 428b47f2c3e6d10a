"""A graph's id depends on the graph alone, in this process and in any other."""

import os
import subprocess
import sys

import torch
from torch import nn

from strop.capture import capture, graph_record
from strop.records.tensor import Symbol
from tests.unit.capture.nets import ConvNet, Mlp, Odd

SCRIPT = """
import torch
from strop.capture import capture
from tests.unit.capture.nets import ConvNet, Odd
print(capture(ConvNet(), (torch.randn(2, 3, 8, 8),)).record.graphs[0].id)
print(capture(Odd(), (torch.tensor([1, 2]), torch.randn(2, 3))).record.graphs[0].id)
"""


def ident(module, *args, **options):
    return capture(module, args, **options).record.graphs[0].id


def test_same_id_in_another_process_with_another_hash_seed():
    here = [ident(ConvNet(), torch.randn(2, 3, 8, 8)), ident(Odd(), torch.tensor([1, 2]), torch.randn(2, 3))]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == here


def test_id_ignores_values_and_names_of_parameters():
    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.other_name = nn.Linear(4, 4)

        def forward(self, x):
            return self.other_name(x)

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x)

    assert ident(Renamed(), torch.randn(2, 4)) == ident(Plain(), torch.ones(2, 4))


def test_id_follows_shape_layout_mode_and_arguments():
    x = torch.randn(2, 3, 8, 8)
    base = ident(ConvNet(), x)
    assert ident(ConvNet(), torch.randn(4, 3, 8, 8)) != base
    assert ident(ConvNet(), x.to(memory_format=torch.channels_last)) != base
    assert ident(ConvNet().eval(), x) != base
    other = ConvNet()
    other.norm.eps = 1e-3
    assert ident(other, x) != base


def test_id_follows_the_contents_of_constants():
    class Constant(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.value = value

        def forward(self, x):
            return x + torch.tensor([1.0, self.value])

    x = torch.randn(2)
    assert ident(Constant(2.0), x) == ident(Constant(2.0), x)
    assert ident(Constant(2.0), x) != ident(Constant(3.0), x)


def test_placeholders_are_named_by_their_first_use():
    class Order(nn.Module):
        def __init__(self, swap):
            super().__init__()
            self.swap = swap

        def forward(self, x, y):
            return torch.cat([y, x]) if self.swap else torch.cat([x, y])

    a, b = torch.randn(2), torch.randn(2)
    assert ident(Order(False), a, a) == ident(Order(True), a, a)
    straight, swapped = (capture(Order(swap), (a, b)).record.graphs[0] for swap in (False, True))
    assert [node.path for node in straight.nodes[:2]] == ["x", "y"]
    assert [node.path for node in swapped.nodes[:2]] == ["y", "x"]


def test_id_does_not_depend_on_the_order_of_arguments_but_on_their_use():
    class Difference(nn.Module):
        def __init__(self, swap):
            super().__init__()
            self.swap = swap

        def forward(self, x, y):
            z = x * 2
            return y - z if self.swap else z - y

    a, b = torch.randn(2), torch.randn(2)
    assert ident(Difference(False), a, b) != ident(Difference(True), a, b)


def test_record_of_nodes():
    record = capture(Mlp().eval(), (torch.randn(2, 8),)).record.graphs[0]
    nodes = {node.name: node for node in record.nodes}
    assert nodes["addmm"].inputs == ("arg1", "arg2", "permute")
    assert nodes["addmm"].module_path == "up"
    assert nodes["permute"].arguments == ("dims=[1, 0]",)
    assert nodes["permute"].outputs[0].stride == (1, 8)
    assert nodes["native_layer_norm"].arguments == ("normalized_shape=[16]", "eps=1e-05")
    assert len(nodes["native_layer_norm"].outputs) == 3


def test_symbolic_sizes_are_symbols_named_by_order():
    record = capture(Mlp().eval(), (torch.randn(5, 8),), dynamic=True).record.graphs[0]
    batch = next(node for node in record.nodes if node.path == "x").outputs[0].shape[0]
    assert isinstance(batch, Symbol)
    assert batch.name == "n0"
    assert batch.low == 2
    assert ident(Mlp().eval(), torch.randn(7, 8), dynamic=True) == record.id


def test_recording_twice_gives_the_same_record():
    (found,) = capture(ConvNet(), (torch.randn(2, 3, 8, 8),)).modules
    assert graph_record(found.module) == found.record
