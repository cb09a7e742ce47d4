from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from running_servers import Running
from schemathesis import GenerationMode, openapi
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    negative_data_rejection,
]


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
        case.call_and_validate(base_url=shared.url, checks=CHECKS)

    keeps()
