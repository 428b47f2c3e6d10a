"""The worker as a process: every request, driven over the wire with arenas of our own."""

import hashlib
import sys

import cloudpickle
import pytest
import torch

from strop.records.candidate import CompiledForm, ModuleForm, NullForm, RecipeForm
from strop.records.evidence import Circumstance, Distribution, Stage
from strop.records.graph import KernelKind
from strop.records.ids import content_id
from strop.records.recipe import Recipe, parse_recipe
from strop.records.workload import Mode
from strop.wire.chain import Chain
from strop.wire.frames import FrameKind
from strop.wire.messages import (
    Accept,
    Accepted,
    AskCapture,
    AskMemory,
    AskProfile,
    AskProposals,
    CaptureReply,
    ChildRole,
    Deliver,
    Delivered,
    Describe,
    DrawParameters,
    Expect,
    Loaded,
    MemoryReply,
    Perturb,
    ProfileReply,
    ProposalsReply,
    Ran,
    Run,
)
from strop.wire.tensors import same_bits
from tests.unit.worker.client import TARGET, Child, kept
from tests.unit.worker.opening import FILES, opened

pytestmark = pytest.mark.xdist_group("worker")

EAGER = CompiledForm(mode="eager")
PARAMETERS_DRAWS = (0, 1)


class Judged:
    """What the reference said about one workload: description, parameters, and cases with their fp64 answers."""

    def __init__(self, name):
        self.path = FILES / f"{name}.py"
        child = kept(ChildRole.REFERENCE)
        child.open(self.path)
        self.description = child.describe()
        child.map(self.description, slots=1, wide=True)
        self.parameters = {draw: child.draw_parameters(draw, seed=11) for draw in PARAMETERS_DRAWS}
        child.draw_parameters(0)
        self.inputs, self.gold, self.honest = [], [], []
        for seed in (1, 2):
            self.inputs.append(child.draw(0, seed, Distribution.OWN))
            child.ask(Expect(slot=0))
            self.gold.append(child.results())
            child.ask(Perturb(slot=0, seed=seed))
            self.honest.append(child.results())
        self.redrawn = self._under_other_parameters(child)

    def _under_other_parameters(self, child):
        for path, tensor in child.given.views(None).items():
            tensor.copy_(self.parameters[1][path])
        child.ask(Deliver(), Delivered)
        child.fill(0, self.inputs[0])
        child.ask(Expect(slot=0))
        return child.results()


@pytest.fixture(scope="module")
def judged():
    known = {}

    def get(name):
        if name not in known:
            known[name] = Judged(name)
        return known[name]

    return get


def started(case, form, *, role=ChildRole.CANDIDATE, slots=2):
    """A child with a form loaded, parameters delivered and two slots filled."""
    child = kept(role)
    child.open(case.path)
    reply = child.load(form)
    assert isinstance(reply, Loaded), reply
    child.map(case.description, slots)
    for path, tensor in child.given.views(None).items():
        tensor.copy_(case.parameters[0][path])
    for slot in range(slots):
        child.fill(slot, case.inputs[slot % 2])
    return child


def largest(differences):
    return float(differences.abs().max()) if differences.numel() else 0.0


def worst(got, gold):
    return max(largest(got[path] - gold[path]) for path in gold)


def assert_right(got, gold, honest):
    """Within ten times the honest model's distance, integers equal."""
    for path, expected in gold.items():
        if expected.is_floating_point() or expected.is_complex():
            allowed = 10 * largest(honest[path] - expected) + 1e-9
            assert largest(got[path].to(expected.dtype) - expected) <= allowed, path
        else:
            assert torch.equal(got[path], expected), path


def run(child, slot=0, circumstance=Circumstance.PLAIN):
    child.made.poison()
    return child.ask(Run(slot=slot, circumstance=circumstance), Ran)


def test_gold_and_honest_rounding_lie_in_the_arena(judged):
    case = judged("mlp")
    assert case.gold[0]["out"].dtype is torch.float64
    assert 0 < worst(case.honest[0], case.gold[0]) < 1e-5
    assert worst(case.gold[0], case.gold[1]) > 1e-3
    assert worst(case.redrawn, case.gold[0]) > 1e-2


@pytest.mark.parametrize("name", ["mlp", "forms", "cache", "growing"])
def test_eager_is_right_under_every_circumstance(judged, name):
    case = judged(name)
    child = started(case, EAGER, role=ChildRole.BASELINE)
    assert child.ask(Deliver(), Delivered).matched_by == "name"
    for circumstance in Circumstance:
        child.fill(0, case.inputs[0])
        ran = run(child, 0, circumstance)
        assert_right(child.results(), case.gold[0], case.honest[0])
        assert [leaf.path for leaf in ran.outputs] == [leaf.path for leaf in case.description.outputs]
        assert ran.aliases == case.description.aliases
        assert ran.changed_parameters == ()
    assert isinstance(child.ask(AskMemory(), MemoryReply).peak_bytes, int)


