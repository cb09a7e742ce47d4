"""`seq2set data prepare`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2set.cli import idle_options, options
from seq2set.core.text_utils import count_things

if TYPE_CHECKING:
    from seq2set.corpora.prepare import PrepareOptions
    from seq2set.corpora.prepared import PreparedCorpus


@options.add_fields(options.Columns)
def prepare(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A known corpus, see below, or a name for your own files.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="The raw file or folder; known corpora say what they take.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; the cache by default.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="How to split: given, random, grouped or stratified; for rcv1 lyrl2004 or sgm."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the split.")] = 1,
    max_words: Annotated[
        int | None,
        typer.Option(
            help="Remove documents of more words; 0 keeps all. By default a known corpus's own limit, and "
            "none for your own files."
        ),
    ] = None,
    min_label_documents: Annotated[
        int | None, typer.Option(help="Drop labels of fewer documents than this.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the output folder.")] = False,
    **columns: Any,
) -> None:
    """Turn raw files into a prepared corpus."""
    from seq2set.cli.console import RichProgress
    from seq2set.core.errors import InputError, UnknownNameError
    from seq2set.corpora.cache import locate_cached
    from seq2set.corpora.open_corpus import find_own, locate_files, prepare_source
    from seq2set.corpora.own_files import parse_size, prepare_own
    from seq2set.corpora.prepare import PrepareOptions
    from seq2set.corpora.readers import build_read_options
    from seq2set.corpora.sources import SOURCES

    with RichProgress().stage(f"prepare {name}") as advance:
        sizes = options.name_columns(columns)
        valid, test = (parse_size(part, sizes.get(part, "")) for part in ("valid", "test"))
        chosen = PrepareOptions(
            split, valid, test, seed, columns["encoding"], max_words, min_label_documents, force, advance
        )
        if name in SOURCES:
            unread = [one.name for one in fields(options.Columns) if one.name not in _OF_SOURCES]
            idle_options.refuse_idle(context, f"on {name}, which is read in a way of its own", *unread)
            corpus = prepare_source(name, source, out, chosen)
        elif source is None:
            known = UnknownNameError("corpus", name, SOURCES)
            raise InputError(f"{known}; to prepare files of your own under this name, pass --from")
        else:
            if split not in (None, "given"):
                _refuse_given_splits(context, split, chosen)
            idle_options.refuse_unread(str(source), columns)
            files = locate_files(str(source))
            read = build_read_options(options.build_data(str(source), columns))
            corpus = prepare_own(name, find_own(files, read, chosen), out or locate_cached(name))
    _print_summary(corpus)


_OF_SOURCES = ("encoding", "valid", "test", "no_test")
"""Options for columns and splits that known corpora take too"""


def _refuse_given_splits(context: typer.Context, split: str, chosen: PrepareOptions) -> None:
    """Refuse what says of documents in which split they are, where they are split anew."""
    idle_options.refuse_idle(context, f"with --split {split}, which splits again", "split_column")
    for size, name in ((chosen.valid, "valid"), (chosen.test, "test")):
        if isinstance(size, str):
            idle_options.refuse_idle(context, f"as a file with --split {split}, which splits again", name)


def _print_summary(corpus: PreparedCorpus) -> None:
    counts = corpus.facts["counts"]
    sizes = ", ".join(f"{len(corpus.split(part)):,} {part}" for part in ("train", "valid", "test"))
    typer.echo(
        f"{corpus.name}: {sizes} documents with {count_things(counts['labels'], 'label')}, in {corpus.folder}"
    )
    removed = counts["documents_removed_for_length"]
    if removed:
        some = count_things(removed, "document")
        verb = "was" if removed == 1 else "were"
        typer.echo(f"{some} of more than {corpus.facts['max_words']} words {verb} removed")
    notes = corpus.facts.get("notes", {})
    for remark in (*notes.get("reading", []), *notes.get("remarks", [])):
        typer.echo(remark)
