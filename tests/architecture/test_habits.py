"""The smaller laws: nothing swallows everything, only the surfaces print, quantities carry units, words are listed."""

from tests.architecture import habits
from tests.architecture.tree import PACKAGE, ROOT


def test_nothing_swallows_everything():
    assert habits.broad_excepts(PACKAGE) == []


def test_only_the_surfaces_print():
    assert habits.prints(PACKAGE) == []


def test_quantities_carry_their_unit():
    assert habits.fields_without_unit(PACKAGE) == []


def test_every_record_is_a_listed_word():
    words = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    assert habits.unlisted_words(PACKAGE, words) == []
