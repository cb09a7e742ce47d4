import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import CorpusError
from seq2set.corpora.sources.rcv1 import read_tree
from seq2set.labels.labels import LabelTree

ONE_CHILD = """parent: None  child: Root  child-description: Root
parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL
parent: CCAT  child: C15  child-description: PERFORMANCE
parent: C15  child: C151  child-description: ACCOUNTS/EARNINGS
parent: Root  child: ECAT  child-description: ECONOMICS
"""
TABS = "Root\tCCAT\tECAT\n\nCCAT\tC15\nC15\tC151\n"
PARENTS = {"CCAT": None, "C15": "CCAT", "C151": "C15", "ECAT": None}


def tree_of(folder, text):
    path = folder / "tree.txt"
    path.write_text(text, encoding="utf-8")
    return read_tree(path)


@pytest.mark.parametrize("text", [ONE_CHILD, TABS])
def test_both_forms_give_the_same_tree(tmp_path, text):
    tree = tree_of(tmp_path, text)
    assert tree.parents == PARENTS
    assert LabelTree(tree.parents) == tree


def test_depth_counts_from_the_top_and_strangers_stand_there():
    tree = LabelTree(PARENTS)
    assert [tree.depth(label) for label in ("CCAT", "C15", "C151", "ECAT", "other")] == [0, 1, 2, 0, 0]
    assert list(tree.ancestors("C151")) == ["C15", "CCAT"]


def test_parents_come_first_and_equals_keep_their_order():
    labels = ("C151", "ECAT", "C15", "other", "CCAT")
    assert LabelTree(PARENTS).sort_parents_first(labels) == ("ECAT", "other", "CCAT", "C15", "C151")


def test_a_parent_under_nothing_stands_at_the_top(tmp_path):
    assert tree_of(tmp_path, "a\tb\n").parents == {"b": "a", "a": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Root\ta\tb\na\tb\n", r"tree\.txt, line 2: 'b' has two parents; the labels must form a tree"),
        ("a\tb\nb\tc\nc\ta\n", r"tree\.txt: '[abc]' stands above itself; the labels must form a tree"),
        (
            "Root\ta\nlonely\n",
            r"line 2: the line is 'lonely'; it must be a parent and its children between tabs, or 'parent",
        ),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        tree_of(tmp_path, text)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_every_label_stands_after_those_above_it(choices, random):
    # Label n hangs under an earlier label, or at the top: always a tree.
    parents = {str(n): None if choice >= n else str(choice) for n, choice in enumerate(choices)}
    labels = list(parents)
    random.shuffle(labels)
    tree = LabelTree(parents)
    ordered = tree.sort_parents_first(labels)
    assert sorted(ordered) == sorted(labels)
    place = {label: position for position, label in enumerate(ordered)}
    assert all(place[above] < place[label] for label in labels for above in tree.ancestors(label))
