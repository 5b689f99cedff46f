"""The JSON API: the library's own answers, every refusal with its reason, limits that hold."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import whyalike
from tests.families import tiny_folder
from whyalike.api import compare as compare_in_library
from whyalike.server import worker
from whyalike.server.app import create_app
from whyalike.server.limits import HEADERS, Limits
from whyalike.server.settings import DEFAULT, ServerSettings, parse_models

PAIR = {"left": "A man plays guitar.", "right": "Someone makes music."}


@pytest.fixture(scope="module")
def app() -> Limits:
    return create_app()


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return whyalike.load_encoder()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own: the browser tests may have left a loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def call(app: Limits, method: str, path: str, **options: Any) -> httpx.Response:
    async def go() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return run(go())


def post(app: Limits, path: str, body: Any, **options: Any) -> httpx.Response:
    return call(app, "POST", path, json=body, **options)


def same(one: Any, other: Any) -> None:
    """Equal but for the last digits."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-6)
    else:
        assert one == other


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_explain_is_the_librarys_own_answer(app: Limits, encoder: whyalike.Encoder, unit: Any) -> None:
    answer = post(app, "/api/explain", {**PAIR, "unit": unit, "layer": 2}).json()
    scene, html = answer.pop("scene"), answer.pop("html")
    assert set(html) == {"sentence", "words", "legend", "pairs", "parts", "matrix", "notes"}
    same(answer, json.loads(json.dumps(whyalike.explain(**PAIR, encoder=encoder, unit=unit, layer=2).to_dict())))
    assert scene["closing"].startswith("0.541 = ")
    assert [part["name"] for part in scene["parts"]] == [f"{unit} pairs", "special tokens"]
    assert sum(part["value"] for part in scene["parts"]) == pytest.approx(answer["score"], abs=1e-5)
    assert len(scene["cells"]) == len(scene["left"])


def test_compare_and_contrast_are_the_librarys_own_answers(app: Limits, encoder: whyalike.Encoder) -> None:
    answer = post(app, "/api/compare", {**PAIR, "methods": ["bilrp", "bti"]}).json()
    library = compare_in_library(**PAIR, methods=["bilrp", "bti"], encoders=[encoder])
    np.testing.assert_allclose(answer["spearman"], library.spearman, atol=1e-6)
    assert [entry["name"] for entry in answer["entries"]] == ["bilrp", "bti"]
    assert answer["html"]["cards"].count("<section") == 2
    texts = {"query": "guitar music", "a": PAIR["left"], "b": "A man plays chess."}
    answer = post(app, "/api/contrast", {**texts, "unit": "token"}).json()
    library = whyalike.contrast(**texts, encoder=encoder)
    np.testing.assert_allclose(answer["query_values"], library.query_values, atol=1e-6)
    assert answer["difference"] == pytest.approx(library.difference, abs=1e-6)


def test_pictures_come_as_page_and_image(app: Limits) -> None:
    page, image = (post(app, f"/api/explain.{kind}", PAIR) for kind in ("html", "png"))
    assert page.text.startswith("<!doctype html>")
    assert image.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert image.headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/api/explain", {**PAIR, "model": "/etc/passwd"}, 404, "There is no model '/etc/passwd'"),
        ("/api/explain", {**PAIR, "method": "magic"}, 404, "There is no method 'magic'"),
        ("/api/explain", {**PAIR, "layer": 99}, 404, "There is no layer 99"),
        ("/api/explain", {**PAIR, "unit": "letter"}, 422, "unit: Input should be 'token', 'word' or 'sentence'"),
        ("/api/explain", {**PAIR, "surprise": 1}, 422, "surprise: Extra inputs are not permitted"),
        ("/api/explain", {**PAIR, "left": 7}, 422, "left: Input should be a valid string"),
        ("/api/explain", {"left": "alone"}, 422, "right: Field required"),
        ("/api/explain", {**PAIR, "left": "a" * 20_001}, 400, "20001 characters; this server takes at most 20000"),
        ("/api/explain", {**PAIR, "left": "word " * 600}, 400, "reads at most 256"),
        ("/api/explain", {**PAIR, "left": "\ud800"}, 400, "lone surrogates"),
        ("/api/explain", {**PAIR, "method": "bti", "unit": "token"}, 400, "explains words, not tokens"),
        ("/api/compare", {**PAIR, "methods": []}, 422, "methods: List should have at least 1 item"),
        ("/api/compare", {**PAIR, "methods": ["bilrp"] * 8, "layers": [0, 1]}, 400, "16 explanations at once"),
        ("/api/compare", {**PAIR, "models": ["other"]}, 404, "There is no model 'other'"),
        ("/api/contrast", {"query": "q", "a": "a", "b": "b", "method": "bti"}, 400, "does not add up"),
    ],
)
def test_refusals_say_why(app: Limits, path: str, body: Any, status: int, message: str) -> None:
    answer = call(app, "POST", path, content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]["message"]


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b"\xff\xfe", b'{"left": "\xff"}', b"[" * 5000, b""])
def test_what_is_no_request_is_refused(app: Limits, content: bytes) -> None:
    answer = call(app, "POST", "/api/explain", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_large_requests_are_refused_whatever_they_state(app: Limits) -> None:
    large = b'{"left": "' + b"a" * 10_000_000 + b'"}'
    assert call(app, "POST", "/api/explain", content=large).status_code == 413

    async def pieces() -> Any:
        for _ in range(2000):
            yield b"a" * 1000

    assert call(app, "POST", "/api/explain", content=pieces()).status_code == 413
    assert call(app, "GET", "/healthz").json()["status"] == "ok"


def test_a_client_that_never_ends_its_request_is_let_go() -> None:
    app = create_app(ServerSettings(max_seconds=0.05))
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/explain", "headers": [(b"host", b"localhost")]}
    run(app(scope, receive, send))
    assert sent[0]["status"] == 408


def test_when_full_the_next_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(ServerSettings(max_waiting=2))

    def slow(*args: Any, **options: Any) -> Any:
        time.sleep(0.2)
        return whyalike.explain(*args, method="random", encoder=options["encoder"])

    monkeypatch.setattr(worker, "explain", slow)

    async def crowd() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            bodies = [{**PAIR, "left": f"A man plays guitar {number}."} for number in range(8)]
            answers = await asyncio.gather(*(client.post("/api/explain", json=body) for body in bodies))
            later = await client.post("/api/explain", json={**PAIR, "left": "later"})
            return [*answers, later, await client.get("/healthz")]

    *answers, later, health = run(crowd())
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, 200, 503, 503, 503, 503, 503, 503]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.headers["retry-after"] == "1"
    assert "Try again" in refused.json()["error"]["message"]
    assert later.status_code == 200
    assert health.json()["waiting"] == 0


