"""Boxes of the texts, frames and symbols of SVG pictures, as headless Chromium lays them out, and the overlaps among them."""

import dataclasses
import html
import json
import re
import subprocess

from trainings import PATIENCE_S, expect

BROWSER = "chromium-headless-shell"
SLACK = 0.5  # pixels

# A box is [name, left, top, right, bottom]. Frames are the boxes in which curves are drawn. Symbols are all other shapes except
# the background, grid lines and curves, which are clipped to their frame. Notes are texts within a frame.
SCRIPT = """<script>
const found = [...document.querySelectorAll('svg')].map(svg => {
  const picture = svg.getBoundingClientRect();
  const boxes = (selector, name) => [...svg.querySelectorAll(selector)].map(element => {
    const box = element.getBoundingClientRect();
    return [name(element), box.left - picture.left, box.top - picture.top, box.right - picture.left, box.bottom - picture.top];
  });
  const shapes = ['path', 'rect', 'circle', 'polygon', 'polyline']
    .map(tag => `${tag}:not(.bg, .g, .f, [clip-path] *, clipPath *)`).join();
  return {width: picture.width, height: picture.height,
          texts: boxes('text:not(.n)', element => element.textContent), notes: boxes('text.n', element => element.textContent),
          frames: boxes('rect.f', () => 'a frame'), symbols: boxes(shapes, element => `a ${element.tagName}`)};
});
document.getElementById('found').textContent = JSON.stringify(found);
</script>"""


@dataclasses.dataclass
class Picture:
    width: float
    height: float
    texts: list
    notes: list
    frames: list
    symbols: list


def measure(folder, pictures):
    """The boxes of each of the SVG texts."""
    page = folder / "boxes.html"
    page.write_text("<!doctype html><meta charset=utf-8>" + "".join(f"<div>{svg}</div>" for svg in pictures)
                    + "<pre id=found></pre>" + SCRIPT)
    done = subprocess.run([BROWSER, "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}",
                           "--window-size=1200,800", "--dump-dom", f"file://{page}"],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    expect(done.returncode == 0, f"the browser ended with {done.returncode}\n{done.stderr}")
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)[1]))
    return [Picture(**one) for one in found]


def overlap(one, other):
    _, left, top, right, bottom = one
    _, l, t, r, b = other
    return min(right, r) - max(left, l) > SLACK and min(bottom, b) - max(top, t) > SLACK


def with_stroke(box):
    """The box and a pixel on each side: that of a straight line has no height or no width."""
    name, left, top, right, bottom = box
    return name, left - 1, top - 1, right + 1, bottom + 1


def is_within(one, other):
    _, left, top, right, bottom = one
    _, l, t, r, b = other
    return l <= left and t <= top and right <= r and bottom <= b


def overlaps(picture):
    """Texts over other texts, over symbols of the legend or marks, over frames, and outside of the picture."""
    problems = []
    whole = ("the picture", 0, 0, picture.width, picture.height)
    for i, text in enumerate(picture.texts):
        if not is_within(text, whole):
            problems.append(f"'{text[0]}' is outside")
        for other in picture.texts[:i] + picture.notes:
            if overlap(text, other):
                problems.append(f"'{text[0]}' lies over '{other[0]}'")
        for other in picture.frames + [with_stroke(symbol) for symbol in picture.symbols]:
            if overlap(text, other):
                problems.append(f"'{text[0]}' lies over {other[0]} at {other[1]:.0f}, {other[2]:.0f}")
    for symbol in picture.symbols:
        if not is_within(symbol, whole):
            problems.append(f"{symbol[0]} at {symbol[1]:.0f}, {symbol[2]:.0f} is outside")
    for note in picture.notes:
        if not any(is_within(note, frame) for frame in picture.frames):
            problems.append(f"'{note[0]}' is not in a frame")
    return problems
