"""Measure how faithful a model's reasons are on documents of a split, and write it onto its model card."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seq2set.core.errors import InputError, OutputError
from seq2set.core.progress import Progress, Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.seen_texts import Documents
from seq2set.evaluation.faithfulness import Faithfulness, measure_faithfulness
from seq2set.inference.model_card import render_model_card
from seq2set.inference.model_folder import renew_model
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request

DOCUMENTS = 200
"""Enough for intervals of two points; each takes about a hundred predictions."""


class EvidencePlan(NamedTuple):
    """What the reasons of a model are measured on."""

    model: Path
    """Where the card lies that the figures are written onto"""
    data: str
    split: str
    part: Documents
    documents: int = DOCUMENTS
    """How many of them, drawn with a seed"""


def measure_evidence(
    predictor: Predictor, plan: EvidencePlan, request: Request | None, progress: Progress | None
) -> Faithfulness | None:
    """Measure the reasons for the labels of some documents, and write the figures onto the model's card."""
    if plan.documents < 1:
        raise InputError(f"evidence_documents is {plan.documents}; it must be >= 1")
    progress = progress or Silent()
    with progress.stage("evidence"):
        places = np.random.default_rng(1).permutation(len(plan.part))[: plan.documents]
        texts = [document.text for document in pick_documents(plan.part, places.tolist())]
        found = measure_faithfulness(predictor.tagger, texts, request)
    if found is None:
        progress.note(
            "the model names no words for any label of these documents: there is nothing to measure"
        )
    else:
        # Write the figures onto the card; where the folder of the model cannot be written, say so.
        state = predictor.tagger.state()
        figures = {"data": plan.data, "split": plan.split, **found.to_dict()}
        metadata = predictor.metadata | {"evidence": figures}
        card = render_model_card(state.config, metadata, state.fitted)
        try:
            renew_model(plan.model, facts=state.fitted, metadata=metadata, card=card)
        except OutputError as error:
            progress.note(f"the figures of the evidence are not on the model card: {error}")
    return found


def pick_documents(part: Documents, places: Collection[int]) -> list[Document]:
    """Return the documents at some places, in their order."""
    chosen = frozenset(places)
    documents = (document for batch in part.iter_batches(1024) for document in batch)
    return [document for place, document in enumerate(documents) if place in chosen]
