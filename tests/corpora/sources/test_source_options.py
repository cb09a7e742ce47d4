import pytest

from seq2set.core.errors import InputError, UnknownNameError
from seq2set.corpora.sources.source import REMARKS, SourceOptions, add_remark
from seq2set.corpora.splits import SplitPlan


def test_what_is_not_asked_for_stays_as_the_source_has_it():
    plan = SplitPlan("random", valid=10, test=20, seed=3)
    assert SourceOptions().plan(plan) == plan


def test_sizes_and_seed_that_are_asked_for_win_even_when_they_are_zero():
    plan = SourceOptions(valid=0, test=5, seed=0).plan(SplitPlan("random", valid=10, test=20, seed=3))
    assert plan == SplitPlan("random", valid=0, test=5, seed=0)


def test_a_known_split_is_chosen():
    assert SourceOptions(split="sgm").chosen_split("rcv1", ("lyrl2004", "sgm")) == "sgm"
    assert SourceOptions().chosen_split("rcv1", ("lyrl2004", "sgm")) is None


def test_an_unknown_split_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="rcv1's split 'sgn' is not known, did you mean 'sgm'"):
        SourceOptions(split="sgn").chosen_split("rcv1", ("lyrl2004", "sgm"))


def test_a_split_is_refused_where_there_is_only_one():
    with pytest.raises(InputError, match="split is 'sgm'; medline has one split only, so name none"):
        SourceOptions(split="sgm").chosen_split("medline")


def test_remarks_add_up():
    notes = {}
    add_remark(notes, "one")
    add_remark(notes, "two")
    assert notes == {REMARKS: ["one", "two"]}
