"""Compare ways to name the words that a set model with a linear prior gave a label for: see docs/evidence.md.

    python tools/evidence_candidates.py RUN --data CORPUS [--split valid] [--documents 50] [--only NAME ...]

Each way ranks the words of a document for a label; `evaluation.faithfulness` measures what becomes of the
scores. Costs are CPU time beside that of plain prediction; documents are explained one by one here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from seq2set.corpora.open_corpus import open_corpus
from seq2set.evaluation.faithfulness import Figure, Ranking, WordedText, measure_rankings, score_texts
from seq2set.inference.predictor import Predictor
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.nn.decoder import DecoderPolicy
from seq2set.nn.decoding.rollout import begin
from seq2set.nn.decoding.teacher_forcing import find_contributions_along, score_sequences
from seq2set.nn.text_reader import limit_words
from seq2set.text.reasons import TextWords
from seq2set.text.tfidf import encode_blocks

POINTS = 8
MOST = 3
"""Labels per document"""


class _Scaled:
    """Puts a share of the word vectors in their place and remembers them, for their slopes."""

    def __init__(self, share: float):
        self.share, self.vectors = share, torch.empty(0)

    def __call__(self, _module: object, _inputs: object, output: torch.Tensor) -> torch.Tensor:
        self.vectors = (self.share * output).detach().requires_grad_()
        return self.vectors


class Explainer:
    """The ways, each from a text and its labels to what places add (labels, places)."""

    def __init__(self, tagger: NeuralTagger):
        self.tagger = tagger
        assert tagger.prior is not None
        self.prior = tagger.prior

    def read(self, text: str) -> DecoderPolicy:
        """Bind the set decoder to a text."""
        config = self.tagger.config.encoder
        ids = limit_words(self.tagger.words.encode([text])[0], config.max_words, config.words)
        margins = self.prior.read(list(encode_blocks(self.tagger.words, [text])), [text]).margins
        parts = (
            torch.from_numpy(ids[None].astype(np.int64)),
            torch.tensor([len(ids)]),
            torch.from_numpy(margins),
        )
        return self.tagger.network(*parts).final

    def random(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Draw numbers."""
        generator = np.random.default_rng(len(text))
        return generator.random((len(labels), len(self.tagger.words.spans(text))))

    def exact_prior(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return the contributions to the prior's margins."""
        return np.stack(list(self.prior.attributions(text, labels.tolist())))

    @torch.inference_mode()
    def attention(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return where the set decoder looked."""
        policy = self.read(text)
        state, found = begin(policy, 1), []
        for label in labels:
            found.append(state.attention[0][0, 0].numpy())
            state = policy.advance(state, torch.tensor([[label]]))
        return np.stack(found)

    def attention_and_prior(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Version 0.1: half and half, what speaks for the label only."""
        positive = np.maximum(self.exact_prior(text, labels), 0)
        positive /= np.maximum(positive.sum(1, keepdims=True), 1e-12)
        looked = self.attention(text, labels)
        positive[:, : looked.shape[1]] += looked
        return positive

    @torch.inference_mode()
    def attention_slope(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return what `nn.decoding.contributions` finds."""
        return find_contributions_along(self.read(text), torch.from_numpy(labels[None])).numpy()[0]

    def attention_gradient(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return the slopes of the log-probabilities in the scale of each word's value."""
        policy = self.read(text)
        weight = torch.ones(policy.memories[0].values.shape[1], requires_grad=True)
        words = policy.memories[0]
        memories = (words._replace(values=words.values * weight[:, None]), *policy.memories[1:])
        first = policy.decoder._attend(memories, policy.first.hidden, policy.first.cell)
        scaled = replace(policy, memories=memories, first=first)
        steps = score_sequences(scaled, torch.from_numpy(labels[None])).steps[0]
        slopes = [torch.autograd.grad(steps[at], weight, retain_graph=True)[0] for at in range(len(labels))]
        return torch.stack(slopes).numpy()

    def gradient(self, text: str, labels: np.ndarray, points: int = 1) -> np.ndarray:
        """Return slopes times embeddings, the mean over points of the way from nothing."""
        embedding, found = self.tagger.network.encoder.embedding, 0.0
        for point in range(points):
            share = (point + 0.5) / points if points > 1 else 1.0
            scaled = _Scaled(share)
            hook = embedding.register_forward_hook(scaled)
            steps = score_sequences(self.read(text), torch.from_numpy(labels[None])).steps[0]
            hook.remove()
            slopes = [
                torch.autograd.grad(steps[at], scaled.vectors, retain_graph=True)[0]
                for at in range(len(labels))
            ]
            found = found + torch.stack([(one * scaled.vectors / share).sum(-1)[0] for one in slopes])
        return (found / points).detach().numpy()

    def integrated(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return integrated gradients."""
        return self.gradient(text, labels, POINTS)

    def leave_one_out(self, text: str, labels: np.ndarray) -> np.ndarray:
        """Return how far the scores fall without each word, at its first place."""
        worded = WordedText.read(self.tagger.words, text)
        texts = [text, *(worded.erase({word}) for word in worded.different)]
        scores = score_texts(self.tagger, texts, Request())[:, labels]
        words = TextWords.read(self.tagger.words, text)
        found = np.zeros((len(labels), len(words.spans)))
        for at, fall in enumerate(scores[0] - scores[1:]):
            found[:, np.flatnonzero(words.number == at)[0]] = fall
        return found


WAYS: dict[str, Callable[..., np.ndarray]] = {
    "random words": Explainer.random,
    "attention": Explainer.attention,
    "attention and prior, half and half": Explainer.attention_and_prior,
    "attention x slope of the output": Explainer.attention_slope,
    "attention x gradient": Explainer.attention_gradient,
    "gradient x embedding": Explainer.gradient,
    "integrated gradients": Explainer.integrated,
    "exact prior": Explainer.exact_prior,
    "leave one out": Explainer.leave_one_out,
}


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--only", nargs="*", choices=WAYS, default=list(WAYS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    tagger = Predictor.open(asked.run).tagger
    assert isinstance(tagger, NeuralTagger)
    documents = [
        one for batch in open_corpus(asked.data).split(asked.split).iter_batches(1024) for one in batch
    ]
    generator = np.random.default_rng(1)
    texts = [documents[at].text for at in generator.permutation(len(documents))[: asked.documents]]
    began = time.process_time()
    chosen = tagger.infer(texts, Request()).chosen
    plain = time.process_time() - began
    drawn = [np.sort(generator.permutation(len(row))[:MOST]) for row in chosen]
    print("| words by | comprehensiveness | sufficiency | cost |\n| --- | --- | --- | --- |")
    for name in asked.only:
        began, rankings = time.process_time(), list[Ranking]()
        for document, (text, labels, places) in enumerate(zip(texts, chosen, drawn, strict=True)):
            if len(labels):
                added = WAYS[name](Explainer(tagger), text, labels.astype(np.int64))
                rankings += rank(tagger, document, text, labels, places, added)
        cost = (time.process_time() - began) / plain
        worded = [WordedText.read(tagger.words, text) for text in texts]
        falls = measure_rankings(tagger, worded, rankings, Request())
        of = np.array([one.document for one in rankings])
        cells = (
            f"{one.value:.3f} ({one.interval.low:.3f} to {one.interval.high:.3f})"
            for one in (Figure.of(fall, of) for fall in falls)
        )
        print(f"| {name} | {' | '.join(cells)} | {1 + cost:.1f} |", flush=True)


def rank(
    tagger: NeuralTagger, document: int, text: str, labels: np.ndarray, places: np.ndarray, added: np.ndarray
) -> list[Ranking]:
    """Rank the different words of a text by what they add to the labels at some places."""
    words = TextWords.read(tagger.words, text)
    found = []
    for place in places:
        order = np.argsort(-words.sum_words(added[place]), kind="stable")
        found.append(Ranking(document, int(labels[place]), [words.names[at] for at in order]))
    return found


if __name__ == "__main__":
    main()
