"""Takes the picture of the page of the decision service; needs Playwright and Chromium.

python docs/figures/service.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).with_suffix(".png")
SIZE = {"width": 1180, "height": 660}


def main() -> None:
    """Load the sample network, let a link fail, decide, and take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lagco", "serve", "--port", "0", "--problems", "ospf"]
        command += ["--controllers", "hold,greedy", "--store", f"{folder}/live.db"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert service.stdout is not None
        url = service.stdout.readline().strip().removeprefix("serving on ")
        try:
            with sync_playwright() as playwright:
                path = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
                show(browser.new_page(viewport=SIZE), url)
                browser.close()
        finally:
            service.terminate()
            service.wait()


def show(page: Page, url: str) -> None:
    """Bring the page to where the picture is taken."""
    page.goto(url)
    page.locator("summary").click()
    page.locator("#network").click()
    page.wait_for_selector("#picture .link")
    for link in (0, 12):
        page.locator("#picture .grip").nth(link).dispatch_event("click")
        page.wait_for_timeout(1200)
    page.fill("#ask [name=deadline_ms]", "1000")
    page.get_by_role("button", name="Decide").click()
    page.wait_for_selector("#changes tr")
    page.screenshot(path=OUT)


if __name__ == "__main__":
    main()
