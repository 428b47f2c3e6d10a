"""Candidates that are wrong, lucky or cheating: what the worker reports about them, never what it decides."""

import pytest
import torch

from strop.records.candidate import SourceForm
from strop.records.evidence import Circumstance, Stage
from strop.wire.frames import FrameKind
from strop.wire.messages import ChildRole, Deliver, Delivered, Loaded, Ran, Run
from tests.unit.worker.client import Child, kept
from tests.unit.worker.opening import FILES

pytestmark = pytest.mark.xdist_group("worker")

MLP = (FILES / "mlp.py").read_text(encoding="utf-8").replace("class Model(", "class ModelNew(")
LINE = "return self.second(torch.relu(self.norm(self.first(x))).clamp(max=2.5))"
assert LINE in MLP


@pytest.fixture(scope="module")
def child():
    """One candidate's child for all; each test loads another form into it."""
    reference = kept(ChildRole.REFERENCE)
    reference.open(FILES / "mlp.py")
    description = reference.describe()
    reference.map(description, slots=2)
    parameters = reference.draw_parameters(1, seed=4)
    inputs = [reference.draw(slot, seed) for slot, seed in ((0, 1), (1, 2))]
    with Child(ChildRole.CANDIDATE) as candidate:
        candidate.open(FILES / "mlp.py")
        candidate.map(description, 2)
        candidate.description, candidate.parameters, candidate.inputs = description, parameters, inputs
        yield candidate


def prepared(child, text, *, deliver=True):
    reply = child.load(SourceForm(text=text))
    assert isinstance(reply, Loaded), reply
    child.map(child.description, 2)
    for path, tensor in child.given.views(None).items():
        tensor.copy_(child.parameters[path])
    for slot in (0, 1):
        child.fill(slot, child.inputs[slot])
    return child.ask(Deliver(), Delivered) if deliver else None


def ran(child, circumstance=Circumstance.PLAIN, slot=0):
    child.made.poison()
    reply = child.ask(Run(slot=slot, circumstance=circumstance), Ran)
    return reply, child.results(slot)


def with_forward(body, init="pass"):
    text = MLP.replace(LINE, body)
    return text.replace("super().__init__()", f"super().__init__()\n        {init}")


@pytest.fixture(scope="module")
def honest(child):
    prepared(child, MLP)
    return ran(child)[1]["out"]


def test_an_honest_candidate(child, honest):
    delivered = prepared(child, MLP)
    assert (delivered.matched_by, delivered.missing) == ("name", ())
    reply, results = ran(child)
    assert torch.equal(results["out"], honest)
    assert (reply.aliases, reply.changed_parameters) == ((), ())
    assert torch.isfinite(results["state:buffers:norm.running_mean"]).all()


def test_model_is_accepted_where_there_is_no_modelnew(child, honest):
    prepared(child, MLP.replace("ModelNew", "Model"))
    assert torch.equal(ran(child)[1]["out"], honest)


def test_other_names_are_matched_by_shape(child, honest):
    text = MLP.replace("self.first", "self.alpha").replace("self.second", "self.omega")
    delivered = prepared(child, text)
    assert (delivered.matched_by, delivered.missing) == ("shape", ())
    assert torch.equal(ran(child)[1]["out"], honest)


def test_other_parameters_are_missing(child):
    delivered = prepared(child, MLP.replace("nn.Linear(hidden, features)", "nn.Linear(hidden, features, bias=False)"))
    assert (delivered.matched_by, delivered.missing) == ("seed", ("second.bias",))


def test_counters_need_not_be_kept(child):
    gone = "nn.BatchNorm1d(hidden)\n        self.norm.num_batches_tracked = None"
    delivered = prepared(child, MLP.replace("nn.BatchNorm1d(hidden)", gone))
    assert (delivered.matched_by, delivered.missing) == ("name", ())


WRONG_RESULTS = {
    "shape": ("return " + LINE[7:] + "[:4]", (4, 16), "float32"),
    "type": ("return (" + LINE[7:] + ").half()", (8, 16), "float16"),
    "double": ("return (" + LINE[7:] + ").double()", (8, 16), "float64"),
}


