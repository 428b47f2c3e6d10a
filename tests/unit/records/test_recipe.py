"""A recipe prints as one line and parses back to itself; bad text says what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.records.recipe import Recipe, RecipeSyntaxError, Step, parse_recipe

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
steps = st.builds(
    lambda name, arguments: Step(name, tuple(arguments.items())), names, st.dictionaries(names, scalars, max_size=4)
)


@given(st.lists(steps, max_size=4))
def test_parsing_what_was_printed_gives_the_same_recipe(parts):
    recipe = Recipe(tuple(parts))
    again = parse_recipe(str(recipe))
    assert again == recipe
    assert [[type(v) for _, v in s.arguments] for s in again.steps] == [
        [type(v) for _, v in s.arguments] for s in recipe.steps
    ]


def test_the_form_shown_in_the_documentation():
    recipe = parse_recipe("split_gemm{scheme=fp16x3 bm=128} ; cuda_graph")
    assert [step.name for step in recipe.steps] == ["split_gemm", "cuda_graph"]
    assert recipe.steps[0].argument("bm", 0) == 128
    assert recipe.steps[0].argument("bn", 64) == 64
    assert str(recipe) == "split_gemm{bm=128 scheme=fp16x3} ; cuda_graph"


def test_the_empty_recipe_is_the_compilers_own_version():
    assert parse_recipe("  ") == Recipe() and str(Recipe()) == ""
    assert parse_recipe("a").then(parse_recipe("b")) == parse_recipe("a ; b")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a ;", "a step is missing"),
        ("a{b}", "write key=value"),
        ("a{b=1 b=2}", "given twice"),
        ("a{b=1", "is not a step"),
        ('a{b="1}', "not closed"),
        ("Big", "lower case"),
    ],
)
def test_bad_text_says_what_is_wrong(text, says):
    with pytest.raises(RecipeSyntaxError, match=says):
        parse_recipe(text)


def test_a_recipe_says_whether_it_brings_code():
    assert not parse_recipe("a{b=1} ; c").brings_code
    assert parse_recipe('a{b=1} ; c{source="x = 1"}').brings_code
    assert parse_recipe('c{source=""}').brings_code
