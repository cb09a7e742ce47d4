"""Examples as numbers, and side by side in batches."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from loops import encoded

from seq2set.core.errors import ConfigError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import Split
from seq2set.corpora.readers import parquet
from seq2set.corpora.splits import SplitPlan
from seq2set.labels.labels import Labels
from seq2set.models.tagger import Examples
from seq2set.text.batches import bucket_by_length
from seq2set.text.vocabulary import Words
from seq2set.training import examples as module
from seq2set.workflows.training_data import load_examples
from tiny_networks import tiny_config

# Frequencies: b 4, a 3, c 1, so that the labels' numbers are b 0, a 1, c 2.
SETS = [("a", "b"), ("b",), (), ("c", "b", "a"), ("a", "b")]
EXAMPLES = Examples(["x y z", "x", "", "y y x y", "z"], SETS, ["d1", "d2", "d3", "d4", "d5"])


def sequences(*settings: str, examples: Examples = EXAMPLES) -> list[list[int]]:
    return [row.tolist() for row in encoded(tiny_config(*settings), examples).sequences]


def test_labels_come_in_the_order_to_learn() -> None:
    assert sequences() == [[0, 1], [0], [], [0, 1, 2], [0, 1]]
    assert sequences("label_order.kind=ascending") == [[1, 0], [0], [], [2, 1, 0], [1, 0]]
    given = ["label_order.kind=given", 'label_order.given=["c", "b"]']
    assert sequences(*given) == [[0, 1], [0], [], [2, 0, 1], [0, 1]]


def test_parents_come_before_children() -> None:
    # c stands at the top, a below it, b below a.
    tree = Examples(EXAMPLES.texts, SETS, depths={"c": 0, "a": 1, "b": 2})
    assert sequences("label_order.kind=tree", examples=tree) == [[1, 0], [0], [], [2, 1, 0], [1, 0]]
    assert tree.pick(np.array([3])).depths == tree.depths


def test_a_tree_is_needed_for_its_order() -> None:
    with pytest.raises(ConfigError, match="label_order.kind is 'tree'; the corpus must have a label tree"):
        sequences("label_order.kind=tree")


def test_shuffled_orders_hold_the_same_labels_and_follow_the_seed() -> None:
    many = Examples(["x"] * 40, [("a", "b", "c")] * 40)
    first, again = (sequences("label_order.kind=shuffled", examples=many) for _ in range(2))
    other = sequences("label_order.kind=shuffled", "seed=2", examples=many)
    assert first == again != other
    assert {tuple(row) for row in first} == {(i, j, 3 - i - j) for i in range(3) for j in range(3) if i != j}


def test_a_batch_by_hand() -> None:
    # Words by frequency: x 3, y 4, z 2 -> y 2, x 3, z 4; 0 is padding, 1 unknown.
    batch = encoded(tiny_config(), EXAMPLES).batch(np.array([3, 2, 0]))
    assert batch.ids.tolist() == [[2, 2, 3, 2], [1, 0, 0, 0], [3, 2, 4, 0]]
    assert batch.lengths.tolist() == [4, 1, 3]
    assert batch.sequences.tolist() == [[0, 1, 2], [5, 5, 5], [0, 1, 5]]
    assert batch.gold.tolist() == [[True, True, True], [False, False, False], [True, True, False]]
    assert batch.margins is None


def test_only_the_first_words_are_read_and_only_the_frequent_ones_known() -> None:
    examples = encoded(tiny_config("encoder.max_words=2", "encoder.words=1"), EXAMPLES)
    assert [row.tolist() for row in examples.words] == [[1, 2], [1], [], [2, 2], [1]]
    assert examples.lengths.tolist() == [2, 1, 1, 2, 1]


def test_a_batch_moves_to_a_device_with_its_margins() -> None:
    batch = encoded(tiny_config(), EXAMPLES).batch(np.array([0, 1]))._replace(margins=torch.ones(2, 3))
    moved = batch.to(torch.device("meta"))
    assert all(part is not None and part.device.type == "meta" for part in moved)


def test_memory_hardly_grows_with_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DOCUMENTS_PER_BLOCK", 64)
    monkeypatch.setattr(parquet, "AT_A_TIME", 64)
    documents = [Document(f"d{n}", f"w{n % 7} " * 40, (f"l{n % 3}",), "train") for n in range(4000)]

    def peak(count: int) -> int:
        folder = prepare(
            documents[:count],
            tmp_path / str(count),
            name="c",
            source="s",
            licence="n",
            plan=SplitPlan("given"),
        ).folder
        examples = load_examples(Split(folder / "train.parquet", "train"))
        encoded(tiny_config(), examples)  # what is loaded late
        tracemalloc.start()
        numbers = encoded(tiny_config(), examples)
        plan = bucket_by_length(numbers.lengths, 10, seed=1, epoch=0)
        assert sum(len(numbers.batch(batch).ids) for batch in plan) == len(examples) > 0.7 * count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    # In lists, 40 words and a label were about 700 bytes for each document; 4 of the order, 2 of the lengths
    # and 8 of a batch remain, and up to 64 documents at a time.
    few, many = peak(1000), peak(4000)
    assert many - few < 60 * 3000


def test_numbers_go_to_the_folder_that_is_named(tmp_path: Path) -> None:
    labels, words = Labels.build(SETS), Words.build(EXAMPLES.texts, **tiny_config().text.model_dump())
    taken = EXAMPLES, tiny_config(), words, labels, None
    assert list(module.encode_examples(*taken, tmp_path).words[0]) == list(
        encoded(tiny_config(), EXAMPLES).words[0]
    )
    with pytest.raises(FileNotFoundError, match="nowhere"):
        module.encode_examples(*taken, tmp_path / "nowhere")
