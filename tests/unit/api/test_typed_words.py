"""From typed words to records, with the shelves and the suite that are really there."""

from dataclasses import replace

import pytest

from strop.api.candidates import candidate_named
from strop.api.running import no_agents, unchanged
from strop.api.workloads import workload_named
from strop.errors import BadWorkload, NotSupported, UnknownName, UsageError
from strop.records.candidate import Origin
from strop.records.workload import Mode, SourceKind
from strop.transforms import SHELF
from strop.wiring import open_house

TEXT = "class Model: ...\ndef get_inputs(): ...\n"


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with open_house() as opened:
        yield opened


@pytest.fixture
def workload(house, tmp_path):
    (tmp_path / "work.py").write_text(TEXT)
    return workload_named("work.py", house, "cpu", None, None)


def test_a_problem_of_a_suite_becomes_a_file_of_its_own(house, tmp_path, monkeypatch):
    place = tmp_path / "suite" / "KernelBench" / "level1"
    place.mkdir(parents=True)
    (place / "7_Relu.py").write_text(TEXT)
    found = workload_named("kernelbench:1/7", house, "cpu", Mode.EVAL, str(tmp_path / "suite"))
    assert (found.name, found.mode, found.source.kind) == ("kernelbench:1/7", Mode.EVAL, SourceKind.FILE)
    assert found.source.where.startswith(str(tmp_path / "home" / "workloads" / "level1_7_Relu-"))
    unchanged(found)
    configured = replace(house, settings=replace(house.settings, kernelbench=str(tmp_path / "suite")))
    assert workload_named("kernelbench:1/7", configured, "cpu", Mode.EVAL, None).id == found.id
    with pytest.raises(UsageError, match="needs a suite"):
        workload_named("kernelbench:1/7", house, "cpu", None, None)


def test_a_problem_whose_text_is_broken(house, tmp_path):
    place = tmp_path / "suite" / "level1"
    place.mkdir(parents=True)
    (place / "7_Relu.py").write_text("class Model: ...\n")
    with pytest.raises(BadWorkload, match="does not define get_inputs"):
        workload_named("kernelbench:1/7", house, "cpu", None, str(tmp_path / "suite"))


def test_a_recipe_promises_what_its_transforms_promise(workload):
    name = next(each.name for each in SHELF if each.origin is Origin.CATALOGUE and "cpu" in each.devices)
    found = candidate_named(name, workload)
    assert set(found.legality) == set(SHELF.get(name).legality)
    assert (found.origin, found.workload_id) == (Origin.CATALOGUE, workload.id)
    assert found.recipe == name


def test_a_transform_for_another_device(workload):
    name = next(each.name for each in SHELF if "cpu" in each.devices)
    elsewhere = replace(workload, device="meta")
    with pytest.raises(NotSupported, match="this workload runs on meta"):
        candidate_named(name, elsewhere)


def test_a_file_is_a_humans(workload, tmp_path):
    (tmp_path / "mine.py").write_text("class ModelNew: ...\n")
    found = candidate_named("mine.py", workload)
    assert (found.origin, found.idea, found.recipe) == (Origin.HUMAN, "mine.py", None)


def test_a_transform_that_is_not_there(workload):
    with pytest.raises(UnknownName, match="no transform named 'fold_bathc_norm'"):
        candidate_named("fold_bathc_norm", workload)


def test_a_workload_that_changed_or_went_since_the_run(workload, tmp_path):
    unchanged(workload)
    (tmp_path / "work.py").write_text(TEXT + "#")
    with pytest.raises(UsageError, match="has changed since the run began"):
        unchanged(workload)
    (tmp_path / "work.py").unlink()
    with pytest.raises(UsageError, match="There is no file"):
        unchanged(workload)


def test_a_factory_cannot_be_compared_by_its_bytes(house):
    unchanged(workload_named("package.module:factory", house, "cpu", None, None))


def test_agents_are_off():
    no_agents("off")
    with pytest.raises(NotSupported, match="this version has no agents yet"):
        no_agents("some-model")