def test_parameters_are_delivered_again(judged):
    case = judged("mlp")
    child = started(case, EAGER)
    child.ask(Deliver(), Delivered)
    run(child)
    for path, tensor in child.given.views(None).items():
        tensor.copy_(case.parameters[1][path])
    child.ask(Deliver(), Delivered)
    run(child)
    assert_right(child.results(), case.redrawn, case.honest[0])


def test_timed_rounds_fill_every_slot(judged):
    case = judged("cache")
    child = started(case, EAGER, slots=3)
    child.ask(Deliver(), Delivered)
    child.made.poison()
    assert child.go(3) == (FrameKind.DONE, None)
    for slot in range(3):
        assert worst({"out[0]": child.results(slot)["out[0]"]}, {"out[0]": case.gold[slot % 2]["out[0]"]}) < 1e-5
        child.fill(slot, case.inputs[slot % 2])
    assert child.go(11)[0] is FrameKind.DONE
    # The cache that each call writes to was put back before its slot's next turn.
    assert worst({"out[0]": child.results(1)["out[0]"]}, {"out[0]": case.gold[1]["out[0]"]}) < 1e-5
    assert torch.isnan(child.results(0)["state:buffers:seen"])


def test_chained_calls_are_given_what_follows_from_the_results_before_them(judged):
    case = judged("mlp")
    child = started(case, EAGER, slots=5)
    child.ask(Deliver(), Delivered)
    child.made.poison()
    draws = [dict(case.inputs[slot]) for slot in range(2)]
    for slot, draw in enumerate(draws):
        child.fill(3 + slot, draw)
    assert child.go(3, key=77) == (FrameKind.DONE, None)
    chain, before = Chain(77, case.description.inputs, draws), {}
    for slot in range(3):
        wanted = chain.inputs(slot, before)
        assert all(same_bits(child.given.views(slot)[path], wanted[path]) for path in wanted)
        before = {"out": child.results(slot)["out"]}
        assert torch.isfinite(before["out"]).all()
    assert child.go(3)[0] is FrameKind.DONE
    assert same_bits(child.results(2)["out"], before["out"]), "what was made is what was worked on"
    assert torch.isnan(child.results(3)["out"]).all(), "draws are nobody's inputs"


def test_the_null_worker_hands_back_one_result(judged):
    case = judged("mlp")
    child = started(case, NullForm(), role=ChildRole.BASELINE)
    child.ask(Deliver(), Delivered)
    child.go(2)
    assert torch.equal(child.results(0)["out"], child.results(1)["out"])
    assert torch.isfinite(child.results(0)["out"]).all()


def test_a_profile_of_compiled_code_holds_what_the_compiler_made(judged):
    case = judged("mlp")
    child = started(case, CompiledForm(mode="default"), role=ChildRole.BASELINE)
    child.ask(Deliver(), Delivered)
    run(child)
    assert_right(child.results(), case.gold[0], case.honest[0])
    profile = child.ask(AskProfile(calls=2, target=TARGET), ProfileReply)
    assert profile.call_ns > 0
    made = [kernel for kernel in profile.kernels if kernel.kind is KernelKind.GENERATED]
    called = [kernel for kernel in profile.kernels if kernel.kind is KernelKind.EXTERN]
    assert all(kernel.launch.startswith(("for ", "omp ")) for kernel in made if "relu" in kernel.nodes)
    assert any("relu" in kernel.nodes for kernel in made)
    for kernel in made:
        # Whole: it begins with its includes and ends with the brace of the function that the wrapper calls.
        assert kernel.source.lstrip().startswith(("#include", "// ")) and kernel.source.rstrip().endswith("}")
        assert 'extern "C"' in kernel.source
    assert called
    assert all(kernel.launch and not kernel.source for kernel in called)


def test_eager_code_has_no_compilers_output(judged):
    case = judged("mlp")
    child = started(case, CompiledForm(mode="eager"), role=ChildRole.BASELINE)
    child.ask(Deliver(), Delivered)
    profile = child.ask(AskProfile(calls=2, target=TARGET), ProfileReply)
    assert profile.kernels
    assert {(kernel.kind, kernel.source, kernel.launch) for kernel in profile.kernels} == {(None, "", "")}


def test_the_catalogue_is_asked(judged):
    child = kept(ChildRole.REFERENCE)
    child.open(judged("mlp").path)
    (graph,) = child.ask(AskCapture(), CaptureReply).capture.graphs
    reply = child.ask(AskProposals(target=TARGET), ProposalsReply)
    names = {node.name for node in graph.nodes}
    assert reply.declines
    assert all(decline.because for decline in reply.declines)
    assert all(set(proposal.region.nodes) <= names for proposal in reply.proposals)
    # 8 x 16 in and out, five parameters, read once; two products of 8 x 16 x 32.
    assert reply.minimal_bytes >= 2 * 8 * 16 * 4 + 2 * 16 * 32 * 4
    assert reply.product_flop == 2 * 2 * 8 * 16 * 32


