"""The model card: what a person should know before trusting a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seq2set.config import Config
from seq2set.config.catalog import METRICS, describe_parts, find_model, list_shown
from seq2set.labels.confidence.acceptance import describe_accepted
from seq2set.labels.rules import Rule

_TRAINING_NAMES = {"phase": "phase of the kept weights", "update": "update of the kept weights"}


def render_model_card(config: Config, metadata: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Return the card in Markdown."""
    corpus = metadata["corpus"]
    lines = [
        f"# {config.model} on {corpus['name']}",
        "",
        f"{find_model(config.model).summary}. It assigns a set of labels to a text.",
        "",
        "## Use",
        "",
        "```",
        'seq2set predict THIS_FOLDER "a text" --explain',
        "```",
        "",
        "## Data",
        "",
        *_format_table(("", ""), _list_data_rows(corpus)),
        "",
        "## Metrics on the validation split",
        "",
        "The decision rule and the other choices of this model were tuned on this very split, so these "
        f"figures are a little too good. {_describe_test(metadata)}",
        "",
        *_format_table(("metric", "value"), _list_metric_rows(metadata["validation"])),
        "",
        *_describe_tuning(metadata),
        *_describe_evidence(metadata),
        "## Training",
        "",
        *_format_table(
            ("", ""),
            [
                (_TRAINING_NAMES.get(key, str(key)), _format_value(value))
                for key, value in (
                    dict(metadata["training"]) | _describe_parts(config) | _describe_fitted(facts)
                ).items()
            ],
        ),
        "",
        *_describe_teacher(metadata),
        "## Limits",
        "",
        *_describe_confidence(metadata),
        *_describe_limits(corpus),
        "",
    ]
    return "\n".join(lines)


def _list_metric_rows(values: Mapping[str, float]) -> list[tuple[str, str]]:
    # A metric that is newer than the model has no value.
    return [(row.title, f"{values[name]:.4f}") for name, row in list_shown().items() if name in values]


def _describe_tuning(metadata: Mapping[str, Any]) -> list[str]:
    """Say what was tuned after the training, and whether the figures above are from before that."""
    if "tuned" not in metadata:
        return []
    tuned = metadata["tuned"]
    stale = "" if tuned["validation_renewed"] else " The figures above are without that rule."
    return [
        f"The decision rule was tuned after the training for the best {METRICS[tuned['metric']].title} on "
        f"{tuned['data']}, {tuned['split']}, {tuned['documents']:,} documents: {tuned['before']:.4f} before, "
        f"{tuned['after']:.4f} after.{stale}",
        "",
    ]


def _describe_teacher(metadata: Mapping[str, Any]) -> list[str]:
    """Name the model that taught this one."""
    if "teacher" not in metadata:
        return []
    found = metadata["teacher"]
    how = "their labels alone"
    if found["folds"]:
        how = f"their labels and, with a share of {found['share']:g}, {found['folds']} models of its settings"
        how += ", each trained without a part of them"
    return [
        "## Teacher",
        "",
        f"It was taught by `{found['path']}`, a `{found['model']}` (SHA-256 of its manifest "
        f"`{found['sha256']}`), on {found['texts']:,} texts without labels. Training documents were taught "
        f"by {how}.",
        "",
    ]


def _describe_evidence(metadata: Mapping[str, Any]) -> list[str]:
    """Say how faithful the reasons are, where that was measured."""
    if "evidence" not in metadata:
        return []
    found = metadata["evidence"]
    rows = [
        (title, *(_format_interval(found, prefix + name) for prefix in ("", "random_")))
        for name, title in (
            ("comprehensiveness", "fall of a score without the words named for it (higher is better)"),
            ("sufficiency", "fall of a score with these words alone (lower is better)"),
        )
    ]
    return [
        "## Reasons",
        "",
        f"Measured on {found['data']}, {found['split']}, {found['labels']:,} labels of "
        f"{found['documents']:,} documents, by `seq2set evaluate --evidence`: the mean over 1 to 50 % of a "
        f"text's words. Reasons take {found['cost']:.1f} times the CPU time of a prediction without.",
        "",
        *_format_table(("", "words named", "words at random"), rows),
        "",
    ]


