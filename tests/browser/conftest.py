"""A real server on loopback and a real Chromium, headless. Where there is no Chromium the tests say how to get one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.serving import serving
from whyalike.server.app import create_app
from whyalike.server.settings import ServerSettings

expect.set_options(timeout=60_000)  # a busy machine is slow, not wrong
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with serving(create_app(), ServerSettings()) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        reason = "The browser tests need Chromium: apt-get install chromium fonts-dejavu-core"
        pytest.fail(reason) if os.environ.get("WHYALIKE_DATA") else pytest.skip(reason)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console says. A test that expects a complaint takes it out."""
    return []


@pytest.fixture
def page(browser: Browser, address: str, complaints: list[str]) -> Iterator[Page]:
    """A page that may not complain and may not leave loopback."""
    context = browser.new_context(base_url=address, accept_downloads=True, viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    elsewhere: list[str] = []
    opened.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "request", lambda request: None if request.url.startswith((address, "blob:")) else elsewhere.append(request.url)
    )
    yield opened
    context.close()
    assert not complaints
    assert not elsewhere
