"""The same edits where the compiler writes C++: a source can be replaced and runs; a launch there is none to choose."""

import pytest
import torch
from torch import nn

from strop.capture import capture
from strop.errors import BadCandidate
from strop.lowering import LoweringOptions, lower
from strop.lowering.recipes import rehearse
from strop.records.graph import KernelKind
from strop.records.recipe import Recipe, parse_recipe
from tests.unit.capture.nets import Broken
from tests.unit.lowering.generated import generated, replace_source, retune
from tests.unit.transforms.rewriting import TARGET


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


def net():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU())


def edited(module, x, step, **options):
    lowered = lower(module, options=LoweringOptions(edits=(step,), **options))
    return lowered, lowered(x)


def kernel_in(module, x):
    lowered = lower(module)
    lowered(x)
    return generated(lowered)[-1]


def test_an_edited_kernel_runs_and_is_what_the_record_shows():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    assert kernel.language == "cpp"
    source = kernel.source.replace("tmp1.store(", "(tmp1 + tmp1).store(")
    assert source != kernel.source
    lowered, result = edited(module, x, replace_source(kernel, source))
    torch.testing.assert_close(result, 2 * module(x))
    assert generated(lowered)[-1].source == source
    torch.testing.assert_close(lower(module)(x), module(x))


def test_what_each_step_changed_is_told_in_their_order():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    doubled = kernel.source.replace("tmp1.store(", "(tmp1 + tmp1).store(")
    first = replace_source(kernel, doubled)
    lowered, _ = edited(module, x, first)
    (told,) = lowered.edits
    assert (told.kernel, told.hash) == (kernel.name, kernel.hash)
    lines = told.diff.splitlines()
    assert lines[:2] == [f"--- before/{kernel.name}", f"+++ after/{kernel.name}"]
    assert changes(told) == {
        *(f"-{line}" for line in kernel.source.splitlines() if "tmp1.store(" in line),
        *(f"+{line}" for line in doubled.splitlines() if "tmp1 + tmp1" in line),
    }
    again = replace_source(generated(lowered)[-1], doubled.replace("(tmp1 + tmp1)", "(tmp1 + tmp1 + tmp1)"))
    both = lower(module, options=LoweringOptions(edits=(first, again)))
    assert both.edits == ()
    torch.testing.assert_close(both(x), 3 * module(x))
    one, two = both.edits
    assert one == told and two.hash == generated(lowered)[-1].hash
    assert {change.strip("+- ").count("tmp1 +") for change in changes(two)} == {1, 2}
    both(x)
    assert len(both.edits) == 2
    same, _ = edited(module, x, replace_source(kernel, kernel.source))
    assert [each.diff for each in same.edits] == [""]


def changes(edit):
    """The lines that a diff takes away and adds."""
    return {line for line in edit.diff.splitlines()[2:] if line[0] in "+-"}


def test_an_edit_is_compiled_into_the_observed_program_too():
    module, x = net(), torch.randn(4, 8)
    source = kernel_in(module, x).source.replace("tmp1.store(", "(tmp1 + tmp1).store(")
    lowered, _ = edited(module, x, replace_source(kernel_in(module, x), source), observe=True)
    assert generated(lowered)[-1].source == source
    assert generated(lowered)[-1].nodes


def test_what_the_compiler_says_reaches_its_author():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    with pytest.raises(BadCandidate) as caught:
        edited(module, x, replace_source(kernel, kernel.source.replace("tmp1.store(", "missing.store(")))
    assert "error: " in str(caught.value) and "missing" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_launch_cannot_be_chosen_where_kernels_are_cpp():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    with pytest.raises(BadCandidate, match="is cpp code, whose launch cannot be chosen"):
        edited(module, x, retune(kernel, xblock=64))
    graphs = [each.module for each in capture(module, (x,)).modules]
    with pytest.raises(BadCandidate, match="it is for cuda, not cpu"):
        rehearse(Recipe((retune(kernel, xblock=64),)), graphs, TARGET)


def test_a_rehearsal_leaves_kernel_steps_to_the_compiler():
    module, x = net(), torch.randn(4, 8)
    graphs = [each.module for each in capture(module, (x,)).modules]
    assert rehearse(parse_recipe('edit_generated_kernel{hash=k-0 source="..."}'), graphs, TARGET) == {}


def test_a_wrapper_that_is_not_python_is_refused():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    with pytest.raises(BadCandidate, match="leave out the option cpp_wrapper"):
        edited(module, x, replace_source(kernel, kernel.source), inductor={"cpp_wrapper": True})


def test_one_kernel_of_several_graphs():
    module, x = Broken(), torch.randn(2, 4)
    lowered = lower(module)
    lowered(x)
    graphs = lowered.graphs
    kernels = [each for graph in graphs for each in graph.output.kernels if each.kind is KernelKind.GENERATED]
    assert len({each.hash for each in kernels}) == len(kernels) > 1
    marked = kernels[-1].source + "\n// mine"
    again, result = edited(module, x, replace_source(kernels[-1], marked))
    torch.testing.assert_close(result, module(x))
    found = [each for graph in again.graphs for each in graph.output.kernels if each.kind is KernelKind.GENERATED]
    assert [each.source for each in found] == [*(each.source for each in kernels[:-1]), marked]


def test_other_shapes_run_the_compilers_version():
    module, x = net(), torch.randn(4, 8)
    kernel = kernel_in(module, x)
    lowered, _ = edited(module, x, replace_source(kernel, kernel.source.replace("tmp1.store(", "(tmp1+tmp1).store(")))
    other = torch.randn(6, 8)
    torch.testing.assert_close(lowered(other), module(other))