def _format_interval(found: Mapping[str, Any], name: str) -> str:
    bounds = found["intervals"][name]
    return f"{found[name]:.3f}" + (" ({:.3f} to {:.3f})".format(*bounds) if bounds else "")


def _describe_test(metadata: Mapping[str, Any]) -> str:
    """Say where figures are found on documents that the model did not learn from."""
    if "cross_validation" not in metadata:
        return "The test split was not looked at: `seq2set evaluate` reports it."
    found = metadata["cross_validation"]
    figure = found["metrics"]["micro_f1"]
    bounds = "{:.4f} to {:.4f}".format(*figure["interval"]) if figure["interval"] else "–"
    return (
        f"Cross-validation in {found['folds']} folds of {found['documents']:,} documents: "
        f"{METRICS['micro_f1'].title} {figure['together']:.4f} (95 % interval {bounds}). "
        "It learnt from all of them."
    )


def _describe_parts(config: Config) -> dict[str, str]:
    """Name what a network is made of."""
    several = find_model(config.model).network and config.ensemble > 1
    networks = {"networks": f"{config.ensemble}, whose scores are averaged"} if several else {}
    return describe_parts(config.name_parts()) | networks


def _describe_fitted(facts: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in facts.items() if name != "confidence"}  # a table of numbers
    return plain | {"rule": Rule.from_dict(facts["rule"]).describe()}


def _describe_confidence(metadata: Mapping[str, Any]) -> list[str]:
    """Say what a score means, and which labels may be accepted without a look."""
    found = metadata.get("calibrated", {})
    if not found.get("searches"):
        why = f" ({found['why']})" if "why" in found else ""
        return [f"- Its scores are not calibrated{why}: 0.9 need not be right 9 times in 10."]
    ways = ", ".join(
        f"{search} scores {_describe_way(row['way'])} (calibration error "
        f"{row['before']['calibration_error']:.3f} before, {row['after']['calibration_error']:.3f} on "
        "documents held out in turn)"
        for search, row in found["searches"].items()
    )
    lines = [
        f"- A score is the probability that the label is right, calibrated on {found['documents']:,} "
        f"documents as a whole: {ways}. It is no promise for a single label or for other texts."
    ]
    if accepted := metadata.get("accepted"):
        lines.append(f"- When that was found, {describe_accepted(accepted)}.")
    return lines


def _describe_way(way: str) -> str:
    return "as they are, which nothing made better" if way == "identity" else f"by {way}"


def _list_data_rows(corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("corpus", str(corpus["name"])),
        ("source", str(corpus["source"])),
        ("licence", str(corpus["licence"])),
        ("documents to learn from", f"{corpus['train']:,}"),
        ("documents to tune on", f"{corpus['valid']:,}"),
        ("labels", f"{corpus['labels']:,}"),
        ("labels per document", f"{corpus['labels_per_document']:.2f}"),
        ("fingerprint", f"`{corpus['fingerprint']}`"),
    ]


def _describe_limits(corpus: Mapping[str, Any]) -> list[str]:
    return [
        f"- It knows the {corpus['labels']:,} labels of its training data and no others.",
        "- Labels that were rare in training are rarely right; `seq2set evaluate --report` shows each "
        "label's figures.",
        "- Texts unlike those it learnt from (another language, another field, another length) are not what "
        "it was measured on.",
        "- A text in which it knows no word gets no label, and a note that says so.",
        "- `seen.safetensors` holds 8-byte hashes of the texts that it was trained and tuned on, by which "
        "`seq2set evaluate` notices them. Who has this folder and a text can find out whether it is one of "
        "them; delete the file before passing the folder on where that matters.",
    ]


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_format_value(part)}" for key, part in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