def test_the_more_are_refused_the_later_they_hear_of_it() -> None:
    shop = worker.Worker(ServerSettings())
    shop.waiting = 1

    async def refused() -> float:
        start = time.monotonic()
        with pytest.raises(worker.Busy):
            await shop.run(lambda: None, [None])
        return time.monotonic() - start

    async def crowd(size: int) -> list[float]:
        return list(await asyncio.gather(*(refused() for _ in range(size))))

    assert max(run(crowd(1))) < 0.5
    assert 1.1 < max(run(crowd(30))) < 4.0
    assert shop._refused == 0


def test_loading_a_model_is_not_held_against_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = worker.Worker(ServerSettings(max_seconds=0.2))
    monkeypatch.setattr(worker, "load_encoder", lambda source, name: time.sleep(0.5) or "loaded")
    assert run(shop.run(lambda: shop.encoder(None), [None])) == "loaded"
    monkeypatch.setattr(worker, "load_encoder", lambda source, name: 1 / 0)
    shop = worker.Worker(ServerSettings())
    with pytest.raises(ZeroDivisionError):
        run(shop.run(lambda: None, [None]))
    assert shop.waiting == 0


def test_an_answer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(ServerSettings(max_seconds=0.1))
    monkeypatch.setattr(worker, "explain", lambda *args, **options: time.sleep(0.4))
    monkeypatch.setattr(worker, "load_encoder", lambda source, name: None)
    answer = post(app, "/api/explain", PAIR)
    assert answer.status_code == 503
    assert "longer than the 0.1 seconds" in answer.json()["error"]["message"]


def test_the_same_pair_in_another_unit_is_not_explained_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app()
    asked: list[str] = []
    original = worker.explain

    def counting(left: str, right: str, **options: Any) -> Any:
        asked.append(left)
        return original(left, right, **options)

    monkeypatch.setattr(worker, "explain", counting)
    for unit in ("word", "token", "sentence", "word"):
        assert post(app, "/api/explain", {**PAIR, "unit": unit}).status_code == 200
    assert asked == [PAIR["left"]]
    forgetful = create_app(ServerSettings(kept=0))
    for _ in range(2):
        assert post(forgetful, "/api/explain", PAIR).status_code == 200
    assert len(asked) == 3


def test_a_token_is_needed_where_the_operator_set_one() -> None:
    app = create_app(ServerSettings(token="open sesame"))
    for given, type_, message in (
        ({}, "MissingToken", "This server needs its token"),
        ({"Authorization": "Bearer wrong"}, "WrongToken", "The token is not right"),
        ({"Authorization": "open sesame"}, "WrongToken", "'Authorization: Bearer …'"),
    ):
        refused = call(app, "GET", "/api/models", headers=given)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.json()["error"]["type"] == type_
        assert message in refused.json()["error"]["message"]
    answer = call(app, "GET", "/api/models", headers={"Authorization": "Bearer open sesame"})
    assert answer.json() == [{"name": DEFAULT, "loaded": False}]
    for path in ("/healthz", "/api", "/api/openapi.json", "/"):
        assert call(app, "GET", path).status_code == 200
    assert "open sesame" not in repr(ServerSettings(token="open sesame"))


