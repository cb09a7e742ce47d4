from __future__ import annotations

import pytest
from matplotlib.image import imread
from small_corpora import healthy_corpus, write_corpus

from seq2set.core.errors import OutputError
from seq2set.corpora.documents import Document
from seq2set.corpora.stats import compute_statistics
from seq2set.corpora.stats_plots import draw_statistics

NAMES = [
    "label-frequencies.png",
    "labels-per-document.png",
    "words-per-document.png",
    "label-correlations.png",
]


def pictures(paths):
    """Read back what was drawn; each must be a PNG with more than one colour."""
    images = [imread(path) for path in paths]
    assert all(image[..., :3].std() > 0.01 for image in images)
    return images


def test_four_pictures_are_drawn(tmp_path):
    statistics = compute_statistics(write_corpus(tmp_path / "corpus", healthy_corpus()))
    paths = draw_statistics(statistics, tmp_path / "new" / "plots")
    assert [path.name for path in paths] == NAMES
    assert sorted(path.name for path in (tmp_path / "new" / "plots").iterdir()) == sorted(NAMES)
    assert [image.shape[:2] for image in pictures(paths)] == [(504, 840)] * 3 + [(1008, 1080)]


def test_any_label_and_any_name_can_be_drawn(tmp_path):
    labels = ("$broken^{math", "a long name " * 40, "医学 \u0e01 \U0001f600", "\x1b\x00", "a_b^c\\d")
    train = [Document(str(i), "a text", labels[: i % 6]) for i in range(60)]
    corpus = write_corpus(tmp_path / "corpus", {"train": train}, name="$a^{ \x1b 医")
    pictures(draw_statistics(compute_statistics(corpus), tmp_path / "plots"))


@pytest.mark.parametrize(
    "train",
    [
        [],
        [Document("1", "", ())],
        [Document(str(i), "text " * 9, tuple(map(str, range(i)))) for i in range(60)],
        [Document(str(i), "a text", ("x",)) for i in range(9)],
    ],
    ids=["no document", "nothing in it", "many labels", "one label in all"],
)
def test_odd_corpora_can_be_drawn(tmp_path, train):
    corpus = write_corpus(tmp_path / "corpus", {"train": train})
    pictures(draw_statistics(compute_statistics(corpus), tmp_path / "plots"))


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "plots").write_text("a file", encoding="utf-8")
    statistics = compute_statistics(write_corpus(tmp_path / "corpus", healthy_corpus()))
    with pytest.raises(OutputError, match="plots"):
        draw_statistics(statistics, tmp_path / "plots")
