"""Takes the pictures of `docs/gallery.md`: the pages of the web explorer, in light, dark and phone width.

    python scripts/make_gallery.py [NAME ...] [--out docs/images/gallery]

Needs the extras `server` and `test`, Chromium, and for the last two the models all-mpnet-base-v2 and m3e-small
(`$WHYALIKE_MODELS`). What is there already is drawn again.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

from whyalike.encoders.available import models_folder

ROOT = Path(__file__).parents[1]
PAIR = {"left": "A man is playing the guitar on stage.", "right": "Someone makes music for a crowd."}
HARBOUR = """The old harbour town wakes early, when the fishing boats come back with the first light of the day. \
On the market square the sellers put up their tables and arrange apples, cheese and loaves of dark bread. \
A violin player sits near the fountain and plays slow songs that her grandfather taught her.

At noon the bells ring, and the restaurants along the quay open their windows. \
Most visitors order soup with mussels, which is made after a recipe that nobody writes down. \
In the afternoon the wind grows stronger, and the sailing school sends its smallest boats home. \
Musicians move into the taverns, and the smell of grilled fish hangs over the lanes.

When the sun goes down, the lamps along the pier are lit one after the other. \
Those who stay until midnight can see the ferries pass like slow floating cities."""
SEASIDE = """We spent three days in a small port on the coast and would go again. \
The market in the morning has fresh fish, fruit and very good bread. \
There is music everywhere: a woman with a violin on the square, guitars in the bars at night.

Eat the mussel soup in one of the restaurants by the water. \
The rooms were clean but rather dark, and the breakfast was poor. \
We rented a little sailing boat, which is cheap, but in the afternoon the wind is too strong for beginners.

The best hour is after sunset, when the lights on the pier go on and the big ferries leave for the islands."""


class Shot(NamedTuple):
    """A page with a state, as wide as a screen, in light or dark."""

    path: str
    state: dict[str, str | list[str]]
    width: int = 1100
    scheme: str = "light"


SHOTS = {
    "short": Shot("/", PAIR),
    "long": Shot("/", {"left": HARBOUR, "right": SEASIDE, "unit": "word"}),
    "contrast": Shot(
        "/contrast",
        {"query": "guitar music for a crowd", "a": PAIR["left"], "b": "A man is playing chess on a bench."},
        scheme="dark",
    ),
    "phone": Shot(
        "/",
        {"left": "The cat does not sleep on the warm stove.", "right": "The cat sleeps on the stove."},
        390,
    ),
    "compare": Shot("/compare", {**PAIR, "methods": ["bilrp", "bti"], "models": ["all-MiniLM-L6-v2"], "unit": "word"}),
    "arabic": Shot("/", {"left": "الرجل يعزف على الجيتار", "right": "شخص يعزف الموسيقى للجمهور"}),
    "german": Shot("/", {"left": "Der Hund läuft über die Wiese.", "right": "The dog runs across the meadow."}),
    "unrelated": Shot("/", {"left": "Stock prices fell on Monday.", "right": "She peeled two oranges."}, scheme="dark"),
    "mpnet": Shot("/", {**PAIR, "model": "all-mpnet-base-v2"}),
    "chinese": Shot("/", {"left": "一个男人在台上弹吉他。", "right": "有人为观众演奏音乐。", "model": "m3e-small"}),
}
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def take(browser: Browser, address: str, shot: Shot, file: Path) -> None:
    """One page, once its result is there."""
    page = browser.new_page(viewport={"width": shot.width, "height": 700}, color_scheme=shot.scheme)  # type: ignore[arg-type]
    page.goto(f"{address}{shot.path}#{urlencode(shot.state, doseq=True)}")
    page.wait_for_selector("#result:not([hidden])", timeout=90_000)
    page.wait_for_selector("#status:not(.busy)", timeout=90_000)
    page.wait_for_timeout(200)
    page.screenshot(path=str(file), full_page=True)
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"Of {', '.join(SHOTS)}. Default: all whose model is there.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "gallery")
    asked = parser.parse_args()
    there = [name for name in ("all-mpnet-base-v2", "m3e-small") if (models_folder() / name).is_dir()]
    names = asked.names or [name for name, shot in SHOTS.items() if shot.state.get("model") in (None, *there)]
    asked.out.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    models = [f"{name}={models_folder() / name}" for name in there]
    command = ["serve", "--port", str(port), "--max-seconds", "300", "--model", "all-MiniLM-L6-v2"]
    for model in models:
        command += ["--model", model]
    server = subprocess.Popen([sys.executable, "-m", "whyalike", *command])  # noqa: S603  (our own command)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(SWITCHES))
            for name in names:
                take(browser, address, SHOTS[name], asked.out / f"{name}.png")
                sys.stdout.write(f"{asked.out / name}.png\n")
            browser.close()
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str) -> None:
    """Until the server answers."""
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{address}/healthz")  # noqa: S310  (on loopback)
        except urllib.error.URLError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit("The server did not start.")


if __name__ == "__main__":
    main()
