"""The code on the page about Python runs, and gives what the page says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def values(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the code; return the value of each line that is an expression, by its source."""
    seen = {}
    for part in ast.parse(code).body:
        source = ast.get_source_segment(code, part) or ""
        if isinstance(part, ast.Expr):
            seen[source] = eval(source, names)
        else:
            exec(compile(ast.Module([part], []), "python.md", "exec"), names)
    return seen


def test_the_code_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    for block in BLOCKS:
        seen |= values(block, names)
    assert seen['tagger.predict(["a tariff on the wheat harvest"])'] == [("grain", "trade")]
    assert seen["tagger.score(texts, label_sets)"] == 1
    assert seen["tagger.classes_"].tolist() == ["grain", "oil", "trade"]
    assert seen['by_matrix.predict(["a tariff on the wheat harvest"])'].tolist() == [[1, 0, 1]]
    table = 'Seq2SetClassifier(model="br").fit(table, "tags", text="body").predict(table.head(2))'
    assert seen[table] == [("grain",), ("oil",)]
    shape = 'cross_val_predict(Seq2SetClassifier(model="br"), texts, matrix, cv=3).shape'
    assert seen[shape] == (60, 3)
    assert capsys.readouterr().out.startswith("grain 0.")
    assert (tmp_path / "wheat-model" / "manifest.json").is_file()
