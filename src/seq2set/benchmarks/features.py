"""TF-IDF features from word numbers, against scikit-learn's from strings."""

from __future__ import annotations

from sklearn.feature_extraction.text import TfidfVectorizer

from seq2set.benchmarks.inputs import zipf_texts
from seq2set.benchmarks.ratio import Ratio, measure
from seq2set.config import Config
from seq2set.text.tfidf import TfidfFeatures, encoded_blocks
from seq2set.text.vocabulary import Words


def run(documents: int = 5_000) -> Ratio:
    """Fit and transform the same texts, uni- and bigrams that occur in two documents or more."""
    texts = zipf_texts(documents)
    settings = Config().text.model_dump()

    def ours() -> None:
        words = Words.build(texts, **settings)
        encoded = list(encoded_blocks(words, texts))
        TfidfFeatures.fit(words, encoded).transform_blocks(encoded)

    def theirs() -> None:
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=200_000)
        vectorizer.fit_transform(texts)

    shapes = {"documents": documents, "words": 130, "vocabulary": 30_000, "ngrams": 2}
    return measure("features", "scikit-learn TfidfVectorizer", ours, theirs, shapes)
