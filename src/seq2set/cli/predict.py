"""`seq2set predict`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2set.cli import options

if TYPE_CHECKING:
    from seq2set.inference.predictor import Prediction, Predictor, TextItem


def predict(
    model: options.ModelFolder,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Texts; without any, lines of standard input."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", help="A CSV, TSV, JSONL or Parquet file with a text column.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--output", help="Write JSON lines here.")] = None,
    text_column: options.Text = "text",
    id_column: options.Id = "id",
    encoding: options.Encoding = "utf-8",
    threshold: options.Threshold = None,
    top_k: options.TopK = None,
    max_labels: Annotated[int | None, typer.Option(help="Return at most this many labels.")] = None,
    min_labels: Annotated[
        int, typer.Option(help="Return at least this many labels, also without known words.")
    ] = 0,
    search: options.Search = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Name the words that each label rests on.")
    ] = False,
    as_json: options.JsonLines = False,
) -> None:
    """Assign labels to texts. One without a word that the model knows gets none, and a note."""
    from seq2set.core.errors import InputError
    from seq2set.inference.predictor import Predictor
    from seq2set.models.predictions import Request

    if texts and source:
        raise InputError("texts are given both as arguments and by --input; give one of the two")
    request = Request(threshold, max_labels, min_labels, search, explain, top_k=top_k)
    predictor = Predictor.open(model)
    watched = _CutTexts(predictor)
    items = watched.pass_on(_read_items(texts, source, text_column, id_column, encoding))
    answers = predictor.stream(items, request)
    if out is not None:
        _write(answers, out, explain)
        typer.echo(f"the labels are in {out} (texts: {watched.texts:,})", err=True)
    elif as_json:
        for answer in answers:
            typer.echo(json.dumps(answer.to_dict(explain=explain), ensure_ascii=False))
    else:
        from seq2set.cli.console import print_prediction

        for answer in answers:
            print_prediction(answer)
    watched.tell()


class _CutTexts:
    """Counts the texts that a network does not read to their end; a linear model reads them all."""

    def __init__(self, predictor: Predictor):
        self.count_cut = getattr(predictor.tagger, "count_cut", None)
        self.most = predictor.tagger.config.encoder.max_words
        self.texts = self.cut = 0

    def pass_on(self, items: Iterable[TextItem]) -> Iterator[TextItem]:
        for item in items:
            self.texts += 1
            self.cut += self.count_cut([item.text]) if self.count_cut else 0
            yield item

    def tell(self) -> None:
        if self.cut:
            from seq2set.models.neural import describe_cut

            typer.echo(describe_cut(self.cut, self.texts, self.most), err=True)


def _read_items(
    texts: list[str] | None, source: Path | None, text_column: str, id_column: str, encoding: str
) -> Iterator[TextItem]:
    from seq2set.inference.predictor import TextItem

    if source is not None:
        from seq2set.corpora.readers import ReadOptions, read_documents

        options = ReadOptions(text=text_column, id=id_column, labels=None, encoding=encoding)
        for document in read_documents(source, options):
            yield TextItem(document.id, document.text)
        return
    for number, text in enumerate(texts or _read_standard_input(encoding), start=1):
        yield TextItem(str(number), text)


def _read_standard_input(encoding: str) -> Iterator[str]:
    """Give the lines of standard input in an encoding that does not depend on the locale."""
    from seq2set.core.errors import InputError

    typer.echo("reading texts from standard input, one per line", err=True)
    assert isinstance(sys.stdin, TextIOWrapper)
    try:
        sys.stdin.reconfigure(encoding=encoding, errors="strict")
        yield from (line.rstrip("\n") for line in sys.stdin)
    except LookupError:
        sentence = f"encoding '{encoding}' is not known; name one such as utf-8, latin-1 or cp1252"
        raise InputError(sentence) from None
    except UnicodeDecodeError:
        sentence = f"standard input is not valid {encoding}; pass --encoding to name another encoding"
        raise InputError(sentence) from None


def _write(answers: Iterator[Prediction], out: Path, explain: bool) -> None:
    from seq2set.core.files import write_aside

    with write_aside(out) as aside, aside.open("w", encoding="utf-8") as stream:
        for answer in answers:
            stream.write(json.dumps(answer.to_dict(explain=explain), ensure_ascii=False) + "\n")
