"""A headless Chromium, driven through its DevTools over a pipe: pages are loaded, pointed at, printed, photographed.

Nothing is installed and nothing is reached but the file that is opened.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    """Return where a Chromium is, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of a browser; `events` holds what it has reported since it was opened."""

    def __enter__(self) -> Self:
        self.home = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def place() -> None:  # the browser reads commands from descriptor 3 and answers on 4
            commands, answers = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write))
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        command = [str(chromium()), *FLAGS, f"--user-data-dir={self.home.name}", "about:blank"]
        self.process = subprocess.Popen(
            command, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self.number, self.held, self.events = 0, b"", list[dict[str, Any]]()
        self.session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *problem: object) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self.write_end)
        os.close(self.read_end)
        self.home.cleanup()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; what is reported meanwhile is kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self.number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.held:
            more = os.read(self.read_end, 1 << 20)
            assert more, "the browser has gone"
            self.held += more
        line, _, self.held = self.held.partition(b"\0")
        return json.loads(line)

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """Return what JavaScript makes of an expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def point_at(self, selector: str, index: int = 0) -> None:
        """Move the pointer to the middle of an element."""
        box = self.value(
            f"(async () => {{const e = document.querySelectorAll({selector!r})[{index}];"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50));"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]})()"
        )
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])

    def screen(self, width: int, dark: bool = False, height: int = 900) -> None:
        """Choose the width of the window and the scheme of colours."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)

    def photograph(self, path: Path, whole: bool = True, clip: dict[str, float] | None = None) -> None:
        """Write a picture of the page."""
        more = {} if clip is None else {"clip": clip}
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **more)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def faults(self) -> list[str]:
        """Return errors of scripts, of the policy and of loading."""
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"].get("text")))
            if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
                found.append(event["params"]["entry"]["text"])
        return found