@pytest.mark.parametrize("body", WRONG_RESULTS.values(), ids=WRONG_RESULTS)
def test_results_that_do_not_fit_are_reported_and_not_copied(child, body):
    text, shape, dtype = body
    prepared(child, with_forward(text))
    reply, results = ran(child)
    (leaf,) = reply.outputs
    assert (leaf.tensor.shape, leaf.tensor.dtype.value) == (shape, dtype)
    assert torch.isnan(results["out"]).all()


def test_no_result_at_all(child):
    prepared(child, with_forward("return None"))
    reply, results = ran(child)
    assert reply.outputs == ()
    assert torch.isnan(results["out"]).all()


def test_results_in_a_tuple_are_copied_by_position(child, honest):
    prepared(child, with_forward("return (" + LINE[7:] + ",)"))
    reply, results = ran(child)
    assert [leaf.path for leaf in reply.outputs] == ["out[0]"]
    assert torch.equal(results["out"], honest)


def test_expanded_results_show_their_strides(child):
    prepared(child, with_forward("return x.new_zeros(1, 16).expand(8, 16)"))
    reply, results = ran(child)
    assert reply.outputs[0].tensor.stride == (0, 1)
    assert torch.equal(results["out"], torch.zeros(8, 16))


ALIASES = {
    "the input": "return x",
    "a view of the input": "return x.view(16, 8).t().contiguous() if False else x[:, :]",
    "the same buffer": "self.kept.copy_(x * 2); return self.kept",
}


@pytest.mark.parametrize("body", ALIASES.values(), ids=ALIASES)
def test_shared_memory_is_seen(child, body):
    prepared(child, with_forward(body, init="self.kept = torch.zeros(8, 16)"))
    # At the very first run, too: results of the warm-up are earlier results.
    assert ran(child)[0].aliases == ("out",)
    assert ran(child)[0].aliases == ("out",)


def test_fresh_results_share_nothing(child):
    prepared(child, MLP)
    for _ in range(4):
        assert ran(child)[0].aliases == ()


def test_changed_parameters_are_seen(child):
    prepared(child, with_forward(f"self.first.weight.data[0, 0] += 1; {LINE}"))
    assert ran(child)[0].changed_parameters == ("first.weight",)


def test_changed_inputs_stay_changed_in_the_arena(child):
    prepared(child, with_forward(f"y = {LINE[7:]}; x.zero_(); return y"))
    ran(child)
    assert not child.given.views(0)["args[0]"].any()


MEMORY = {
    Circumstance.SAME_ADDRESS: "k = x.data_ptr()",
    Circumstance.REPEATED: "self.n = getattr(self, 'n', 0) + 1; k = self.n > 2",
}


@pytest.mark.parametrize(("circumstance", "key"), MEMORY.items(), ids=[each.value for each in MEMORY])
def test_memory_shows_under_circumstances(child, honest, circumstance, key):
    body = f"""{key}
        if k not in SEEN:
            SEEN[k] = {LINE[7:]}
        return SEEN[k].clone()"""
    if circumstance is Circumstance.REPEATED:
        body = f"{key}\n        return ({LINE[7:]}) * (2 if k else 1)"
    prepared(child, with_forward(body) + "\nSEEN = {}\n")
    assert not torch.equal(ran(child, circumstance)[1]["out"], honest)


def test_a_pack_of_the_class_shows_in_a_second_instance(child, honest):
    body = """PACK.setdefault(0, id(self))
        return torch.full((8, 16), float(PACK[0] == id(self)))"""
    prepared(child, with_forward(body) + "\nPACK = {}\n")
    assert (ran(child)[1]["out"] == 1).all()
    assert (ran(child, Circumstance.SECOND_INSTANCE)[1]["out"] == 0).all()
    assert (ran(child)[1]["out"] == 1).all()


def test_alignment_shows_when_relocated(child, honest):
    body = f"return ({LINE[7:]}) * (1 if x.data_ptr() % 64 == 0 else 2)"
    prepared(child, with_forward(body))
    assert torch.equal(ran(child)[1]["out"], honest)
    assert not torch.equal(ran(child, Circumstance.RELOCATED)[1]["out"], honest)


def test_threads_show(child, honest):
    body = f"return ({LINE[7:]}) * (1 if threading.current_thread() is threading.main_thread() else 2)"
    prepared(child, "import threading\n" + with_forward(body))
    assert torch.equal(ran(child)[1]["out"], honest)
    assert not torch.equal(ran(child, Circumstance.SECOND_THREAD)[1]["out"], honest)


