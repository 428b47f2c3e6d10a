"""CANDIDATE as people type it: a file or a recipe."""

import pytest

from strop.errors import BadCandidate, NotSupported, UnknownName
from strop.records.candidate import Origin, RecipeForm, SourceForm
from strop.records.opportunity import Legality
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.sources.candidate import human_candidate, read_candidate, recipe_candidate, recipe_form

WORKLOAD = Workload(name="w", source=WorkloadSource(kind=SourceKind.FILE, where="w", digest="0"))
SHELF = ("channels_last", "fold_batch_norm", "inductor_options")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_with_model_new_or_model(here):
    text = "class Model: ...\nclass ModelNew: ...\n"
    (here / "mine.py").write_text(text)
    assert read_candidate("mine.py", SHELF) == SourceForm(text=text, entry="ModelNew")
    assert read_candidate("mine.py:Model", SHELF) == SourceForm(text=text, entry="Model")
    (here / "plain.py").write_text("class Model: ...\n")
    assert read_candidate("./plain.py", SHELF) == SourceForm(text="class Model: ...\n", entry="Model")


def test_a_star_import_may_define_it(here):
    (here / "mine.py").write_text("from elsewhere import *\n")
    assert read_candidate("mine.py", SHELF) == SourceForm(text="from elsewhere import *\n", entry="ModelNew")


@pytest.mark.parametrize(
    ("text", "typed", "says"),
    [
        (
            "class Kernel: ...\n",
            "mine.py",
            r"does not define ModelNew or Model.*It defines Kernel: name one as mine.py",
        ),
        ("x = 1\n", "mine.py", "Its author must define class ModelNew"),
        ("class ModelNew: ...\n", "mine.py:Other", "does not define Other"),
        ("class ModelNew(:\n", "mine.py", "line 1"),
        ("class ModelNew: ...\n", "mien.py", r"There is no file 'mien.py'. Did you mean 'mine.py'\?"),
        ("class ModelNew: ...\n", "sub/mine", "There is no file 'sub/mine'"),
    ],
)
def test_a_bad_file(here, text, typed, says):
    (here / "mine.py").write_text(text)
    with pytest.raises(BadCandidate, match=says):
        read_candidate(typed, SHELF)


def test_text_that_is_not_utf8(here):
    (here / "mine.py").write_bytes(b"# coding: latin-1\nclass ModelNew: '\xe9'\n")
    with pytest.raises(BadCandidate, match="save it as UTF-8"):
        read_candidate("mine.py", SHELF)


def test_binaries_are_not_supported(here):
    with pytest.raises(NotSupported, match="wrap it in a Python file"):
        read_candidate("kernel.cubin", SHELF)


@pytest.mark.parametrize("typed", ["fold_batch_norm", 'inductor_options{mode="a/b" x=1} ; channels_last', ""])
def test_a_recipe(typed):
    form = read_candidate(typed, SHELF)
    assert isinstance(form, RecipeForm)
    assert recipe_form(str(form.recipe), SHELF) == form


def test_an_unknown_transform_offers_the_nearest():
    with pytest.raises(UnknownName, match=r"no transform named 'fold_batchnorm'. Did you mean 'fold_batch_norm'"):
        read_candidate("channels_last ; fold_batchnorm", SHELF)


@pytest.mark.parametrize("typed", ["Fold", "channels_last ;", "channels_last{x}", "a b"])
def test_what_is_neither_says_so(here, typed):
    with pytest.raises(BadCandidate, match="neither a file nor a recipe"):
        read_candidate(typed, SHELF)


def test_a_recipe_counts_as_the_compilers_only_when_every_step_does():
    form = recipe_form("channels_last ; inductor_options", SHELF)
    mixed = recipe_candidate(form, WORKLOAD, [Origin.CATALOGUE, Origin.COMPILER], [Legality.BIT_EXACT] * 2)
    assert (mixed.origin, mixed.legality) == (Origin.CATALOGUE, (Legality.BIT_EXACT,))
    assert recipe_candidate(form, WORKLOAD, [Origin.COMPILER] * 2, []).origin is Origin.COMPILER
    assert recipe_candidate(form, WORKLOAD, [Origin.CATALOGUE, Origin.HUMAN], []).origin is Origin.HUMAN


def test_a_humans_candidate_promises_nothing():
    made = human_candidate(SourceForm(text="x"), WORKLOAD, "mine.py")
    assert (made.origin, made.legality, made.idea) == (Origin.HUMAN, (), "mine.py")


def test_a_recipe_may_be_longer_than_a_file_name(here):
    typed = " ; ".join(["channels_last"] * 400)
    form = read_candidate(typed, SHELF)
    assert isinstance(form, RecipeForm) and len(form.recipe.steps) == 400
    with pytest.raises(BadCandidate, match="neither a file nor a recipe"):
        read_candidate("Fold" * 400, SHELF)


@pytest.mark.parametrize("typed", ["x\0y", "\0.py", "a/" + "b" * 5000, "b" * 5000 + ".py"])
def test_what_can_be_no_path_is_no_file(here, typed):
    with pytest.raises(BadCandidate):
        read_candidate(typed, SHELF)
