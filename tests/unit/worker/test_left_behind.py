"""Arguments that hold tensors and get others from a call: a cache that grows is judged like a result."""

import pytest
import torch

from strop.records.candidate import CompiledForm, RecipeForm, SourceForm
from strop.records.recipe import parse_recipe
from strop.wire.frames import FrameKind
from strop.wire.messages import ChildRole, Deliver, Delivered, Loaded, Ran, Run
from tests.unit.worker.client import kept
from tests.unit.worker.opening import FILES, model

pytestmark = pytest.mark.xdist_group("worker")

GROWING = (FILES / "growing.py").read_text(encoding="utf-8")
LINE = "cache.rows = torch.cat([cache.rows, self.linear(x)])\n        return cache.rows.sum(0)"
OUTPUTS = ["out", "args[1].rows"]
assert LINE in GROWING


@pytest.fixture(scope="module")
def child():
    """Describes the workload, then runs one form after the other."""
    reference = kept(ChildRole.REFERENCE)
    reference.open(FILES / "growing.py")
    description = reference.describe()
    reference.map(description, slots=2)
    parameters = reference.draw_parameters(1, seed=4)
    inputs = [reference.draw(slot, seed) for slot, seed in ((0, 1), (1, 2))]
    candidate = kept(ChildRole.CANDIDATE)
    candidate.open(FILES / "growing.py")
    candidate.description, candidate.parameters, candidate.inputs = description, parameters, inputs
    return candidate


def prepared(child, form):
    reply = child.load(form)
    assert isinstance(reply, Loaded), reply
    child.map(child.description, 2)
    for path, tensor in child.given.views(None).items():
        tensor.copy_(child.parameters[path])
    for slot in (0, 1):
        child.fill(slot, child.inputs[slot])
    child.ask(Deliver(), Delivered)


def ran(child, form):
    prepared(child, form)
    child.made.poison()
    child.ask(Run(slot=1), Ran)
    return child.ask(Run(slot=0), Ran), child.results(0)


def written(body):
    return SourceForm(text=GROWING.replace("class Model(", "class ModelNew(").replace(LINE, body))


@pytest.fixture(scope="module")
def rows(child):
    weight, bias = child.parameters["linear.weight"], child.parameters["linear.bias"]
    x, cache = child.inputs[0]["args[0]"], child.inputs[0]["args[1].rows"]
    return torch.cat([cache, x @ weight.T + bias])


FORMS = {
    "eager": CompiledForm(mode="eager"),
    "compiled": CompiledForm(mode="default"),
    "recipe": RecipeForm(recipe=parse_recipe("")),
    "source": written(LINE),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_leaves_it_there(child, rows, form):
    reply, results = ran(child, form)
    assert [leaf.path for leaf in reply.outputs] == OUTPUTS
    assert reply.aliases == ()
    assert torch.allclose(results["args[1].rows"], rows, atol=1e-5)
    assert torch.allclose(results["out"], rows.sum(0), atol=1e-5)


def test_a_timed_round_leaves_it_there(child, rows):
    prepared(child, written(LINE))
    child.made.poison()
    assert child.go(4)[0] is FrameKind.DONE
    assert torch.allclose(child.results(0)["args[1].rows"], rows, atol=1e-5)


def test_whoever_forgets_it_leaves_the_old_shape_and_the_poison(child):
    body = "return torch.cat([cache.rows, self.linear(x)]).sum(0)"
    reply, results = ran(child, written(body))
    assert [(leaf.path, leaf.tensor.shape) for leaf in reply.outputs] == [("out", (8,)), ("args[1].rows", (5, 8))]
    assert reply.aliases == ()
    assert torch.isnan(results["args[1].rows"]).all()


def test_whoever_changes_more_is_seen(child):
    reply, _ = ran(child, written(LINE.replace("return", "cache.more = x * 2\n        return")))
    assert [leaf.path for leaf in reply.outputs] == [*OUTPUTS, "args[1].more"]


WITH_A_DICTIONARY = model("return given['x'] * 2", "[{'x': torch.randn(3)}]", arguments="self, given")


@pytest.mark.parametrize(
    ("line", "outputs"),
    [
        ("given['x'] = given['x'].clone()", ["out"]),
        ("given['x'] = given['x'] + 1", ["out", "args[0]['x']"]),
    ],
)
def test_a_container_that_the_workload_leaves_alone(tmp_path, line, outputs):
    """An equal tensor in the old one's place changes nothing for the caller; any other is one result too many."""
    path = tmp_path / "workload.py"
    path.write_text(WITH_A_DICTIONARY, encoding="utf-8")
    text = WITH_A_DICTIONARY.replace("class Model(", "class ModelNew(")
    child = kept(ChildRole.REFERENCE)
    child.open(path)
    description = child.describe()
    assert [leaf.path for leaf in description.outputs] == ["out"]
    child.load(SourceForm(text=text.replace("return given['x'] * 2", f"y = given['x'] * 2; {line}; return y")))
    child.map(description)
    child.fill(0, {"args[0]['x']": torch.ones(3)})
    child.ask(Deliver(), Delivered)
    reply = child.ask(Run(slot=0), Ran)
    assert [leaf.path for leaf in reply.outputs] == outputs
