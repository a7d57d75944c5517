"""The report's page in Chromium, driven over its DevTools protocol: no console message, phone, dark mode, keyboard."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.components.test_report import PAGE, bare, finished, report

__all__ = ["bare", "finished"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
START_S = 60


class Tab:
    """One tab of a headless browser."""

    def __init__(self, port: int) -> None:
        import httpx
        import websocket

        targets = httpx.get(f"http://127.0.0.1:{port}/json/list", timeout=START_S).json()
        page = next(target for target in targets if target["type"] == "page")
        self._socket = websocket.create_connection(
            page["webSocketDebuggerUrl"], timeout=START_S, suppress_origin=True, max_size=None
        )
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come meanwhile are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def open(self, page: Path) -> None:
        """Open a file and wait until it is shown."""
        self.call("Page.navigate", url=page.as_uri())
        deadline = time.monotonic() + START_S
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type=kind, **named, **({"text": text} if text else {}))

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a headless Chromium."""
    profile = tmp_path_factory.mktemp("profile")
    assert CHROMIUM is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    process = subprocess.Popen(
        [CHROMIUM, *flags, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        place, deadline = profile / "DevToolsActivePort", time.monotonic() + START_S
        while not place.exists() or not place.read_text().strip():
            assert process.poll() is None, "Chromium ended"
            assert time.monotonic() < deadline, "Chromium does not start"
            time.sleep(0.1)
        yield int(place.read_text().split()[0])
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def tab(browser: int, finished: Path) -> Iterator[Tab]:
    assert report(finished) == 0
    tab = Tab(browser)
    tab.open(finished / PAGE)
    yield tab
    for media in ([], [{"name": "prefers-color-scheme", "value": ""}]):
        tab.call("Emulation.setEmulatedMedia", features=media)
    tab.call("Emulation.clearDeviceMetricsOverride")
    tab.close()


def test_the_page_is_drawn_without_a_message_or_a_request(tab: Tab) -> None:
    picture = base64.b64decode(tab.call("Page.captureScreenshot")["data"])
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000, "an empty page"
    assert tab.evaluate("document.querySelectorAll('figure svg').length") > 0
    said = [event for event in tab.events if event["method"] in {"Log.entryAdded", "Runtime.exceptionThrown"}]
    said += [event for event in tab.events if event["method"] == "Runtime.consoleAPICalled"]
    assert said == []
    asked = [e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_phone_scrolls_tables_and_never_the_page(tab: Tab, width: int) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=2, mobile=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.innerWidth") == width
    assert tab.evaluate("document.querySelector('.verdict h2').getBoundingClientRect().top") < 800
    size = tab.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16


COLOURS = """
[...document.querySelectorAll('body, h1, h2, a, small, caption, th, td, mark, summary, .gold, .wrong, .muted, pre')]
  .filter(element => element.getClientRects().length)
  .map(element => {
    let behind = element;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    return [element.tagName, getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
  })
"""


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_in_dark(tab: Tab, scheme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    paper = luminance(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert paper > 0.9 if scheme == "light" else paper < 0.05
    pairs = {tuple(found) for found in tab.evaluate(COLOURS)}
    assert len(pairs) > 8
    for tag, ink, behind in sorted(pairs):
        lights = sorted((luminance(ink), luminance(behind)))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5, (tag, ink, behind)


FOCUSABLE = "a[href], summary, [tabindex='0']"


def test_the_keyboard_reaches_everything(tab: Tab) -> None:
    seen = f'[...document.querySelectorAll("{FOCUSABLE}")].filter(one => one.checkVisibility()).length'
    count = tab.evaluate(seen)
    assert count > 15
    places = []
    for _ in range(count):
        tab.press("Tab", 9)
        places.append(tab.evaluate(f'[...document.querySelectorAll("{FOCUSABLE}")].indexOf(document.activeElement)'))
        assert tab.evaluate("document.activeElement.matches(':focus-visible')")
    assert places == sorted(set(places)), "focus follows the page's order and is never trapped"
    assert len(places) == count


def test_the_keyboard_skips_to_the_content_and_opens_details(tab: Tab) -> None:
    tab.press("Tab", 9)
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    tab.press("Enter", 13, "\r")
    assert tab.evaluate("location.hash") == "#content"
    tab.evaluate("document.querySelector('summary').focus()")
    assert tab.evaluate("document.querySelector('details').open") is False
    tab.press("Enter", 13, "\r")
    assert tab.evaluate("document.querySelector('details').open") is True
