"""RCV1-v2, which the user brings: the files of LYRL2004, or JSON lines.

The files of LYRL2004 can be split in two ways: `lyrl2004`, where the training file is for training (23,149
documents, out of which validation is carved) and the other four are for testing; and `sgm`, as in the papers
on sequence generation, where validation and test are drawn at random, 1,000 documents each unless other
sizes are named. JSON lines are split as the names of the files say (`rcv1_train.json`), or at random.

Where the tree of topics lies beside, each document's labels are put in its order, parents first, and the
notes hold it as `tree`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.label_tree import read_tree
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.sources.rcv1_json import is_json_lines, read_json_lines, split_in_name
from seq2set.corpora.sources.rcv1_tokens import Topics, read_tokens
from seq2set.corpora.sources.source import Notes, Reading, Source, remark
from seq2set.corpora.splits import SplitPlan
from seq2set.corpora.streams import COMPRESSIONS
from seq2set.errors import CorpusError, InputError

LYRL2004, SGM = "lyrl2004", "sgm"
PUBLISHED = {"train": 23_149, "test": 781_265}
"""How many documents the two parts of LYRL2004 hold."""

TRAIN_FILE = "lyrl2004_tokens_train.dat"
TEST_FILES = tuple(f"lyrl2004_tokens_test_pt{part}.dat" for part in range(4))
TOPICS_FILE = "rcv1-v2.topics.qrels"
TREE_FILES = ("rcv1.topics.hier.orig", "rcv1.topics.hier.orig.txt", "rcv1.taxonomy")

_GIVEN = SplitPlan("given", valid=0.1)
_RANDOM = SplitPlan("random", valid=1_000, test=1_000)
_RANDOM_JSON = SplitPlan("random", valid=0.1, test=0.1)


def _read(path: Path | None, options: SourceOptions) -> Reading:
    options.chosen_split("rcv1", RCV1.splits)
    if path is None:
        raise CorpusError("rcv1 needs the folder that holds its files: name it with --from")
    if not path.exists():
        raise CorpusError("there is no such file or folder", path)
    if path.is_dir() and _found(path, TRAIN_FILE):
        return _read_tokens(path, options)
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if is_json_lines(file))
    if not files:
        raise CorpusError(f"the folder holds neither {TRAIN_FILE} nor a .json or .jsonl file", path)
    return _read_json(files, options)


def _read_tokens(folder: Path, options: SourceOptions) -> Reading:
    encoding = options.encoding or "utf-8"
    judgements = _found(folder, TOPICS_FILE)
    if judgements is None:
        raise CorpusError(f"the folder has no {TOPICS_FILE} (plain, .gz, .xz or .zst)", folder)
    notes: Notes = {"form": "tokens", "split": options.split or LYRL2004}
    documents = _documents_of_tokens(folder, judgements, encoding)
    if options.split == SGM:
        return Reading(_ordered(documents, folder, notes), options.plan(_RANDOM), notes)
    documents = _counted(documents, notes)
    return Reading(_ordered(documents, folder, notes), options.plan(_GIVEN), notes)


def _documents_of_tokens(folder: Path, judgements: Path, encoding: str) -> Iterator[Document]:
    topics = Topics(judgements, encoding)
    for name in (TRAIN_FILE, *TEST_FILES):
        split = "train" if name == TRAIN_FILE else "test"
        if file := _found(folder, name):
            yield from read_tokens(file, topics, split, encoding)


def _counted(documents: Iterable[Document], notes: Notes) -> Iterator[Document]:
    counts: Counter[str | None] = Counter()
    for document in documents:
        counts[document.split] += 1
        yield document
    for split, published in PUBLISHED.items():
        if counts[split] != published:
            remark(
                notes, f"LYRL2004 has {published:,} {split} documents, but these files hold {counts[split]:,}"
            )


def _read_json(files: list[Path], options: SourceOptions) -> Reading:
    if options.split == LYRL2004:
        raise InputError(f"split is '{LYRL2004}', which JSON lines do not tell; name '{SGM}', or none")
    named = options.split is None and {split_in_name(file) for file in files} >= {"train", "test"}
    used = [file for file in files if split_in_name(file)] if named else files
    plan = _GIVEN if named else _RANDOM if options.split == SGM else _RANDOM_JSON
    notes: Notes = {"form": "json", "split": "as the files are named" if named else options.split or "random"}
    documents = chain.from_iterable(read_json_lines(file, options.encoding or "utf-8") for file in used)
    return Reading(_ordered(documents, files[0].parent, notes), options.plan(plan), notes)


def _ordered(documents: Iterable[Document], folder: Path, notes: Notes) -> Iterator[Document]:
    file = next((found for name in TREE_FILES if (found := _found(folder, name))), None)
    if file is None:
        remark(notes, f"there is no {TREE_FILES[0]} or {TREE_FILES[-1]} here, so labels keep their order")
        yield from documents
        return
    tree = read_tree(file)
    notes["tree"] = tree.as_notes()
    for document in documents:
        yield document._replace(labels=tree.parents_first(document.labels))


def _found(folder: Path, name: str) -> Path | None:
    places = (folder / (name + suffix) for suffix in ("", *COMPRESSIONS))
    return next((place for place in places if place.is_file()), None)


RCV1 = Source(
    name="rcv1",
    title="Reuters Corpus Volume I (RCV1-v2), 103 topics in a tree",
    obtained="the files of LYRL2004, or JSON lines with doc_token and doc_label, which the user brings",
    licence="the texts are under Reuters' agreement; the token files are as LYRL2004 publishes them",
    needs_path=True,
    read=_read,
    plan=_GIVEN,
    splits=(LYRL2004, SGM),
)
