"""`seq2set data prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import options

if TYPE_CHECKING:
    from seq2set.corpora.prepared import PreparedCorpus


@options.add_fields(options.Columns)
def prepare(
    name: Annotated[str, typer.Argument(help="A known corpus, see below, or a name for your own files.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="The raw file or folder; known corpora say what they take.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; the cache by default.")] = None,
    group: Annotated[
        str | None, typer.Option(help="The column whose equal values stay in one split.")
    ] = None,
    split_column: Annotated[
        str | None, typer.Option(help="The column that names each document's split.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="How to split: given, random, grouped or stratified; for rcv1 lyrl2004 or sgm."),
    ] = None,
    valid: Annotated[
        str | None, typer.Option(help="Validation documents: a number, or a share such as 0.1.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Test documents: a number, or a share such as 0.1.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the split.")] = 1,
    max_words: Annotated[
        int | None,
        typer.Option(
            help="Remove longer documents; 0 keeps all. By default a known corpus's own limit, and none for "
            "your own files."
        ),
    ] = None,
    min_label_documents: Annotated[
        int | None, typer.Option(help="Drop labels that fewer documents have.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the output folder.")] = False,
    **columns: Any,
) -> None:
    """Turn raw files into a prepared corpus."""
    from seq2set.cli.console import RichProgress
    from seq2set.core.errors import InputError, UnknownNameError
    from seq2set.corpora.open_corpus import prepare_own, prepare_source
    from seq2set.corpora.prepare import PrepareOptions
    from seq2set.corpora.readers import ReadOptions
    from seq2set.corpora.readers.records import AUTO
    from seq2set.corpora.sources import SOURCES

    with RichProgress().stage(f"prepare {name}") as advance:
        chosen = PrepareOptions(
            split,
            _parse_size("valid", valid),
            _parse_size("test", test),
            seed,
            columns["encoding"],
            max_words,
            min_label_documents,
            force,
            advance,
        )
        if name in SOURCES:
            corpus = prepare_source(name, source, out, chosen)
        elif source is None:
            known = UnknownNameError("corpus", name, SOURCES)
            raise InputError(f"{known}; to prepare files of your own under this name, pass --from")
        else:
            read = ReadOptions(
                group=group,
                split=split_column or (AUTO if split in (None, "given") else None),
                **options.name_columns(columns),
            )
            corpus = prepare_own(name, source, out, read, chosen)
    _print_summary(corpus)


def _parse_size(name: str, text: str | None) -> int | float | None:
    """Read a number of documents, or a share of them."""
    from seq2set.core.errors import InputError

    if text is None:
        return None
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        allowed = "it must be a number of documents, or a share from 0 to below 1"
        raise InputError(f"{name} is '{text}'; {allowed}") from None


def _print_summary(corpus: PreparedCorpus) -> None:
    """Print what was made, and what a user should know about it."""
    counts = corpus.facts["counts"]
    sizes = ", ".join(f"{len(corpus.split(part)):,} {part}" for part in ("train", "valid", "test"))
    typer.echo(f"{corpus.name}: {sizes} documents with {counts['labels']:,} labels, in {corpus.folder}")
    removed = counts["documents_removed_for_length"]
    if removed:
        documents = "1 document" if removed == 1 else f"{removed:,} documents"
        verb = "was" if removed == 1 else "were"
        typer.echo(f"{documents} of more than {corpus.facts['max_words']} words {verb} removed")
    notes = corpus.facts.get("notes", {})
    for remark in (*notes.get("reading", []), *notes.get("remarks", [])):
        typer.echo(remark)
