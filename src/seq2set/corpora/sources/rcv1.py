"""RCV1-v2, which is not bundled: the files of LYRL2004, or JSON lines.

The files of LYRL2004 are files of tokens, and topics in a file of judgements. They can be split in two ways:
`lyrl2004`, where the training file is for training (23,149 documents, out of which validation is carved) and
the other four are for testing; and `sgm`, as in the papers on sequence generation, where validation and test
are drawn at random, 1,000 documents each unless other sizes are named.

JSON lines hold lists of texts in `doc_token` and `doc_label`; other keys are ignored. They are split as the
names of the files say (`rcv1_train.json`), or at random.

Where the tree of topics lies beside, each document's labels are put in its order, parents first, and the
notes hold it as `tree`.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.readers.cells.columns import clean_labels, replace_nul
from seq2set.corpora.readers.json_files import read_objects
from seq2set.corpora.readers.records import Record
from seq2set.corpora.readers.streams import NumberedLine, find_file, read_lines, strip_compression
from seq2set.corpora.sources import SOURCES
from seq2set.corpora.sources.raw_corpus import Notes, RawCorpus, add_remark
from seq2set.corpora.splits import SplitPlan
from seq2set.labels.labels import LabelTree

LYRL2004, SGM = SOURCES["rcv1"].splits
PUBLISHED = {"train": 23_149, "test": 781_265}
"""How many documents the two parts of LYRL2004 hold."""

TRAIN_FILE = "lyrl2004_tokens_train.dat"
TEST_FILES = tuple(f"lyrl2004_tokens_test_pt{part}.dat" for part in range(4))
TOPICS_FILE = "rcv1-v2.topics.qrels"
TREE_FILES = ("rcv1.topics.hier.orig", "rcv1.topics.hier.orig.txt", "rcv1.taxonomy")

_GIVEN = SplitPlan("given", valid=0.1)
_RANDOM = SplitPlan("random", valid=1_000, test=1_000)
_RANDOM_JSON = SplitPlan("random", valid=0.1, test=0.1)


def read_rcv1(path: Path, options: PrepareOptions) -> RawCorpus:
    """Read a folder with the files of LYRL2004 or with JSON lines, or one file of JSON lines."""
    if not path.exists():
        raise CorpusError("there is no such file or folder", path)
    if path.is_dir() and find_file(path, TRAIN_FILE):
        return _read_tokens(path, options)
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if _SUFFIX.search(strip_compression(one).lower()))
    if not files:
        raise CorpusError(f"the folder holds neither {TRAIN_FILE} nor a .json or .jsonl file", path)
    if options.split == LYRL2004:
        raise InputError(f"split is '{LYRL2004}', which JSON lines do not tell; name '{SGM}', or none")
    named = options.split is None and {find_split_in_name(file) for file in files} >= {"train", "test"}
    used = [file for file in files if find_split_in_name(file)] if named else files
    plan = _GIVEN if named else _RANDOM if options.split == SGM else _RANDOM_JSON
    notes: Notes = {"form": "json", "split": "as the files are named" if named else options.split or "random"}
    documents = chain.from_iterable(read_json_lines(file, options.encoding or "utf-8") for file in used)
    return RawCorpus(_order_labels(documents, files[0].parent, notes), options.complete(plan), notes)


def _read_tokens(folder: Path, options: PrepareOptions) -> RawCorpus:
    encoding = options.encoding or "utf-8"
    judgements = find_file(folder, TOPICS_FILE)
    if judgements is None:
        raise CorpusError(f"the folder has no {TOPICS_FILE} (plain, .gz, .xz or .zst)", folder)
    notes: Notes = {"form": "tokens", "split": options.split or LYRL2004}
    documents = _read_token_files(folder, judgements, encoding)
    if options.split == SGM:
        return RawCorpus(_order_labels(documents, folder, notes), options.complete(_RANDOM), notes)
    documents = _check_counts(documents, notes)
    return RawCorpus(_order_labels(documents, folder, notes), options.complete(_GIVEN), notes)


def _read_token_files(folder: Path, judgements: Path, encoding: str) -> Iterator[Document]:
    topics = Topics(judgements, encoding)
    for name in (TRAIN_FILE, *TEST_FILES):
        split = "train" if name == TRAIN_FILE else "test"
        if file := find_file(folder, name):
            yield from read_tokens(file, topics, split, encoding)


def _check_counts(documents: Iterable[Document], notes: Notes) -> Iterator[Document]:
    counts: Counter[str | None] = Counter()
    for document in documents:
        counts[document.split] += 1
        yield document
    for split, published in PUBLISHED.items():
        if counts[split] != published:
            add_remark(
                notes, f"LYRL2004 has {published:,} {split} documents, but these files hold {counts[split]:,}"
            )


def _order_labels(documents: Iterable[Document], folder: Path, notes: Notes) -> Iterator[Document]:
    file = find_file(folder, *TREE_FILES)
    if file is None:
        add_remark(notes, f"there is no {TREE_FILES[0]} or {TREE_FILES[-1]} here, so labels keep their order")
        yield from documents
        return
    tree = read_tree(file)
    notes["tree"] = tree.parents
    for document in documents:
        yield document._replace(labels=tree.sort_parents_first(document.labels))


class Topics:
    """The topics of each id, from a file with a topic, an id and a 1 per line.

    They lie in two arrays sorted by id: the 2.6 million pairs of RCV1 take 21 MB.
    """

    def __init__(self, path: Path, encoding: str = "utf-8"):
        codes: dict[str, int] = {}
        ids, topics = array("i"), array("i")
        for line in read_lines(path, encoding):
            fields = line.text.split()
            if not fields:
                continue
            if len(fields) != 3 or not _is_id(fields[1]):
                raise CorpusError(
                    f"the line is '{line.text[:60]}'; it must be a topic, an id and a 1", path, line.number
                )
            ids.append(int(fields[1]))
            topics.append(codes.setdefault(fields[0], len(codes)))
        order = np.argsort(np.array(ids, np.int32), kind="stable")
        self._ids, self._topics = np.array(ids, np.int32)[order], np.array(topics, np.int32)[order]
        self._names = list(codes)

    def of(self, number: int) -> tuple[str, ...]:
        """Return the topics of one id, in the order of the file, each once."""
        # Keys of the same type: with any other, the whole table would be converted at each call.
        first, last = np.searchsorted(self._ids, np.array([number, number + 1], np.int32))
        return tuple(dict.fromkeys(self._names[code] for code in self._topics[first:last]))


def read_tokens(path: Path, topics: Topics, split: str | None, encoding: str = "utf-8") -> Iterator[Document]:
    """Yield the documents of a token file one by one; their texts are the tokens with spaces between.

    The file holds blocks: `.I` and the id, `.W`, lines of tokens, an empty line.
    """
    number: int | None = None
    tokens: list[str] = []
    for line in read_lines(path, encoding):
        if line.text.startswith(".I"):
            if number is not None:
                yield _build(number, tokens, topics, split)
            number, tokens = _parse_id(line.text, path, line.number), []
        elif number is None and line.text.strip():
            raise CorpusError(
                f"the line is '{line.text[:60]}'; a token file must begin with '.I' and an id",
                path,
                line.number,
            )
        elif line.text.strip() != ".W":
            tokens.extend(line.text.split())
    if number is not None:
        yield _build(number, tokens, topics, split)


def _is_id(text: str) -> bool:
    return text.isdecimal() and len(text) <= 9  # what 32 bits hold for certain


def _parse_id(text: str, path: Path, line: int) -> int:
    number = text[2:].strip()
    if not _is_id(number):
        raise CorpusError(f"the line is '{text[:60]}'; after '.I' an id must follow", path, line)
    return int(number)


def _build(number: int, tokens: list[str], topics: Topics, split: str | None) -> Document:
    return Document(str(number), " ".join(tokens), topics.of(number), split)


_SUFFIX = re.compile(r"\.jsonl?$")
_SPLIT = re.compile(r"(?:.*[-_.])?(train|dev|val|valid|test)")


def find_split_in_name(path: Path) -> str | None:
    """Return the split that the end of a file's name says, as in `rcv1_train.json`."""
    match = _SPLIT.fullmatch(_stem(path).lower())
    if match is None:
        return None
    return "valid" if match[1] in ("dev", "val") else match[1]