@pytest.mark.parametrize(
    "path", ["/", "/compare", "/contrast", "/api", "/healthz", "/api/methods", "/static/page.js", "/none"]
)
def test_every_answer_carries_the_security_headers(app: Limits, path: str) -> None:
    answer = call(app, "GET", path)
    assert answer.status_code == (404 if path == "/none" else 200)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value


@pytest.mark.parametrize("path", ["/", "/compare", "/contrast", "/api"])
def test_pages_load_nothing_from_elsewhere_and_have_no_inline_script(app: Limits, path: str) -> None:
    page = call(app, "GET", path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\son\w+=|<style|style=", page)
    for address in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert address.startswith(("/", "#")), address


def test_the_description_of_the_api_names_every_path(app: Limits) -> None:
    paths = call(app, "GET", "/api/openapi.json").json()["paths"]
    assert {"/api/explain", "/api/compare", "/api/contrast", "/api/models", "/api/methods", "/healthz"} <= paths.keys()
    page = call(app, "GET", "/api").text
    assert all(path in page for path in paths)


def test_a_server_on_loopback_answers_to_loopback_alone(app: Limits) -> None:
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000"):
        assert call(app, "GET", "/healthz", headers={"Host": host}).status_code == 200
    answer = call(app, "GET", "/api/models", headers={"Host": "elsewhere.example:8000"})
    assert answer.status_code == 421
    assert "does not answer to 'elsewhere.example'" in answer.json()["error"]["message"]
    assert (
        call(
            create_app(ServerSettings(hosts=None)), "GET", "/healthz", headers={"Host": "elsewhere.example"}
        ).status_code
        == 200
    )


def test_errors_of_the_framework_have_the_same_shape(app: Limits) -> None:
    for method, path, status in (("GET", "/nowhere", 404), ("GET", "/api/explain", 405)):
        answer = call(app, method, path)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]


def test_what_is_kept_is_bounded_by_all_it_holds(encoder: whyalike.Encoder) -> None:
    # One endless word is one token: its matrix is tiny, its text is not.
    shop = worker.Worker(ServerSettings(kept=500_000))
    shop._encoders[DEFAULT] = encoder
    for number in range(12):
        shop.explanation(f"{number}" + "x" * 19_000, "music", None, "random", None, "word", True)
    assert 1 <= len(shop._kept) <= 6
    assert shop._kept.currsize <= 500_000
    first = next(iter(shop._kept))
    shop.explanation(first[3], "music", None, "random", None, "word", True)
    assert shop._kept.popitem()[0] != first  # used again, so not the next to go


@pytest.mark.parametrize(
    "options", [{"models": {}}, {"max_body": 0}, {"max_waiting": -1}, {"token": " "}, {"token": "é"}, {"token": "a "}]
)
def test_settings_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(whyalike.errors.BadInput):
        ServerSettings(**options)


def test_a_model_without_a_name_is_refused_before_the_server_starts() -> None:
    with pytest.raises(whyalike.errors.BadInput, match="A model's name is empty"):
        ServerSettings(models={"": ""})


def test_a_model_is_served_under_the_name_it_was_given(tmp_path: Path) -> None:
    folder = str(tiny_folder(tmp_path / "checkpoint=7"))
    models = parse_models([f"ours={folder}", folder, "sentence-transformers/all-mpnet-base-v2"])
    mpnet = "sentence-transformers/all-mpnet-base-v2"
    assert models == {"ours": folder, folder: folder, mpnet: mpnet}  # a path that exists is a path, whatever is in it
    app = create_app(ServerSettings(models=models))
    assert [each["name"] for each in call(app, "GET", "/api/models").json()] == list(models)
    found = post(app, "/api/explain", PAIR | {"model": "ours"}).json()
    assert found["model"]["name"] == "ours"
    assert found["scene"]["caption"].startswith("ours · ")
    assert str(tmp_path) not in json.dumps(found)  # where the model lies is nobody's business
    refused = post(app, "/api/explain", PAIR | {"model": "ours", "left": "word " * 600}).json()["error"]["message"]
    assert "'ours' reads at most" in refused
    assert post(app, "/api/explain", PAIR | {"model": f"ours={folder}"}).status_code == 404


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["ours=here", "ours=there"], "Two models have the name 'ours': here and there. Give one another name"),
        (["here", "here"], "Two models have the name 'here'"),
        (["=here"], "A model's name is empty"),
    ],
)
def test_names_of_models_are_told_apart(given: list[str], message: str) -> None:
    with pytest.raises(whyalike.errors.BadInput, match=message):
        ServerSettings(models=parse_models(given))


def test_the_page_is_told_in_its_own_words(app: Limits) -> None:
    found = post(app, "/api/explain", PAIR | {"method": "bti", "unit": "token"}).json()["error"]
    assert found["message"].endswith("Use unit='word'.")
    assert found["on_page"].endswith("choose word under Units.")
    found = post(app, "/api/explain", PAIR | {"left": "word " * 300}).json()["error"]
    assert "tick “cut long texts”" in found["on_page"]
    assert "truncate" not in found["on_page"]