def test_a_recipe_is_lowered(judged):
    case = judged("mlp")
    child = started(case, RecipeForm(recipe=Recipe()))
    assert child.ask(Deliver(), Delivered).matched_by == "name"
    for circumstance in (Circumstance.PLAIN, Circumstance.SECOND_THREAD):
        run(child, 0, circumstance)
        assert_right(child.results(), case.gold[0], case.honest[0])


def test_a_step_that_does_not_apply_says_why(judged):
    child = kept(ChildRole.CANDIDATE)
    child.open(judged("mlp").path)
    raised = child.load(RecipeForm(recipe=parse_recipe("avg_pool_as_conv")))
    assert (raised.who, raised.stage) == ("candidate", Stage.BUILD)
    assert "avg_pool_as_conv does not apply" in raised.detail
    raised = child.load(RecipeForm(recipe=parse_recipe("avg_pool_as_cnv")))
    assert "Did you mean 'avg_pool_as_conv'" in raised.detail


def test_a_live_module(judged, tmp_path):
    case = judged("mlp")
    module = opened("mlp").module
    path = tmp_path / "module.pkl"
    cloudpickle.register_pickle_by_value(sys.modules[type(module).__module__])
    path.write_bytes(cloudpickle.dumps(module))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    child = started(case, ModuleForm(where=str(path), digest=digest))
    child.ask(Deliver(), Delivered)
    run(child)
    assert_right(child.results(), case.gold[0], case.honest[0])
    raised = child.load(ModuleForm(where=str(path), digest=content_id("x", "other")))
    assert "its bytes have changed" in raised.detail


def test_acceptance_is_the_users(judged):
    child = kept(ChildRole.REFERENCE)
    child.open(FILES / "chance.py")
    description = child.describe()
    child.map(description, slots=1, wide=True)
    child.draw_parameters()
    child.draw(0, 3, Distribution.OWN)
    child.ask(Expect(slot=0))
    assert child.ask(Accept(slot=0), Accepted).accepted
    child.made.views(0)["out"].fill_(-1000.0)
    assert not child.ask(Accept(slot=0), Accepted).accepted


def test_secrets_are_for_the_reference_alone(judged):
    case = judged("mlp")
    child = started(case, EAGER)
    for request in (Describe(), DrawParameters(seed=1, draw=0), Expect(slot=0), Perturb(slot=0, seed=1)):
        raised = child.fails(request)
        assert raised.who == "strop"
        assert "only the reference may know" in raised.detail


def test_requests_out_of_order_are_answered():
    with Child(ChildRole.BASELINE) as child:
        assert "before Open" in child.fails(AskCapture()).detail
        assert "before Open" in child.fails(Deliver()).detail
        assert "before Map" in child.fails(Run(slot=0)).detail
        reply = child.go(1)
        assert reply[0] is FrameKind.RECORD
        assert reply[1].reply == "raised"
        assert child.open(FILES / "mlp.py", mode=Mode.EVAL).reply == "done"


def test_eval_mode_touches_no_state():
    child = kept(ChildRole.REFERENCE)
    child.open(FILES / "mlp.py", mode=Mode.EVAL)
    description = child.describe()
    assert description.updates == ()
    assert description.mode is Mode.EVAL


def test_a_workload_in_lower_precision():
    child = kept(ChildRole.REFERENCE)
    child.open(FILES / "mlp.py", contract="bf16")
    description = child.describe()
    child.map(description, slots=1, wide=True)
    child.draw_parameters()
    child.draw(0, 1, Distribution.OWN)
    child.ask(Expect(slot=0))
    gold = child.results()
    child.ask(Perturb(slot=0, seed=1))
    honest = child.results()
    assert description.outputs[0].tensor.dtype.value == "bfloat16"
    assert 1e-3 < worst({"out": honest["out"]}, {"out": gold["out"]}) < 0.3


def test_a_faulty_workload_is_the_workloads_fault(tmp_path):
    path = tmp_path / "bad.py"
    text = "import torch\nclass Model(torch.nn.Module): pass\ndef get_inputs(): return [1/0]"
    path.write_text(text, encoding="utf-8")
    child = kept(ChildRole.REFERENCE)
    raised = child.open(path)
    assert (raised.who, raised.error, raised.stage) == ("workload", "ZeroDivisionError", Stage.BUILD)
    assert "get_inputs() of bad.py raised ZeroDivisionError: division by zero." in raised.detail
    assert "bad.py" in raised.trace
    raised = child.open(tmp_path / "missing.py")
    assert "There is no file" in raised.detail
    assert "use device cpu" in child.open(path, device="cuda").detail
