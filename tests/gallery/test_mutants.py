"""Seeded faults are caught: one in 48 of them with every test run, all of them by `tools/mutation_test.py`."""

import ast

import pytest

from strop.records.verdict import Failed
from tests.gallery.bench import open_bench
from tests.gallery.mutants import EQUIVALENT, all_mutants

MUTANTS = all_mutants()
SAMPLE = [mutant for mutant in MUTANTS if mutant.name not in EQUIVALENT][::48]


@pytest.fixture(scope="module")
def bench():
    with open_bench() as opened:
        yield opened


def sampled():
    return [
        pytest.param(mutant, id=mutant.name, marks=pytest.mark.xdist_group(str(mutant.workload))) for mutant in SAMPLE
    ]


@pytest.mark.parametrize("mutant", sampled())
def test_a_seeded_fault_is_caught(bench, mutant, tmp_path):
    path = tmp_path / f"{mutant.kernel.stem}.py"
    path.write_text(mutant.text, encoding="utf-8")
    verdict = bench.judge(path, mutant.workload).verdict
    assert any(isinstance(finding, Failed) for finding in verdict.findings), mutant.text


def test_mutants_are_many_different_and_all_python():
    assert len(MUTANTS) >= 200 and len({mutant.kernel for mutant in MUTANTS}) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert all(ast.parse(mutant.text) for mutant in MUTANTS)
    assert all(mutant.text != mutant.kernel.read_text(encoding="utf-8") for mutant in MUTANTS)


def test_what_is_called_equivalent_exists_and_says_why():
    assert set(EQUIVALENT) <= {mutant.name for mutant in MUTANTS}
    assert all(len(why) > 10 for why in EQUIVALENT.values())
