"""Construction: targets are found and calibrated once, logs go where STROP_LOGS says, files are written whole."""

import logging
from dataclasses import replace

import pytest

from strop import wiring
from strop.errors import NotSupported, StoreError, UnknownName, UsageError
from strop.records.target import Ceilings
from strop.sandbox import isolation
from strop.settings import Settings
from strop.targets import SHELF

CEILINGS = Ceilings(copy_bytes_per_s=1e10, product_flop_per_s=(("float32", 1e11),), call_overhead_ns=100.0)
TARGET = SHELF.get("cpu").describe(CEILINGS, 1)


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Ceilings without the seconds that it takes to measure them."""
    monkeypatch.setattr(wiring, "measure_apart", lambda name, threads: CEILINGS)


def test_the_target_is_found_or_named():
    assert wiring.find_kind("cpu").name == "cpu"
    assert wiring.find_kind(None, "cpu").device == "cpu"
    with pytest.raises(UnknownName, match="Did you mean 'cpu'"):
        wiring.find_kind("cppu")
    with pytest.raises(UsageError, match="The model lies on meta"):
        wiring.find_kind("cpu", "meta")
    with pytest.raises(NotSupported, match="This machine has: cpu"):
        wiring.find_kind(None, "meta")


def test_a_target_that_is_not_here(monkeypatch):
    monkeypatch.setattr(type(SHELF.get("cpu")), "present", lambda self: False)
    with pytest.raises(NotSupported, match="This machine has no cpu"):
        wiring.find_kind("cpu")


def test_conditions_name_everything_that_makes_times_incomparable(settings):
    target = wiring.calibrated(wiring.find_kind("cpu"), settings)
    conditions = wiring.conditions_of(target, "tf32")
    assert (conditions.device, conditions.threads, conditions.contract) == ("cpu", 1, "tf32")
    assert {"torch", "python", "numpy", "strop"} <= set(dict(conditions.versions))
    assert conditions.difference(wiring.conditions_of(target, "tf32")) == ""
    assert "contract" in conditions.difference(wiring.conditions_of(target, "fp32"))


def test_a_house_holds_ledger_and_artefacts(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    with wiring.open_house() as house:
        assert house.ledger.runs() == ()
        assert house.artefacts.folder == tmp_path / "home" / "artefacts"
    with wiring.open_house(str(tmp_path / "store")) as house:
        assert (tmp_path / "store" / "ledger.sqlite").is_file()
        assert house.artefacts.folder == tmp_path / "store" / "artefacts"
    with pytest.raises(StoreError, match="There is no ledger"), wiring.open_house(str(tmp_path / "x"), create=False):
        pass


def test_a_home_needs_no_ledger_and_makes_none(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    assert wiring.home_of().artefacts.folder == tmp_path / "home" / "artefacts"
    assert wiring.home_of(str(tmp_path / "store")).artefacts.folder == tmp_path / "store" / "artefacts"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="is nobody's home here"):
        wiring.home_of("~nobody-here/store")


def test_a_text_is_kept_under_a_name_that_follows_from_it(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path))
    with wiring.open_house() as house:
        first = wiring.keep_text(house, "level1_x", "class Model: ...")
        assert wiring.keep_text(house, "level1_x", "class Model: ...") == first
        assert wiring.keep_text(house, "level1_x", "class Model: pass") != first
        assert first.read_text() == "class Model: ..."
        assert first.suffix == ".py"


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    wiring.write_whole(tmp_path / "a" / "b", b"x")
    assert (tmp_path / "a" / "b").read_bytes() == b"x"
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["b"]
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "a" / "b").stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(StoreError, match="cannot be written"):
        wiring.write_whole(tmp_path / "a" / "b" / "c", b"x")


@pytest.fixture
def loggers():
    """Give the loggers of Strop back as they were."""
    root = logging.getLogger("strop")
    before = (root.handlers[:], root.propagate, root.level)
    root.handlers[:], root.propagate = [], True  # pytest puts handlers of its own on a logger that does not propagate
    yield
    root.handlers[:], root.propagate = before[0], before[1]
    root.setLevel(before[2])
    for name in ("strop.storage", "strop.pipeline"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_logs_go_by_room_and_level(settings, loggers, capsys):
    wiring.set_up_logging(replace(settings, logs="storage:debug, pipeline"))
    wiring.set_up_logging(replace(settings, logs="storage:debug, pipeline"))
    assert len(logging.getLogger("strop").handlers) == 1
    logging.getLogger("strop.storage.ledger").debug("deep")
    logging.getLogger("strop.pipeline").info("broad")
    logging.getLogger("strop.pipeline").debug("hidden")
    logging.getLogger("strop.capture").info("hidden")
    text = capsys.readouterr().err
    assert "deep" in text
    assert "broad" in text
    assert "hidden" not in text


def test_all_means_every_room(settings, loggers):
    wiring.set_up_logging(replace(settings, logs="all:ERROR"))
    assert logging.getLogger("strop").level == logging.ERROR


def test_no_logs_change_nothing(settings, loggers):
    wiring.set_up_logging(settings)
    assert logging.getLogger("strop").handlers == []


@pytest.mark.parametrize(("logs", "says"), [("storag", "Did you mean 'storage'"), ("storage:LOUD", "use one of")])
def test_what_logs_cannot_mean(settings, loggers, logs, says):
    with pytest.raises(UsageError, match=says):
        wiring.set_up_logging(replace(settings, logs=logs))


def test_less_isolation_than_was_asked_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(wiring, "why_not", lambda grade: "it has no Landlock" if grade == "A" else "")
    with pytest.raises(UsageError, match="asks for grade A, which this machine does not give: it has no Landlock"):
        wiring.open_wall(Settings(home=tmp_path, isolation="A"), TARGET)
    with wiring.open_wall(Settings(home=tmp_path, isolation="B"), TARGET) as wall:
        assert wall.isolation == "B"


@pytest.mark.parametrize(("device", "grade"), [("cpu", isolation.best_grade()), ("cuda", "C")])
def test_nothing_stronger_than_was_tried_is_chosen_by_itself(tmp_path, device, grade):
    with wiring.open_wall(Settings(home=tmp_path), replace(TARGET, device=device)) as wall:
        assert wall.isolation == grade
