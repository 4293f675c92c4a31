#!/usr/bin/env python3
"""The page of a step in a headless browser: it loads nothing, and each lane and curve is visible at its place.

  page_browser_test.py --binary ZIGGURAT

Skipped with exit code 77 if neither chromium nor google-chrome is on the machine.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S = 120  # for what hangs
SKIPPED = 77
DECK = pathlib.Path(__file__).resolve().parents[3] / "decks" / "systems" / "zero-offload-13b.yaml"
# Adds what the browser has drawn to the page, as JSON in an element of its own.
PROBE = """<script>addEventListener('load', () => {
  const boxes = selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect());
  const found = document.createElement('pre');
  found.id = 'probe';
  found.textContent = JSON.stringify({
    resources: performance.getEntriesByType('resource').map(one => one.name),
    pictures: boxes('svg').map(box => [box.width, box.height]),
    bars: boxes('rect').map(box => [box.left, box.width]),
    outside: boxes('svg text').filter(box => box.left < 0 || box.right > innerWidth).length,
    titles: document.querySelectorAll('rect > title').length});
  document.body.append(found);
});</script>"""


def expect(holds, what, found=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    chosen = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: there is no chromium or google-chrome")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ziggurat-page-") as name:
        folder = pathlib.Path(name)
        subprocess.run([chosen.binary.resolve(), "plan", DECK, "--machine", "v100-32gb", "--time", "--html", folder / "page.html"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
        page = (folder / "page.html").read_text()
        (folder / "probed.html").write_text(page.replace("</body>", PROBE + "</body>"))
        shown = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                f"--user-data-dir={folder}/browser", "--window-size=1280,900", "--virtual-time-budget=5000",
                                "--dump-dom", (folder / "probed.html").as_uri()],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=PATIENCE_S,
                               env=dict(os.environ, HOME=name)).stdout
        found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.S)
        expect(found, "the browser has run the page", shown[-2000:])
        drawn = json.loads(found[1].replace("&amp;", "&"))
    expect(drawn["resources"] == [], "nothing is loaded", drawn["resources"])
    expect(len(drawn["pictures"]) >= 3 and all(wide > 600 and high > 30 for wide, high in drawn["pictures"]),
           "lanes, and memory of the device and the host", drawn["pictures"])
    expect(drawn["outside"] == 0, "every text is within the page", drawn)
    expect(len(drawn["bars"]) > 50 and drawn["titles"] == len(drawn["bars"]), "each bar has a title", len(drawn["bars"]))
    expect(all(left >= 0 and left + width <= 1280 for left, width in drawn["bars"]), "bars are within the page")
    print(f"ok: {len(drawn['bars'])} bars in {len(drawn['pictures'])} pictures, in {browser}")
    return 0


sys.exit(main())
