from __future__ import annotations

import csv
import gc
import io
import json
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import OutputError
from seq2set.corpora.documents import Document
from seq2set.inference import prediction_tables
from seq2set.inference.engines.blocks import TextPrediction
from seq2set.inference.prediction_files import OUTPUTS, Layout, PredictedDocument, open_writer
from seq2set.models.predictions import Suggestion
from seq2set.text.reasons import Evidence

GIVEN = TextPrediction(
    (Suggestion("grain", 0.91234567, (Evidence("Wheat", 0, 5, 0.5),)), Suggestion("oil, crude", 0.5)), None
)
NONE = TextPrediction((), "no known words")


def row(prediction: TextPrediction = GIVEN, /, **columns: Any) -> PredictedDocument:
    return PredictedDocument(Document("7", "Wheat", (), columns=columns), prediction)


def written(name: str, rows: list[PredictedDocument], layout: Layout) -> bytes:
    stream = io.BytesIO()
    with open_writer(name, stream, layout) as writer:
        for one in rows:
            writer.write([one])
        assert writer.close() == ""
    return stream.getvalue()


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_delimited_rows_keep_the_columns_and_add_three(name: str, delimiter: str) -> None:
    rows = [row(owner="an\nn", text="Wheat"), row(NONE, owner='"b", c\t', text="")]
    found = written(name, rows, Layout(["owner", "text"]))
    assert list(csv.reader(io.StringIO(found.decode(), newline=""), delimiter=delimiter)) == [
        ["owner", "text", "labels", "scores", "note"],
        ["an\nn", "Wheat", "grain;oil, crude", "0.912346;0.5", ""],
        ['"b", c\t', "", "", "", "no known words"],
    ]


def test_cells_of_every_kind_of_value() -> None:
    rows = [
        row(a=None, b=True, c=[1, "x"], d={"k": "ü"}, e=2.5),
        row(a="", b=1, c=["x;y"], d=[["z"]], e=None),
    ]
    found = list(csv.reader(io.StringIO(written("csv", rows, Layout(list("abcde"))).decode())))
    assert found[1][:5] == ["", "true", "1;x", '{"k": "ü"}', "2.5"]
    assert found[2][:5] == ["", "1", '["x;y"]', '[["z"]]', ""]


def test_a_label_with_the_separator_is_written_as_a_list() -> None:
    prediction = TextPrediction((Suggestion("a;b", 0.5), Suggestion("c", 0.25)), None)
    (_, cells) = csv.reader(io.StringIO(written("csv", [row(prediction)], Layout()).decode()))
    assert cells == ['["a;b", "c"]', "0.5;0.25", ""]


def test_json_rows_hold_what_predict_prints_and_the_columns_in_their_order() -> None:
    rows = [row(owner="ann", id=3, text="Wheat", labels="old"), row(NONE, text="\ud800")]
    first, second = map(json.loads, written("jsonl", rows, Layout(explain=True)).splitlines())
    assert list(first) == ["owner", "id", "text", "input_labels", "labels"]
    assert (first["id"], first["input_labels"]) == (3, "old")
    assert first["labels"][0] == {
        "label": "grain",
        "score": 0.912346,
        "evidence": [{"word": "Wheat", "start": 0, "end": 5, "weight": 0.5, "names_label": False}],
        "against": [],
    }
    assert second == {"id": "7", "text": "?", "labels": [], "note": "no known words"}


def test_parquet_rows_keep_the_types_of_the_input() -> None:
    layout = Layout(["n", "text"], types={"n": pa.int16()})
    table = pq.read_table(
        io.BytesIO(written("parquet", [row(n=3, text="a"), row(NONE, n=None, text="b")], layout))
    )
    assert table.schema.names == ["n", "text", "labels", "scores", "note"]
    assert table.schema.types == [
        pa.int16(),
        pa.string(),
        *map(pa.list_, (pa.string(), pa.float64())),
        pa.string(),
    ]
    assert table.to_pylist() == [
        {"n": 3, "text": "a", "labels": ["grain", "oil, crude"], "scores": [0.912346, 0.5], "note": None},
        {"n": None, "text": "b", "labels": [], "scores": [], "note": "no known words"},
    ]


def test_parquet_without_rows_or_with_evidence() -> None:
    empty = pq.read_table(io.BytesIO(written("parquet", [], Layout(["n"], types={"n": pa.int16()}))))
    assert (empty.num_rows, empty.schema.types[0]) == (0, pa.int16())
    told = pq.read_table(io.BytesIO(written("parquet", [row(n=None)], Layout(["n"], explain=True))))
    assert json.loads(told["evidence"][0].as_py())[0][0]["word"] == "Wheat"
    assert told.schema.types[0] == pa.string()


@pytest.mark.parametrize("values", [(1, "x"), ({"a": 1}, 3)])
def test_values_of_several_types_in_one_parquet_column(values: tuple[Any, Any]) -> None:
    with pytest.raises(OutputError, match="a column holds values of several types.*; write .jsonl instead"):
        written("parquet", [row(n=value) for value in values], Layout(["n"]))
    with pytest.raises(OutputError, match="a column holds values of several types"):
        with open_writer("parquet", io.BytesIO(), Layout(["n"])) as writer:
            writer.write([row(n=value) for value in values])


def test_a_spreadsheet(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(owner="=1+1", n=2), row(NONE, owner="a\x00b", n=None)]
    sheet = openpyxl.load_workbook(io.BytesIO(written("xlsx", rows, Layout(["owner", "n"])))).active
    assert list(sheet.values) == [
        ("owner", "n", "labels", "scores", "note"),
        ("=1+1", 2, "grain;oil, crude", "0.912346;0.5", None),
        ("a b", None, None, None, "no known words"),
    ]
    assert sheet["A2"].data_type == "s"
    monkeypatch.setattr(prediction_tables, "LONGEST_CELL", 4)
    with open_writer("xlsx", io.BytesIO(), Layout(["n"])) as writer:
        writer.write([row(NONE, n="12345")])
        assert writer.close() == "4 cells were cut at 4 characters, the most that a sheet can hold"
    monkeypatch.setattr(prediction_tables, "ROWS_PER_SHEET", 2)
    with pytest.raises(OutputError, match="a sheet holds 2 rows, and there are more; write .csv instead"):
        written("xlsx", rows, Layout(["owner"]))


@pytest.mark.parametrize("name", OUTPUTS)
def test_work_that_fails_leaves_the_stream_open(name: str) -> None:
    stream = io.BytesIO()
    with pytest.raises(KeyError), open_writer(name, stream, Layout(["n"])) as writer:
        writer.write([row(n="x")])
        raise KeyError
    gc.collect()
    assert not stream.closed