def read_json_lines(path: Path, encoding: str = "utf-8") -> Iterator[Document]:
    """Yield the documents of one file, called after the file and their line."""
    for record in read_objects(path, encoding):
        text = " ".join(replace_nul(token) for token in _check_strings(record, "doc_token", path))
        labels = clean_labels(_check_strings(record, "doc_label", path))
        yield Document(f"{_stem(path)}-{record.line}", text, labels, find_split_in_name(path))


def _stem(path: Path) -> str:
    return Path(strip_compression(path)).stem


def _check_strings(record: Record, key: str, path: Path) -> list[str]:
    value = record.values.get(key)
    if isinstance(value, list):
        wrong = next((item for item in value if not isinstance(item, str)), None)
        if wrong is None and None not in value:
            return value
        seen = f"holds a list with {type(wrong).__name__} in it"
    else:
        seen = f"holds {type(value).__name__}" if key in record.values else "is absent"
    raise CorpusError(f"'{key}' {seen}; it must hold a list of texts", path, record.line)


_ROOT = "Root"
"""The root of the files of topics, which is no topic itself."""
_ONE_CHILD = re.compile(r"\s*parent:\s*(\S+)\s+child:\s*(\S+)")


def read_tree(path: Path) -> LabelTree:
    """Read a tree of topics in either of its two forms.

    One child per line as `parent: X child: Y child-description: Z`, as LYRL2004 distributes it, or a parent
    followed by its children, separated by tabs.
    """
    parents: dict[str, str | None] = {}
    for line in read_lines(path):
        for parent, child in _parse_edges(line, path):
            if child in parents:
                raise CorpusError(
                    f"'{child}' has two parents; the labels must form a tree", path, line.number
                )
            parents[child] = None if parent == _ROOT else parent
    tree = LabelTree.build(parents)
    if (label := tree.find_cycle()) is not None:
        raise CorpusError(f"'{label}' stands above itself; the labels must form a tree", path)
    return tree


def _parse_edges(line: NumberedLine, path: Path) -> list[tuple[str, str]]:
    text = line.text.strip()
    if not text:
        return []
    if match := _ONE_CHILD.match(text):
        parent, children = match[1], [match[2]]
    else:
        parent, *children = (name.strip() for name in text.split("\t"))
    if not children:
        form = "a parent and its children between tabs, or 'parent: X child: Y'"
        raise CorpusError(f"the line is '{text[:60]}'; it must be {form}", path, line.number)
    return [(parent, child) for child in children if child != _ROOT]
