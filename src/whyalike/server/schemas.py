"""What requests look like. Unknown fields and wrong types are refused with the reason."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(description="A text.", examples=["A man plays guitar."])]
Unit = Literal["token", "word", "sentence"]
ModelName = Annotated[str | None, Field(description="One of GET /api/models; the first where not given.")]
MethodName = Annotated[
    str,
    Field(
        description="A name of GET /api/methods, or NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW].", max_length=200
    ),
]
Layer = Annotated[
    int | None,
    Field(description="Layer whose hidden states are attributed (0 = embeddings). Default: chosen by the method."),
]


class Request(BaseModel):
    """What all requests have."""

    model_config = ConfigDict(extra="forbid", strict=True)

    truncate: Annotated[bool, Field(description="Cut texts longer than the model reads, and say so.")] = False


class OneMethod(Request):
    """What requests have that ask one method of one model."""

    model: ModelName = None
    method: MethodName = "bilrp"
    layer: Layer = None
    unit: Unit = "word"


class ExplainRequest(OneMethod):
    """Why a model finds two texts alike."""

    left: Text
    right: Text
    aligned: Annotated[
        bool, Field(description="Give each unit's total to its likeliest partners; not for first-order methods.")
    ] = False
    special_tokens: Annotated[
        bool, Field(description="Show tokens that the model adds, such as [CLS], in the scene and its picture.")
    ] = False


class CompareRequest(Request):
    """One pair by several methods, models or layers."""

    left: Text
    right: Text
    methods: Annotated[list[MethodName], Field(min_length=1, max_length=8)] = ["bilrp", "token_outputs", "bti"]
    models: Annotated[list[str] | None, Field(min_length=1, max_length=4)] = None
    layers: Annotated[list[int | None], Field(min_length=1, max_length=6)] = [None]
    unit: Literal["word", "sentence"] = "word"
    aligned: Annotated[bool, Field(description="Give each word's total to its likeliest partners.")] = False


class ContrastRequest(OneMethod):
    """Why a rather than b for a query."""

    query: Text
    a: Text
    b: Text
