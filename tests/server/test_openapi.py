from __future__ import annotations

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from running_servers import Running
from schemathesis import GenerationMode, openapi
from schemathesis import checks as schemathesis_checks

LEFT_OUT = {
    "positive_data_acceptance": "JSON Schema cannot say what `MAY_REFUSE` does, which is checked instead"
}

MAY_REFUSE = {
    "/v1/predict": r"one of the two can decide|not below min_labels|there are 4 labels",
    "/v1/feedback": r"is not known to the model|appears more than once|a label is empty",
    "/v1/batch": r".",
}
"""Why a request that fits the description may be refused: fields that contradict each other, labels that this
model does not have, and files that hold anything."""


@pytest.fixture
def described(shared: Running) -> schemathesis.BaseSchema:
    return openapi.from_dict(shared.client.get("/v1/openapi.json").json())


def test_the_description_is_versioned_and_has_examples(shared: Running) -> None:
    description = shared.client.get("/v1/openapi.json").json()
    assert description["info"]["title"] == "seq2set"
    assert description["info"]["version"] == "1.0.0"
    assert set(description["paths"]) == {
        "/v1/predict",
        "/v1/model",
        "/v1/labels",
        "/v1/feedback",
        "/v1/batch",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    schemas = description["components"]["schemas"]
    assert "HTTPValidationError" not in schemas
    for name in ("PredictBody", "FeedbackBody", "ErrorAnswer"):
        assert schemas[name]["examples"]
    for path in description["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                if status >= "4":
                    reference = answer["content"]["application/json"]["schema"]["$ref"]
                    assert reference == "#/components/schemas/ErrorAnswer"


def test_examples_of_the_description_are_answered(shared: Running) -> None:
    schemas = shared.client.get("/v1/openapi.json").json()["components"]["schemas"]
    for example in schemas["PredictBody"]["examples"]:
        assert shared.predict(**example).status_code == 200
    for example in schemas["FeedbackBody"]["examples"]:
        assert shared.client.post("/v1/feedback", json=example).status_code == 201


OPERATIONS = [
    ("POST", "/v1/predict"),
    ("GET", "/v1/model"),
    ("GET", "/v1/labels"),
    ("POST", "/v1/feedback"),
    ("POST", "/v1/batch"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_operation_keeps_to_its_description(
    shared: Running, described: schemathesis.BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    operation = described[path][method]
    schemathesis_checks.load_all_checks()
    names = set(schemathesis_checks.CHECKS.get_all_names())
    assert set(LEFT_OUT) < names
    checks = schemathesis_checks.CHECKS.get_by_names(sorted(names - set(LEFT_OUT)))
    if mode.is_negative and not (operation.body or operation.query):
        return  # nothing can be wrong there

    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps(case: schemathesis.Case) -> None:
        answer = case.call(base_url=shared.url)
        case.validate_response(answer, checks=checks)
        if mode.is_positive and answer.status_code >= 400:
            assert path in MAY_REFUSE, answer.text
            assert re.search(MAY_REFUSE[path], answer.json()["error"]["message"])

    keeps()
