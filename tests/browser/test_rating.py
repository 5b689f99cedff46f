"""The page of a study in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.families import LEFT, RIGHT, tiny_encoder
from tests.serving import serving
from whyalike.evaluate.rating import RatingStudy, prepare
from whyalike.evaluate.run import cases_of
from whyalike.server.settings import ServerSettings
from whyalike.server.study import create_study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[tuple[str, RatingStudy]]:
    cases = cases_of([(LEFT, RIGHT), ("<script>alert(1)</script> man", "A dog. " * 30)])
    made = prepare(cases, tmp_path / "study", encoder=tiny_encoder(), subjects=["bilrp", "random"], progress=False)
    with serving(create_study(made, ServerSettings()), ServerSettings()) as port:
        yield f"http://127.0.0.1:{port}", made


def test_a_study_is_rated_by_mouse_and_keys_and_goes_on_in_another_tab(
    study: tuple[str, RatingStudy], browser: Browser
) -> None:
    address, made = study
    context = browser.new_context(base_url=address)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#status")).to_have_text("0 of 4 rated")
    expect(page.locator("#words .line")).to_have_count(2)
    page.wait_for_timeout(300)  # an answer within a quarter of a second is taken for a slip
    page.get_by_role("button", name="4 mostly").click()
    expect(page.locator("#status")).to_have_text("1 of 4 rated")
    page.close()  # loses nothing
    page = context.new_page()
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    expect(page.get_by_label("Your name")).to_have_value("Ada")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#status")).to_have_text("1 of 4 rated")
    cut = []
    for count in (2, 3):
        cut.append(len(made.next_item("Ada")["item"]["cut"]))
        expect(page.locator("#words .note")).to_have_count(cut[-1])
        page.wait_for_timeout(300)
        page.keyboard.press("5")
        expect(page.locator("#status")).to_have_text(f"{count} of 4 rated")
    page.wait_for_timeout(300)
    assert set(cut) == {0, 1}  # a text that was cut is said to be
    page.keyboard.press("1")
    expect(page.locator("#status")).to_have_text("All 4 are rated. Thank you, Ada.")
    assert sorted(made.answers().values()) == [1, 4, 5, 5]
    assert not complaints
    context.close()
