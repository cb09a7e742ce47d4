from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from running_servers import Running, Start, refused

import seq2set
from seq2set.config import catalog
from seq2set.config.run_folder import RunFolder
from seq2set.inference.model_folder import find_model_folder
from seq2set.labels.rules import make_label_rule, make_top_rule
from seq2set.server.served_model import OpenedModel, open_served
from seq2set.server.service import LabelRow, find_labels, make_label_rows


def test_the_model_says_what_it_is(shared: Running, br_run: RunFolder, served: OpenedModel) -> None:
    answer = shared.client.get("/v1/model").json()
    folder = find_model_folder(br_run.path)
    assert (answer["model"], answer["version"], answer["labels"]) == ("br", seq2set.__version__, 4)
    assert answer["card"] == (folder / "README.md").read_text(encoding="utf-8")
    assert answer["manifest"] == json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert answer["metrics"] == served.predictor.metadata["validation"]
    assert answer["about"]["corpus"]["name"] == "small"
    rule = served.predictor.tagger.rule
    assert answer["rule"]["kind"] == rule.kind
    assert answer["rule"]["in_words"] == rule.describe()
    assert (answer["rule_decides"], answer["searches"], answer["feedback"]) == (True, [], True)
    assert answer["limits"]["max_texts"] == 64


def test_the_model_says_how_its_metrics_are_shown(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = catalog.Metric("toy score", "a metric of the test", "nowhere:toy", digits=2)
    monkeypatch.setitem(catalog.METRICS, "toy", toy)
    shown = shared.client.get("/v1/model").json()["shown_metrics"]
    assert [one["name"] for one in shown] == list(catalog.list_shown())
    expected = {"title": "toy score", "summary": "a metric of the test", "digits": 2, "better": "higher"}
    assert shown[-1] == {"name": "toy"} | expected


def test_a_decoder_says_what_its_searches_do(start: Start) -> None:
    folder = Path(__file__).parents[1] / "fixtures" / "formats" / "models" / "seq2set"
    answer = start(open_served(folder)).client.get("/v1/model").json()
    assert answer["searches"] == list(catalog.SEARCHES)
    assert answer["search_summaries"] == {name: row.summary for name, row in catalog.SEARCHES.items()}


def test_labels_come_with_their_frequencies(shared: Running, served: OpenedModel) -> None:
    answer = shared.client.get("/v1/labels").json()
    labels = served.predictor.tagger.labels
    found = [(row["label"], row["frequency"]) for row in answer["labels"]]
    assert answer["total"] == 4
    assert found == list(zip(labels.names, labels.frequencies, strict=True))


def test_labels_are_searched_page_by_page(shared: Running) -> None:
    def names(**parameters: object) -> list[str]:
        answer = shared.client.get("/v1/labels", params=parameters).json()  # type: ignore[arg-type]
        return [row["label"] for row in answer["labels"]]

    everything = names()
    assert names(limit=3) + names(limit=3, offset=3) == everything
    assert names(query="RAI") == ["grain"]
    assert names(query="none such") == []


def test_labels_that_begin_like_the_query_come_first() -> None:
    rows = [LabelRow(label=name, frequency=1, threshold=None) for name in ("Stress", "Rest", "Rats", "Trest")]
    assert [row.label for row in find_labels(rows, "re")] == ["Rest", "Stress", "Trest"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=0", "limit: input should be greater than or equal to 1"),
        ("offset=x", "offset: input should be a valid integer, unable to parse string as an integer"),
    ],
)
def test_a_wrong_search_is_one_sentence(shared: Running, query: str, message: str) -> None:
    refused(shared.client.get(f"/v1/labels?{query}"), 422, "invalid", message)


def test_thresholds_stand_beside_their_labels(served: OpenedModel) -> None:
    def thresholds(rule) -> list[float | None]:  # type: ignore[no-untyped-def]
        return [row.threshold for row in make_label_rows(replace(served.served, rule=rule))]

    assert thresholds(make_label_rule([0.1, 0.2, 0.3, 0.4])) == [0.1, 0.2, 0.3, 0.4]
    assert thresholds(make_top_rule(2)) == [None] * 4


def test_figures_of_each_label_are_shown_where_training_kept_them(start: Start, served: OpenedModel) -> None:
    figures = {"label": "oil", "precision": 0.5, "recall": 1.0, "f1": 0.6667, "support": 3, "predicted": 6}
    described = replace(served.served, metadata={"per_label": [figures]})
    server = start(served._replace(served=described))
    answer = server.client.get("/v1/model").json()
    rows = {row["label"]: row for row in answer["per_label"]}
    assert (rows["oil"]["f1"], rows["oil"]["support"], rows["grain"]["f1"]) == (0.6667, 3, None)
    assert (answer["metrics"], answer["feedback"], "per_label" in answer["about"]) == ({}, False, False)
    (row,) = server.client.get("/v1/labels", params={"query": "oil"}).json()["labels"]
    assert row == rows["oil"]


def test_where_training_kept_no_figures_there_is_no_table(shared: Running, served: OpenedModel) -> None:
    expected = None if "per_label" not in served.predictor.metadata else 4
    found = shared.client.get("/v1/model").json()["per_label"]
    assert (found and len(found)) == expected
