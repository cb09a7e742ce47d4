from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import InputError
from seq2set.text.batches import bucket_by_length, collate, shard
from seq2set.text.vocabulary import PAD, UNK


def test_documents_are_padded_to_the_longest_of_the_batch():
    documents = [np.array(ids, dtype=np.int32) for ids in ([5, 6, 7], [8], [2, 3, 4, 5], [9, 4])]
    batch = collate(documents, [3, 0, 1])
    assert batch.ids.tolist() == [[9, 4, PAD], [5, 6, 7], [8, PAD, PAD]]
    assert batch.lengths.tolist() == [2, 3, 1]
    assert batch.index.tolist() == [3, 0, 1]
    assert {tensor.dtype for tensor in batch} == {torch.int64}


def test_a_document_without_words_is_one_unknown_word():
    empty = np.zeros(0, dtype=np.int32)
    batch = collate([empty, np.array([7, 8], dtype=np.int32)], np.array([0, 1]))
    assert batch.ids.tolist() == [[UNK, PAD], [7, 8]]
    assert batch.lengths.tolist() == [1, 2]
    assert collate([empty], [0]).ids.tolist() == [[UNK]]


def test_an_empty_batch_is_refused():
    with pytest.raises(InputError, match="a batch of 0 documents cannot be made; at least one is needed"):
        collate([np.array([1])], [])


def test_the_batch_does_not_share_memory_with_its_index():
    index = np.array([0, 0])
    batch = collate([np.array([4])], index)
    index[:] = 9
    assert batch.index.tolist() == [0, 0]


def buckets(lengths, size=4, seed=1, epoch=0, **more):
    return bucket_by_length(lengths, size, seed=seed, epoch=epoch, **more)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 500), max_size=120), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_every_document_is_in_one_batch_once(lengths, size, window, epoch):
    batches = buckets(lengths, size, epoch=epoch, window=window)
    assert sorted(np.concatenate([[], *batches]).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sum(len(batch) < size for batch in batches) <= 1
    for batch in batches:
        sizes = [max(lengths[place], 1) for place in batch]
        assert sizes == sorted(sizes)


def lists(batches):
    return [batch.tolist() for batch in batches]


def test_seed_and_epoch_decide_the_order():
    lengths = np.random.default_rng(0).integers(1, 300, 200)
    once = lists(buckets(lengths))
    assert lists(buckets(lengths)) == once
    assert lists(buckets(lengths, epoch=1)) != once
    assert lists(buckets(lengths, seed=2)) != once
    assert sorted(lists(buckets(lengths, epoch=1))) != sorted(once)  # other company, not only another order


def test_long_batches_do_not_come_last():
    lengths = np.arange(1, 401)
    firsts = [int(batch[0]) for batch in buckets(lengths, 4)]
    assert firsts != sorted(firsts)
    # The mean length of the first half of the batches is about that of all, 200.
    assert 120 < np.mean([lengths[batch].mean() for batch in buckets(lengths, 4)[:50]]) < 280


def padding_share(lengths, batches):
    cells = sum(len(batch) * lengths[batch].max() for batch in batches)
    return 1 - sum(lengths[batch].sum() for batch in batches) / cells


def test_little_padding_on_lengths_like_those_of_abstracts():
    # Abstracts: log-normal around 190 words, between 15 and 500.
    generator = np.random.default_rng(1)
    lengths = generator.lognormal(np.log(190), 0.35, 10_000).clip(15, 500).astype(int)
    shuffled = np.split(generator.permutation(9984), 156)
    assert padding_share(lengths, shuffled) > 0.4
    assert padding_share(lengths, buckets(lengths, 64)) < 0.08


def test_processes_share_each_batch():
    batches = [np.array([4, 2, 9, 7, 1]), np.array([3])]
    assert lists(shard(batches, 0, 2)) == [[4, 9, 1], [3]]
    assert lists(shard(batches, 1, 2)) == [[2, 7], [3]]  # no process may miss a step
    assert lists(shard(batches, 0, 1)) == lists(batches)


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_outside_of_the_world_is_refused(rank):
    with pytest.raises(InputError, match=rf"rank is {rank}; it must lie in \[0, 1\], for 2 processes"):
        shard([np.array([1])], rank, 2)


@pytest.mark.parametrize(("size", "window"), [(0, 1), (1, 0)])
def test_sizes_below_one_are_refused(size, window):
    with pytest.raises(InputError, match=f"batch_size is {size} and window {window}; both must be >= 1"):
        buckets([1, 2], size, window=window)
