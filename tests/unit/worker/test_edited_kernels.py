"""From the profile to an edited kernel and back: what the baseline's profile names is what a recipe changes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from strop.records.candidate import CompiledForm, RecipeForm
from strop.records.evidence import Stage
from strop.records.graph import KernelKind
from strop.records.profile import Bound, KernelProfile
from strop.records.recipe import Recipe, Step
from strop.wire.messages import (
    AskProfile,
    AskProposals,
    ChildRole,
    Deliver,
    Delivered,
    Loaded,
    ProfileReply,
    ProposalsReply,
    Raised,
    Ran,
    Run,
)
from tests.unit.transforms.kernel_samples import pointwise, profiled
from tests.unit.worker.client import TARGET, kept
from tests.unit.worker.opening import FILES

pytestmark = pytest.mark.xdist_group("worker")

MLP = FILES / "mlp.py"


def loaded(child, form):
    child.open(MLP)
    return child.load(form)


@pytest.fixture(scope="module")
def kernel():
    """The generated kernel with the activation, as the profile of the compiled baseline shows it."""
    child = kept(ChildRole.BASELINE)
    assert isinstance(loaded(child, CompiledForm(mode="default")), Loaded)
    profile = child.ask(AskProfile(calls=1, target=TARGET), ProfileReply)
    assert all(bool(each.hash) == (each.kind is KernelKind.GENERATED) for each in profile.kernels)
    return next(each for each in profile.kernels if each.kind is KernelKind.GENERATED and "relu" in each.nodes)


def edit(kernel, source):
    return RecipeForm(recipe=Recipe((Step("edit_generated_kernel", (("hash", kernel.hash), ("source", source))),)))


def results(*forms):
    """Outputs of each form on one draw of inputs."""
    reference = kept(ChildRole.REFERENCE)
    reference.open(MLP)
    description = reference.describe()
    reference.map(description, slots=1, wide=True)
    parameters, inputs = reference.draw_parameters(0), reference.draw(0, 1)
    found = []
    child = kept(ChildRole.CANDIDATE)
    child.open(MLP)
    for form in forms:
        assert isinstance(child.load(form), Loaded)
        child.map(description, slots=1)
        for path, array in child.given.views(None).items():
            array[...] = parameters[path]
        child.fill(0, inputs)
        child.ask(Deliver(), Delivered)
        child.ask(Run(slot=0), Ran)
        found.append(child.results())
    return found


def test_what_the_profile_names_is_what_the_edit_changes(kernel):
    marked = re.sub(r"(tmp\d+)\.store\(", r"(\1 + decltype(\1)(1)).store(", kernel.source)
    assert marked != kernel.source
    by_hand = edit(kernel, kernel.source + "\n// by hand\n")
    plain, same, other = results(RecipeForm(recipe=Recipe()), by_hand, edit(kernel, marked))
    assert all(np.array_equal(same[path], plain[path]) for path in plain)
    assert any(not np.allclose(other[path], plain[path], atol=1e-3) for path in plain)


def test_the_child_that_built_it_tells_what_an_edit_changed(kernel):
    child = kept(ChildRole.CANDIDATE)
    (told,) = loaded(child, edit(kernel, kernel.source.replace(".store(", ".store( ", 1))).edits
    assert (told.kernel, told.hash) == (kernel.name, kernel.hash)
    before = next(line for line in kernel.source.splitlines() if ".store(" in line)
    assert f"\n-{before}\n" in told.diff and before.replace(".store(", ".store( ", 1) in told.diff
    assert child.load(RecipeForm(recipe=Recipe())).edits == ()


def test_a_broken_edit_is_answered_with_the_compilers_words(kernel):
    child = kept(ChildRole.CANDIDATE)
    raised = loaded(child, edit(kernel, kernel.source.replace(".store(", ".stroe(", 1)))
    assert isinstance(raised, Raised)
    assert (raised.who, raised.stage, raised.error) == ("candidate", Stage.BUILD, "BadCandidate")
    assert "does not compile" in raised.detail and "stroe" in raised.detail
    raised = child.load(edit(replace(kernel, hash="k-0"), kernel.source))
    assert "no generated kernel has the hash k-0" in raised.detail and kernel.hash in raised.detail


def test_kernels_reach_the_transforms_that_change_them():
    heavy = profiled(pointwise())
    assert isinstance(heavy, KernelProfile) and heavy.bound is Bound.MEMORY
    child = kept(ChildRole.REFERENCE)
    child.open(MLP)
    gpu = replace(TARGET, device="cuda")
    reply = child.ask(AskProposals(target=gpu, kernels=(heavy,)), ProposalsReply)
    (found,) = [each for each in reply.proposals if each.step.name == "retune_generated_kernel"]
    assert found.step.argument("hash", "") == heavy.hash
    reply = child.ask(AskProposals(target=TARGET, kernels=(heavy,)), ProposalsReply)
    said = {each.transform: each.because for each in reply.declines}
    assert said["retune_generated_kernel"] == "It is made for cuda, and this is cpu."
    assert "person or an agent" in said["edit_generated_kernel"]
