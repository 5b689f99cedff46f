"""Every page and picture by axe-core: light and dark, on a desktop and on a phone; and none is wider than the screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

import whyalike
from tests.analysis_corpus import make_corpus
from tests.evaluation_pairs import PAIRS
from tests.families import tiny_encoder
from tests.serving import serving
from tests.unit.test_golden_pictures import SCENES
from whyalike.analysis.report import report
from whyalike.evaluate.rating import prepare
from whyalike.evaluate.run import cases_of, evaluate
from whyalike.render.evaluation import to_html as evaluation_page
from whyalike.render.report import to_report
from whyalike.server.settings import ServerSettings
from whyalike.server.study import create_study

WIDTHS = (360, 390, 1200)
LEFT, RIGHT = "A man is not playing the guitar on stage.", "Someone makes music for a crowd."
CHINESE = "一个男人在舞台上弹吉他，观众安静地听着，没有人说话。" * 3, "有人为观众演奏音乐。"
ARABIC = "رجل يعزف على الغيتار على المسرح.", "איש מנגן בגיטרה על הבמה."
SENTENCE = "The wine from number {} smells of ripe cherries, dry leaves and a little smoke. "
LONG = tuple("".join(SENTENCE.format(first + number) for number in range(17)) for first in (1, 40))  # 250 words
WIDE = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 4, "https://example.com/" + "a" * 300


def pair(texts: tuple[str, ...], **options: str) -> dict[str, str]:
    return {"left": texts[0], "right": texts[1], **options}


FAST = {"method": "token_outputs"}
STATES = {
    "explain": ("/", None),
    "explain a pair": ("/", pair((LEFT, RIGHT))),
    "explain a background": ("/", pair((LEFT, RIGHT), method="integrated_jacobians", layer="5")),
    "explain matches": ("/", pair((LEFT, RIGHT), method="bti")),
    "explain tokens": ("/", pair((LEFT, RIGHT), unit="token")),
    "explain Chinese": ("/", pair(CHINESE)),
    "explain Arabic": ("/", pair(ARABIC)),
    "explain long texts": ("/", pair(LONG, truncate="on", **FAST)),
    "explain long words": ("/", pair(WIDE, truncate="on", **FAST)),
    "explain nothing": ("/", pair((" ", RIGHT))),
    "compare": ("/compare", None),
    "compare a pair": ("/compare", pair((LEFT, RIGHT), methods="bilrp,bti", models="all-MiniLM-L6-v2")),
    "compare long texts": ("/compare", pair(LONG, methods="token_outputs", models="all-MiniLM-L6-v2", truncate="on")),
    "compare long words": ("/compare", pair(WIDE, methods="token_outputs", models="all-MiniLM-L6-v2", truncate="on")),
    "contrast": ("/contrast", None),
    "contrast two": ("/contrast", {"query": "guitar music", "a": LEFT, "b": RIGHT}),
    "contrast long": ("/contrast", {"query": CHINESE[1], "a": LONG[0], "b": WIDE[0], "truncate": "on", **FAST}),
    "API": ("/api", None),
}


def violations(page: Page) -> list[str]:
    """What axe-core finds on the page as it is: its rules for WCAG and its best practices."""
    found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((result) => result.violations)")
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"][:3]
    ]


def check(page: Page) -> None:
    """Every colour scheme and width."""
    wrong = []
    page.evaluate(AXE_SCRIPT)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        needed, there = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
        if needed > there:
            wrong.append(f"{width} pixels: the page is {needed} wide")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            if width != 360:
                wrong += [f"{width} pixels, {scheme}: {each}" for each in violations(page)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("state", STATES)
def test_a_page_can_be_used_by_everyone(page: Page, state: str, complaints: list[str]) -> None:
    path, fields = STATES[state]
    items = [(name, each) for name, value in (fields or {}).items() for each in _values(name, value)]
    page.goto(f"{path}#{urlencode(items)}" if items else path)
    if path != "/api":
        page.wait_for_selector("html[data-ready]")
    if state == "explain nothing":
        expect(page.locator("#status.error")).to_be_visible()
        complaints.clear()  # the browser notes the refusal
    elif items:
        expect(page.locator("#result")).to_be_visible()
        expect(page.locator("#status.busy")).to_have_count(0)
        page.evaluate("for (const each of document.querySelectorAll('#result details')) each.open = true")
    check(page)


def _values(name: str, value: str) -> list[str]:
    return value.split(",") if name == "methods" else [value]


def test_a_word_that_is_pinned_can_be_read_by_everyone(page: Page) -> None:
    page.goto("/#" + urlencode(pair((LEFT, RIGHT))))
    page.locator("#words button", has_text="guitar").click()
    expect(page.locator("#partners")).to_contain_text("guitar with")
    check(page)


def test_the_form_for_the_token_can_be_used_by_everyone(browser: Browser) -> None:
    from whyalike.server.app import create_app

    settings = ServerSettings(token="sesame")
    with serving(create_app(settings), settings) as port:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_label("This server needs its token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        check(page)
        page.close()


def test_the_rating_page_can_be_used_by_everyone(browser: Browser, tmp_path: Path) -> None:
    cases = cases_of([(LEFT + WIDE[0], RIGHT + CHINESE[0])])
    study = prepare(cases, tmp_path / "study", encoder=tiny_encoder(), subjects=["exact_match"], progress=False)
    with serving(create_study(study, ServerSettings()), ServerSettings()) as port:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html[data-ready]")
        check(page)
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Begin").click()
        expect(page.locator("#result")).to_be_visible()
        check(page)
        page.close()


def pictures() -> dict[str, Callable[[], str]]:
    """Pictures as pages of their own."""

    def drawn(name: str) -> Callable[[], str]:
        return lambda: whyalike.render.to_html(SCENES[name]())

    def by_method(method: str, texts: tuple[str, ...]) -> Callable[[], str]:
        def page() -> str:
            options = {"unit": "word", "truncate": True, "encoder": whyalike.load_encoder()}
            return whyalike.render.to_html(whyalike.explain(*texts, method=method, **options))

        return page

    return {
        **{name: drawn(name) for name in SCENES},
        "long texts": by_method("token_outputs", LONG),
        "long words": by_method("token_outputs", WIDE),
        "Chinese": by_method("bilrp", CHINESE),
    }


@pytest.mark.parametrize("name", pictures())
def test_a_picture_can_be_read_by_everyone(page: Page, name: str) -> None:
    page.set_content(pictures()[name]())
    check(page)


def test_the_page_of_an_evaluation_can_be_read_by_everyone(page: Page) -> None:
    found = evaluate(
        "perturbation", cases_of(PAIRS[:2]), encoder=tiny_encoder(), subjects=["exact_match", "random"], progress=False
    )
    page.set_content(evaluation_page(found))
    check(page)


def test_a_report_can_be_read_by_everyone(page: Page, tmp_path: Path) -> None:
    study = make_corpus(tiny_encoder("bert"), tmp_path / "study")
    page.set_content(to_report(report(study), data="our own", card="# A card"))
    check(page)
