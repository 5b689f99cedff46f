"""An embedding API behind a client, as a black box: a local server that speaks the usual ``/v1/embeddings``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import pytest

import whyalike
from tests.embedding_functions import embed_words
from tests.families import LEFT, RIGHT
from whyalike.errors import TooManyCalls, UnsupportedModel

MOST_INPUTS = 20


class Api:
    """What the server was asked, and how it misbehaves next."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.refusals = 0  # how many requests are still to be refused with 429
        self.answer: Callable[[list[str]], list[dict[str, Any]]] = self.embeddings

    @staticmethod
    def embeddings(texts: list[str]) -> list[dict[str, Any]]:
        rows = embed_words(texts).tolist()
        return [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]

    def respond(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        texts = asked["input"]
        if self.refusals:
            self.refusals -= 1
            return 429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit"}}
        if len(texts) > MOST_INPUTS or not all(texts):
            return 400, {"error": {"message": "'$.input' is invalid", "type": "invalid_request_error", "code": None}}
        self.requests.append(texts)
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return 200, {"object": "list", "model": asked["model"], "data": self.answer(texts), "usage": usage}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def address(api: Api) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = api.respond(asked) if self.path == "/v1/embeddings" else (404, {})
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            if status == 429:
                self.send_header("Retry-After", "0.01")
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["httpx", "openai"])
def embed(request: pytest.FixtureRequest, address: str) -> Iterator[Callable[[list[str]], Any]]:
    """A user's function: it retries where the server says it is too busy."""
    if request.param == "httpx":
        with httpx.Client(base_url=address) as client:

            def post(texts: list[str], tries: int = 4) -> list[list[float]]:
                answer = client.post("/embeddings", json={"model": "small", "input": texts})
                if answer.status_code == 429 and tries:
                    time.sleep(float(answer.headers["Retry-After"]))
                    return post(texts, tries - 1)
                answer.raise_for_status()
                return [row["embedding"] for row in answer.json()["data"]]

            yield post
        return
    openai = pytest.importorskip("openai", reason="the ordinary client is not installed")
    with openai.OpenAI(base_url=address, api_key="none", max_retries=4) as client:

        def create(texts: list[str]) -> list[list[float]]:
            found = client.embeddings.create(model="small", input=texts, encoding_format="float")
            return [row.embedding for row in found.data]

        yield create


def load(embed: Callable[[list[str]], Any], **options: Any) -> Any:
    return whyalike.load_encoder(embed, name="small", max_batch=MOST_INPUTS, **options)


ZERO = {"method": "shapley,empty=zero"}  # the server refuses an empty text


def test_it_is_explained_as_the_function_behind_it(api: Api, embed: Any) -> None:
    encoder = load(embed)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO)
    expected = whyalike.explain(LEFT, RIGHT, encoder=whyalike.load_encoder(embed_words), **ZERO)
    np.testing.assert_allclose(e.matrix, expected.matrix, atol=1e-10)
    assert e.score == pytest.approx(expected.score, abs=1e-12)
    assert max(map(len, api.requests)) == MOST_INPUTS


def test_texts_that_are_known_are_not_sent_again(api: Api, embed: Any) -> None:
    encoder = load(embed)
    first = whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO)
    sent = [text for batch in api.requests for text in batch]
    assert len(sent) == len(set(sent)) == encoder.texts_embedded
    assert len(api.requests) == encoder.calls
    again = whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO)
    assert len(api.requests) == encoder.calls
    np.testing.assert_array_equal(first.matrix, again.matrix)


def test_a_busy_server_is_asked_again_by_the_users_own_function(api: Api, embed: Any) -> None:
    encoder = load(embed)
    api.refusals = 2
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO).adds_up
    assert not api.refusals
    assert encoder.calls == len(api.requests)  # a call is one, however often the function tried


def test_no_call_is_made_beyond_those_allowed(api: Api, embed: Any) -> None:
    encoder = load(embed, max_calls=4)
    with pytest.raises(TooManyCalls, match="of at most 4 are spent"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO)
    assert len(api.requests) == encoder.calls <= 4
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder, method="leave_one_out").adds_up
    assert len(api.requests) <= 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda texts: Api.embeddings(texts)[1:], "returned an array of the shape"),
        (lambda texts: [{**row, "embedding": row["embedding"][:3]} for row in Api.embeddings(texts)], "of 3 numbers"),
        (lambda texts: [{**row, "embedding": [float("nan")] * 6} for row in Api.embeddings(texts)], "NaN"),
    ],
    ids=["a row is missing", "another width", "not a number"],
)
def test_a_wrong_answer_is_refused(answer: Any, said: str, api: Api, embed: Any) -> None:
    encoder = load(embed)
    api.answer = answer
    with pytest.raises(UnsupportedModel, match=said):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, **ZERO)


def test_an_empty_text_the_server_refuses_is_named(embed: Any) -> None:
    with pytest.raises(whyalike.errors.BadInput, match="cannot embed an empty text.*empty='zero'"):
        whyalike.explain(LEFT, RIGHT, encoder=load(embed))
