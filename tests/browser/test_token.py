"""A server with a token, in a real browser: asked for once, and a wrong one is called wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.families import LEFT, RIGHT, tiny_encoder
from tests.serving import serving
from whyalike.evaluate.rating import prepare
from whyalike.evaluate.run import cases_of
from whyalike.server.app import create_app
from whyalike.server.settings import ServerSettings
from whyalike.server.study import create_study

TOKEN = "sesame 7"
SETTINGS = ServerSettings(token=TOKEN)


@pytest.fixture
def closed(browser: Browser) -> Iterator[Page]:
    with serving(create_app(SETTINGS), SETTINGS) as port:
        context = browser.new_context(base_url=f"http://127.0.0.1:{port}")
        yield context.new_page()
        context.close()


def give(page: Page, token: str) -> None:
    page.get_by_label("This server needs its token").fill(token)
    page.get_by_role("button", name="Use it").click()


def test_a_wrong_token_is_called_wrong_and_asked_for_again(closed: Page) -> None:
    closed.goto("/")
    alert = closed.get_by_role("alert")
    expect(closed.get_by_label("This server needs its token")).to_be_focused()
    expect(alert).to_have_count(0)  # none was given yet, so none is wrong
    for wrong in ("sesame", "né", "sesame 8"):
        give(closed, wrong)
        expect(alert).to_have_text("That token is not right.")
        expect(closed.get_by_label("This server needs its token")).to_have_value("")
        expect(closed.get_by_label("This server needs its token")).to_be_focused()
    give(closed, TOKEN)
    expect(closed.locator("form.token")).to_have_count(0)
    expect(closed.get_by_label("Model").locator("option")).to_have_count(1)


def test_a_token_is_asked_for_once_and_kept_for_all_pages(closed: Page) -> None:
    closed.goto("/")
    give(closed, TOKEN)
    closed.wait_for_selector("html[data-ready]")
    for path in ("/compare", "/contrast", "/"):
        closed.goto(path)
        closed.wait_for_selector("html[data-ready]")
        expect(closed.locator("form.token")).to_have_count(0)


def test_several_requests_ask_with_one_form(closed: Page) -> None:
    closed.goto("/")
    closed.locator("form.token").wait_for()
    closed.evaluate(
        """async () => {
          const { ask } = await import("/static/page.js");
          window.answers = Promise.all(["/api/models", "/api/methods", "/api/models"].map((path) => ask(path)));
        }"""
    )
    closed.wait_for_load_state("networkidle")
    expect(closed.locator("form.token")).to_have_count(1)
    for token in ("wrong", TOKEN):
        give(closed, token)
    assert closed.evaluate("window.answers.then((answers) => answers.map((answer) => answer.status))") == [
        200,
        200,
        200,
    ]
    expect(closed.locator("form.token")).to_have_count(0)


def test_the_rating_page_asks_too(browser: Browser, tmp_path: Path) -> None:
    cases = cases_of([(LEFT, RIGHT)])
    study = prepare(cases, tmp_path / "study", encoder=tiny_encoder(), subjects=["exact_match"], progress=False)
    with serving(create_study(study, SETTINGS), SETTINGS) as port:
        context = browser.new_context(base_url=f"http://127.0.0.1:{port}")
        page = context.new_page()
        page.goto("/")
        page.wait_for_selector("html[data-ready]")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Begin").click()
        give(page, "15")  # digits here are no ratings
        expect(page.get_by_role("alert")).to_have_text("That token is not right.")
        give(page, TOKEN)
        expect(page.locator("#status")).to_have_text("0 of 1 rated")
        assert study.answers() == {}
        context.close()
