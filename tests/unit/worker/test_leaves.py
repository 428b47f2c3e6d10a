"""Values taken apart into named tensors and put together again."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.worker.leaves import Call, flatten, flatten_call, tensors_in

Pair = namedtuple("Pair", "left right")


@dataclass
class Box:
    inner: torch.Tensor
    label: str


class Cache:
    def __init__(self):
        self.layers = [Box(torch.ones(2), "k")]
        self.length = 3


def shapes_of(value):
    tree, tensors = flatten(value, "out")
    return tree, dict(zip(tree.paths, [tuple(tensor.shape) for tensor in tensors], strict=True))


def test_paths_read_as_a_person_would_write_them():
    value = [torch.ones(1), {"mask": torch.ones(2)}, Pair(torch.ones(3), 7), Box(torch.ones(4), "x"), Cache(), None]
    _, shapes = shapes_of(value)
    assert shapes == {
        "out[0]": (1,),
        "out[1]['mask']": (2,),
        "out[2].left": (3,),
        "out[3].inner": (4,),
        "out[4].layers[0].inner": (2,),
    }


def test_one_tensor_is_its_own_path():
    assert list(tensors_in(torch.ones(1), "out")) == ["out"]
    assert tensors_in(3, "out") == {}


def test_rebuilding_makes_new_containers_around_the_given_tensors():
    cache = Cache()
    tree, tensors = flatten({"cache": cache, "n": 5}, "kwargs")
    first, second = tree.build([tensors[0] + 1]), tree.build([tensors[0] + 2])
    assert type(first["cache"]) is Cache
    assert first["n"] == 5
    assert first["cache"].length == 3
    first["cache"].layers.append("changed by a call")
    assert len(second["cache"].layers) == len(cache.layers) == 1
    assert second["cache"].layers[0].inner.tolist() == [3.0, 3.0]
    assert second["cache"].layers[0].label == "k"


def test_mappings_keep_their_type_and_order():
    tree, tensors = flatten(OrderedDict(b=torch.ones(1), a=torch.ones(2)), "out")
    assert tree.paths == ("out['b']", "out['a']")
    again = tree.build(tensors)
    assert type(again) is OrderedDict
    assert list(again) == ["b", "a"]


def test_model_output_is_read_by_attribute():
    outputs = pytest.importorskip("transformers.modeling_outputs")
    value = outputs.BaseModelOutput(last_hidden_state=torch.ones(2), hidden_states=(torch.ones(1), torch.ones(3)))
    tree, shapes = shapes_of(value)
    assert shapes == {"out.last_hidden_state": (2,), "out.hidden_states[0]": (1,), "out.hidden_states[1]": (3,)}
    again = tree.build([torch.zeros(2), torch.zeros(1), torch.zeros(3)])
    assert isinstance(again, outputs.BaseModelOutput)
    assert again.last_hidden_state.sum() == 0
    assert again["hidden_states"][1].shape == (3,)


def test_a_value_that_contains_itself_ends():
    value = [torch.ones(1)]
    value.append(value)
    assert list(tensors_in(value, "out")) == ["out[0]"]


def test_modules_and_functions_are_passed_on():
    layer = torch.nn.Linear(2, 2)
    tree, tensors = flatten([layer, len, torch.float32], "out")
    assert tensors == []
    assert tree.build([]) == [layer, len, torch.float32]


def test_calls_are_reusable_only_without_containers():
    plain, tensors = flatten_call(Call((torch.ones(1), 3), {"y": torch.ones(2)}))
    assert plain.paths == ("args[0]", "kwargs['y']")
    assert plain.reusable
    call = plain.build({path: tensor * 2 for path, tensor in tensors.items()})
    assert call.args[1] == 3
    assert call.kwargs["y"].tolist() == [2.0, 2.0]
    nested, _ = flatten_call(Call(([torch.ones(1)],)))
    assert not nested.reusable


trees = st.recursive(
    st.sampled_from([None, 1, 2.5, "s"]) | st.builds(lambda n: torch.full((n,), float(n)), st.integers(1, 4)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.builds(Box, inner, st.just("x"))
    ),
    max_leaves=12,
)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, Box):
        return same(one.inner, other.inner)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


@given(trees)
def test_taking_apart_and_putting_together_changes_nothing(value):
    tree, tensors = flatten(value, "out")
    assert len(set(tree.paths)) == len(tensors)
    assert same(tree.build(tensors), value)
