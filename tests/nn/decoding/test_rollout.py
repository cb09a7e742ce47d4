from __future__ import annotations

import torch

from seq2set.nn.decoding.rollout import Rows, list_rows, regroup


def test_live_hypotheses_move_together_and_find_their_places_again() -> None:
    finished = torch.tensor([[True, True, False, True], [True, True, True, True], [False, True, True, False]])
    leaving = regroup(finished)
    assert leaving is not None
    assert leaving.documents.tolist() == [0, 2]
    assert leaving.hypotheses.tolist() == [[2, 0], [0, 3]]  # as wide as the third document needs
    values = torch.arange(12).view(3, 4)
    assert leaving.take(values).tolist() == [[2, 0], [8, 11]]
    rows = leaving.of(list_rows(3, 4, torch.device("cpu")))
    placed = rows.spread(torch.tensor([[10, 20], [30, 40]]), torch.full((3, 4), -1))
    assert placed.tolist() == [[20, -1, 10, -1], [-1, -1, -1, -1], [30, -1, -1, 40]]


def test_numbers_stay_those_of_the_whole_grid_after_two_regroupings() -> None:
    rows = Rows(torch.tensor([4, 7]), torch.tensor([[3, 1], [0, 2]]))
    leaving = regroup(torch.tensor([[True, True], [True, False]]))
    assert leaving is not None
    again = leaving.of(rows)
    assert (again.documents.tolist(), again.hypotheses.tolist()) == ([7], [[2]])


def test_nothing_moves_for_few_ended_rows_nor_for_none_left() -> None:
    assert regroup(torch.tensor([[False], [False], [False], [False], [True]])) is None  # 4 of 5 left
    assert regroup(torch.tensor([[False], [False], [False], [True]])) is not None  # 3 of 4 left
    assert regroup(torch.tensor([[True], [True]])) is None
