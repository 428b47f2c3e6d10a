"""Small records for tests of ledger, search and loop: workloads, proposals, verdicts and timings in few words."""

from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.contract import CONTRACTS
from strop.records.decision import Decision, Drop, Judgement, Keep
from strop.records.event import Request, RunStarted
from strop.records.graph import Region
from strop.records.measurement import Comparison, Conditions, TimeDecision
from strop.records.opportunity import Legality, Opportunity, ParameterRange, Proposal
from strop.records.profile import Bound
from strop.records.recipe import Recipe, parse_recipe
from strop.records.target import Ceilings, MemoryLevel, Target
from strop.records.verdict import Failed, Inconclusive, Passed, Verdict
from strop.records.workload import SourceKind, Workload, WorkloadSource

BASELINE_NS = 1_000_000.0

WORKLOAD = Workload(
    name="examples/mlp.py", source=WorkloadSource(kind=SourceKind.FILE, where="examples/mlp.py", digest="0" * 64)
)
TARGET = Target(
    name="null",
    device="cpu",
    summary="no machine at all",
    languages=("python",),
    memory=(MemoryLevel(name="memory", size_bytes=2**30),),
    ceilings=Ceilings(copy_bytes_per_s=1e10, product_flop_per_s=(("float32", 1e11),), call_overhead_ns=1000.0),
)
CONDITIONS = Conditions(machine="m", device="cpu", threads=1, contract="fp32", versions=(("torch", "2.13.0"),))


def request(**changes) -> Request:
    return Request(**({"contract": CONTRACTS["fp32"]} | changes))


def started(**changes) -> RunStarted:
    asked = {name: changes.pop(name) for name in ("budget_s", "forbid", "seed", "search") if name in changes}
    return RunStarted(
        **({"workload": WORKLOAD, "target": TARGET, "conditions": CONDITIONS, "request": request(**asked)} | changes)
    )


def candidate(
    recipe: str = "fold", origin: Origin = Origin.CATALOGUE, legality: tuple[Legality, ...] = ()
) -> Candidate:
    return Candidate(
        workload_id=WORKLOAD.id, form=RecipeForm(recipe=parse_recipe(recipe)), origin=origin, legality=legality
    )


def comparison(speedup: float, decision: TimeDecision | None = None) -> Comparison:
    faster = TimeDecision.FASTER if speedup >= 1.01 else TimeDecision.UNDECIDED
    return Comparison(
        baseline="default",
        baseline_ns=BASELINE_NS,
        candidate_ns=BASELINE_NS / speedup,
        speedup=speedup,
        low=speedup * 0.995,
        high=speedup * 1.005,
        raw_speedup=speedup,
        decision=decision or faster,
        pairs=20,
        processes=1,
        kernel_speedup=None,
        peak_memory_ratio=1.0,
        noise_ratio=0.01,
        conditions=CONDITIONS,
    )


def verdict(what: Candidate, failed: str = "", inconclusive: str = "") -> Verdict:
    finding = Passed(check="matches_reference")
    if failed:
        finding = Failed(check=failed, because="it differs")
    if inconclusive:
        finding = Inconclusive(check=inconclusive, because="it could not look")
    return Verdict(candidate_id=what.id, findings=(finding,), isolation="C", error_ratio=1.0)


def judgement(what: Candidate, outcome: float | str) -> Judgement:
    """A speedup, or the name of the check that stops the candidate."""
    if isinstance(outcome, str):
        return Judgement(verdict=verdict(what, failed=outcome))
    return Judgement(verdict=verdict(what), comparison=comparison(outcome))


def decide(what: Candidate, found: Judgement) -> Decision:
    """The rule of the line, as far as these tests need it."""
    objection, timing = found.verdict.objection, found.comparison
    if objection is not None or timing is None:
        check = objection.check if objection else "inconclusive"
        return Drop(candidate=what, reason=check, because="it differs", comparison=timing)
    if timing.decision is not TimeDecision.FASTER:
        return Drop(candidate=what, reason="not_faster", because="it is not", comparison=timing)
    return Keep(candidate=what, verdict=found.verdict, comparison=timing)


def keep(recipe: str = "fold", speedup: float = 1.5, **changes) -> Keep:
    what = candidate(recipe, **changes)
    return Keep(candidate=what, verdict=verdict(what), comparison=comparison(speedup))


def proposal(
    step: str,
    gain_ns: float = 100_000.0,
    nodes: tuple[str, ...] = ("a", "b"),
    legality: tuple[Legality, ...] = (Legality.REASSOCIATED,),
    parameters: dict[str, tuple] | None = None,
    origin: Origin = Origin.CATALOGUE,
) -> Proposal:
    return Proposal(
        step=parse_recipe(step).steps[0],
        region=Region(graph_id="g", nodes=nodes),
        legality=legality,
        gain_ns=gain_ns,
        parameters=tuple(ParameterRange(name=name, choices=each) for name, each in (parameters or {}).items()),
        origin=origin,
    )


def opportunity(nodes: tuple[str, ...], time_ns: float, headroom_ns: float, bound: Bound = Bound.MEMORY) -> Opportunity:
    return Opportunity(
        region=Region(graph_id="g", nodes=nodes),
        kernels=("k",),
        share=time_ns / BASELINE_NS,
        time_ns=time_ns,
        bound=bound,
        headroom_ns=headroom_ns,
    )


def recipe_of(what: Candidate) -> Recipe:
    assert isinstance(what.form, RecipeForm)
    return what.form.recipe
