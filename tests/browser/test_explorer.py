"""What a person does on the pages, with a mouse and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import whyalike
from whyalike.results.files import explanation_from_dict

LEFT, RIGHT = "A man plays guitar.", "Someone makes music."


def explain(page: Page, left: str = LEFT, right: str = RIGHT) -> None:
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").fill(left)
    page.get_by_label("Right text").fill(right)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#status")).to_have_text("Explained.")


def control(page: Page, name: str) -> Locator:
    """A control of the form by its name; those under Advanced are opened first."""
    found = page.locator(f"#ask [name={name}]")
    if not found.is_visible():
        page.get_by_text("Advanced", exact=True).click()
    return found


def word(page: Page, text: str) -> object:
    return page.locator("#words button", has_text=text).first


def test_two_texts_are_explained_and_add_up(page: Page) -> None:
    explain(page)
    expect(page.locator("#sentence")).to_contain_text("0.541, moderately alike: mostly guitar ↔ music (40 %)")
    expect(page.locator("#scale")).to_contain_text("sentences that mean the same 0.76 or more")
    expect(page.locator("#advice")).to_contain_text("change or leave out “guitar” on the left")
    expect(page.locator("#closing")).to_have_text("0.541 = 0.459 word pairs + 0.082 special tokens")
    expect(page.locator("#pairs tbody tr").first).to_contain_text("guitar ↔ music")
    assert page.locator("#matrix td.cell").count() == 5 * 4
    control(page, "special_tokens").check()
    expect(page.locator("#closing")).to_have_text("The word pairs add up to the score, 0.541.")
    assert page.locator("#matrix td.cell").count() == 7 * 6
    expect(page.locator("#sum-part")).to_be_hidden()


def test_colours_and_numbers_are_explained_where_they_stand(page: Page) -> None:
    explain(page)
    legend = page.locator("#legend")
    expect(legend).to_contain_text("raises the score")
    expect(legend).to_contain_text("A number is what a pair adds to the score; its share is of the score.")
    colours = [
        page.locator(f"#legend .{name}").evaluate("e => getComputedStyle(e).backgroundColor") for name in ("p12", "n12")
    ]
    assert len({*colours, "rgba(0, 0, 0, 0)"}) == 3
    assert word(page, "guitar").evaluate("e => getComputedStyle(e).backgroundColor").startswith("rgba(179, 88, 6")


def test_help_shows_on_hover_focus_and_tap_and_goes_with_escape(page: Page) -> None:
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    for name in ("Model", "Show"):
        button = page.get_by_role("button", name=f"Help: {name}")
        text = page.locator(f"#{button.get_attribute('aria-controls')}")
        expect(text).to_be_hidden()
        button.hover()
        expect(text).to_be_visible()
        page.mouse.move(0, 0)
        expect(text).to_be_hidden()
        button.focus()
        expect(text).to_be_visible()
        page.keyboard.press("Escape")
        expect(text).to_be_hidden()
        button.click()
        page.mouse.move(0, 0)
        expect(text).to_be_visible()
        page.keyboard.press("Escape")


def test_a_long_text_shows_sentences_first_then_words_badges_and_a_map(page: Page) -> None:
    one = "The harbour wakes early when the boats come home.\n\nA violin player sits near the fountain. " * 5
    other = "The tent was light and dry. We heard a violin in the harbour before the rain began. " * 6
    explain(page, one, other)
    text = page.locator("#words .line").first
    expect(text.locator("details.sentence")).to_have_count(10)
    expect(text.locator("nav.map a")).to_have_count(10)
    written = text.locator(".written").text_content() or ""
    assert "\n\nA violin" in written
    assert text.locator(".written").evaluate("e => getComputedStyle(e).whiteSpaceCollapse") == "preserve"
    text.locator("details.sentence summary").nth(1).click()
    expect(text.locator("details.sentence .panel").nth(1)).to_contain_text("violin ↔ violin")
    text.locator("nav.map a").last.click()
    expect(text.locator("[id$='-9']")).to_be_in_viewport()
    assert "×" in (page.locator("#pairs").text_content() or "")  # equal pairs are one line


def test_pointing_at_a_word_lights_its_partners_and_a_click_pins_it(page: Page) -> None:
    explain(page)
    word(page, "guitar").hover()
    expect(page.locator("#partners")).to_contain_text("guitar with music +0.217")
    expect(word(page, "music").locator("sup")).to_have_text("+0.22")
    assert page.locator("#matrix td.lit").count() == 4
    page.mouse.move(0, 0)
    expect(page.locator("#partners")).to_be_empty()
    word(page, "guitar").click()
    page.mouse.move(0, 0)
    word(page, "makes").hover()
    expect(page.locator("#partners")).to_contain_text("guitar with")  # pinned
    page.keyboard.press("Escape")
    expect(page.locator("#partners")).to_be_empty()


def test_everything_can_be_done_with_the_keyboard(page: Page) -> None:
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").focus()
    page.keyboard.type(LEFT)
    page.keyboard.press("Tab")
    page.keyboard.type(RIGHT)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#sentence")).to_contain_text("0.541")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("guitar"):
            break
    expect(page.locator("#partners")).to_contain_text("guitar with music")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#partners")).to_contain_text("guitar with music")  # pinned, though the focus has gone on
    page.keyboard.press("Escape")
    expect(page.locator("#partners")).to_be_empty()
    page.locator("#matrix td.cell").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("#partners")).to_contain_text("man ↔ Someone: ")
    expect(page.locator("#words .chosen")).to_have_count(2)


@pytest.mark.parametrize("path", ["/", "/compare", "/contrast", "/api"])
def test_the_first_tab_skips_to_the_content_and_the_focus_is_seen(page: Page, path: str) -> None:
    page.goto(f"{path}#unit=word")
    if path != "/api":
        page.wait_for_selector("html[data-ready]")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    if path != "/api":
        assert page.url.endswith("#unit=word")  # the state of the page is as it was
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_units_switch_and_texts_swap(page: Page) -> None:
    explain(page, "A man plays guitar. He sings well.", RIGHT)
    control(page, "unit").select_option("sentence")
    expect(page.locator("#words .line").first.locator("button.word")).to_have_count(2)
    control(page, "unit").select_option("token")
    expect(page.locator("#words .line").first.locator("button.word")).to_have_count(9)
    before = (page.locator("#sentence").text_content() or "")[:5]
    page.get_by_role("button", name="Swap").click()
    expect(page.get_by_label("Left text")).to_have_value(RIGHT)
    expect(page.locator("#words .line").first).to_contain_text("Someone")
    expect(page.locator("#sentence")).to_contain_text(before)


def test_words_can_be_aligned(page: Page, complaints: list[str]) -> None:
    explain(page)
    before = page.locator("#closing").text_content() or ""
    control(page, "aligned").check()
    expect(page.locator("#caption")).to_contain_text("aligned")
    expect(page.locator("#closing")).not_to_have_text(before)  # other pairs, the same score
    expect(page.locator("#closing")).to_contain_text(before.split(" = ")[0])
    assert "aligned=on" in page.url
    control(page, "method").select_option("bti")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#status")).to_contain_text("nothing to align")
    complaints.clear()  # the browser notes the refusal


def test_the_link_brings_the_same_state_back(page: Page) -> None:
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").fill('Tom & "Jerry" <b>?=#%')
    page.get_by_label("Right text").fill("猫とネズミ 🐭" + " " * 18_000)  # as a link, longer than servers take
    control(page, "method").select_option("token_outputs")
    control(page, "unit").select_option("token")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#caption")).to_contain_text("token_outputs")
    words = page.locator("#words").text_content()
    page.reload()
    expect(page.locator("#caption")).to_contain_text("token_outputs")
    expect(page.get_by_label("Left text")).to_have_value('Tom & "Jerry" <b>?=#%')
    expect(page.locator("#ask [name=unit]")).to_have_value("token")
    assert page.locator("#words").text_content() == words


def test_downloads_are_valid(page: Page, tmp_path: Path) -> None:
    explain(page)
    found = {}
    for kind in ("JSON", "HTML", "PNG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=kind, exact=True).click()
        waiting.value.save_as(tmp_path / kind)
        found[kind] = (tmp_path / kind).read_bytes()
    e = explanation_from_dict(json.loads(found["JSON"]))
    assert e.adds_up
    assert whyalike.load(tmp_path / "JSON").score == e.score
    assert b"0.541" in found["HTML"]
    assert found["PNG"][:8] == b"\x89PNG\r\n\x1a\n"


def test_methods_are_compared_side_by_side(page: Page) -> None:
    page.goto("/compare")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").fill(LEFT)
    page.get_by_label("Right text").fill(RIGHT)
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card").nth(2)).to_contain_text("does not add up")
    expect(page.locator("#tables td.cell").first).to_have_text("1.00")
    expect(page.locator("#sentence")).to_contain_text("guitar ↔ music")
    expect(page.locator("#differences .legend").first).to_contain_text("more for bilrp")
    for name in ("bti", "token_outputs"):
        page.locator(f"[name=methods][value={name}]").uncheck()
    page.locator("[name=layers]").fill("0, 3")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator(".card").nth(1)).to_contain_text("layer 3")
    page.locator("[name=methods][value=bilrp]").uncheck()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#status")).to_have_text("Choose at least one method and one model.")


def test_a_contrast_says_why_this_one_rather_than_that(page: Page) -> None:
    page.goto("/contrast")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Query").fill("guitar music")
    page.get_by_label("A, the closer one").fill(LEFT)
    page.get_by_label("B, the other one").fill("A man plays chess.")
    page.get_by_role("button", name="Contrast", exact=True).click()
    expect(page.locator("#sentence")).to_contain_text("A scores higher by ")
    expect(page.locator("#pairs tbody tr, #pairs table > tr").first).to_contain_text("guitar")
    up = page.locator("#sentence").text_content() or ""
    page.get_by_role("button", name="Swap A and B").click()
    expect(page.locator("#sentence")).to_have_text(up.replace("A scores", "B scores"))


NASTY = ["<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "\"'`&lt;", "\u202eabc", "x" * 9000]


@pytest.mark.parametrize("nasty", NASTY, ids=["script", "style", "quotes", "bidi", "long"])
def test_whatever_the_text_it_stays_text(page: Page, nasty: str) -> None:
    asked = []
    page.on("dialog", lambda dialog: asked.append(dialog.dismiss()))
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").fill(nasty)
    page.get_by_label("Right text").fill(RIGHT)
    control(page, "truncate").check()
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#status")).to_have_text("Explained.", timeout=60_000)
    assert page.locator("#result script, #result img, #result style").count() == 0
    assert "\u202e" not in (page.locator("#result").text_content() or "")
    assert not asked
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_cannot_be_done_is_said(page: Page, complaints: list[str]) -> None:
    page.goto("/")
    page.wait_for_selector("html[data-ready]")
    page.get_by_label("Left text").fill("word " * 600)
    page.get_by_label("Right text").fill(RIGHT)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#status.error")).to_contain_text("reads at most 256")
    expect(page.locator("#result")).to_be_hidden()
    assert len(complaints) == 1
    assert "400" in complaints.pop()  # the browser's own note


FORMS = {
    "/": {"Left text": LEFT, "Right text": RIGHT},
    "/compare": {"Left text": LEFT, "Right text": RIGHT},
    "/contrast": {"Query": "guitar music", "A, the closer one": LEFT, "B, the other one": RIGHT},
    "/api": {},
}


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("path", FORMS)
def test_no_page_is_wider_than_the_screen_empty_or_full(page: Page, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(path)
    fits = "document.documentElement.scrollWidth <= innerWidth"
    assert page.evaluate(fits)
    if FORMS[path]:
        page.wait_for_selector("html[data-ready]")
        for label, text in FORMS[path].items():
            page.get_by_label(label).fill(text + " Antidisestablishmentarianism, for once." * 4)
        page.locator("button.main").click()
        expect(page.locator("#result")).to_be_visible()
        assert page.evaluate(fits)


def test_a_link_pasted_into_an_open_page_is_followed(page: Page) -> None:
    explain(page)
    page.evaluate("location.hash = new URLSearchParams({ left: 'A man plays chess.', right: 'Someone makes music.' })")
    expect(page.get_by_label("Left text")).to_have_value("A man plays chess.")
    expect(page.locator("#words")).to_contain_text("chess")