def test_each_run_starts_from_the_delivered_buffers(child):
    prepared(child, MLP)
    means = [ran(child)[1]["state:buffers:norm.running_mean"] for _ in range(3)]
    assert torch.equal(means[0], means[2])


def test_a_subclass_cannot_lie_about_itself(child, honest):
    body = f"return ({LINE[7:]}).half().as_subclass(Liar)"
    liar = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.dtype.__get__:
            return torch.float32
        return super().__torch_function__(func, types, args, kwargs or {})
"""
    prepared(child, with_forward(body) + liar)
    reply, results = ran(child)
    assert reply.outputs[0].tensor.dtype.value == "float16"
    assert torch.isnan(results["out"]).all()


def test_repack_is_called_after_a_delivery(child, honest):
    text = (
        with_forward("return self.packed(x)")
        + """
    def repack(self):
        weights = (self.first, self.norm, self.second)
        self.packed = lambda x: self.second(torch.relu(self.norm(self.first(x))).clamp(max=2.5))
        self.count = getattr(self, "count", 0) + 1
"""
    )
    text = text.replace(
        "return self.packed(x)",
        f"""if not hasattr(self, "packed"):
            {LINE}
        return self.packed(x) * self.count""",
    )
    # The class body continues behind forward(), so repack() is moved there.
    head, tail = text.split("def get_init_inputs", 1)
    functions, repack = tail.split("    def repack", 1)
    prepared(child, head.rstrip() + "\n\n    def repack" + repack + "\n\ndef get_init_inputs" + functions)
    assert torch.allclose(ran(child)[1]["out"], honest)
    assert child.ask(Deliver(), Delivered).setup_s >= 0
    assert torch.allclose(ran(child)[1]["out"], 2 * honest)


BROKEN = {
    "syntax": ("def (:", "SyntaxError", "Importing the candidate raised SyntaxError"),
    "no class": ("x = 1", "BadCandidate", "defines no class ModelNew"),
    "near name": ("class ModelNwe: pass", "BadCandidate", "Did you mean 'ModelNwe'?"),
    "arguments": (MLP.replace("features, hidden):", "features):"), "TypeError", "Building ModelNew raised TypeError"),
    "forward": (
        with_forward("raise RuntimeError('no kernel')"),
        "RuntimeError",
        "raised RuntimeError: no kernel.",
    ),
    "exit": (with_forward("raise SystemExit(0)"), "SystemExit", "raised SystemExit"),
    "interrupt": (with_forward("raise KeyboardInterrupt"), "KeyboardInterrupt", "raised KeyboardInterrupt"),
    "blame": (
        "from strop.errors import BadWorkload\nraise BadWorkload('It was you.')",
        "BadWorkload",
        "It was you.",
    ),
    "unprintable": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
        "E",
        "its message cannot be printed",
    ),
}


@pytest.mark.parametrize(("text", "error", "says"), BROKEN.values(), ids=BROKEN)
def test_what_a_candidate_raises_is_its_own_fault(child, text, error, says):
    raised = child.load(SourceForm(text=text))
    assert raised.reply == "raised"
    assert (raised.who, raised.error, raised.stage) == ("candidate", error, Stage.BUILD)
    assert says in raised.detail


def test_raising_later(child):
    body = f"self.n = getattr(self, 'n', 0) + 1\n        if self.n > 3: raise MemoryError\n        {LINE}"
    prepared(child, with_forward(body))
    assert ran(child)[0].reply == "ran"
    raised = child.fails(Run(slot=0))
    assert (raised.who, raised.stage) == ("candidate", Stage.VALUES)
    assert "more memory than it may have" in raised.detail
    kind, raised = child.go(5)
    assert kind is FrameKind.RECORD
    assert (raised.who, raised.stage) == ("candidate", Stage.TIME)
    prepared(child, MLP)
    assert child.go(2)[0] is FrameKind.DONE


def test_printing_and_closed_streams_do_not_reach_the_protocol(child, honest):
    body = f"print('x' * 100000); import sys; sys.stdout.flush(); {LINE}"
    prepared(child, with_forward(body))
    assert torch.equal(ran(child)[1]["out"], honest)


def test_a_process_that_leaves_is_seen():
    with Child(ChildRole.CANDIDATE) as own:
        own.open(FILES / "mlp.py")
        with pytest.raises(EOFError, match="ended: 0"):
            own.load(SourceForm(text="import os; os._exit(0)"))
