"""The paper's comparison on any corpus: every model, several seeds, and a test against the best baseline."""

from __future__ import annotations

from seq2set.experiments.render.comparison_tables import make_cost_table
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.sentences import describe_comparison
from seq2set.experiments.studies.study import Study, StudyData, make_plain_variants


def show_other_metrics(data: StudyData) -> list[Section]:
    """Show what the paper's table has no room for."""
    return [
        Section(
            "Other measures and cost",
            "What do measures say that weigh all labels or all documents alike, and what does a model cost?",
            tables=(make_cost_table(data.comparison),),
        )
    ]


STUDY = Study(
    title="How the models compare",
    variants=make_plain_variants,
    question=(
        "Results",
        "Which model gives the best sets of labels on {corpus}, and is it really better than the rest?",
    ),
    remarks=lambda data: describe_comparison(data.comparison),
    more=show_other_metrics,
)
