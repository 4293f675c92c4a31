"""The commands of a page, the files that it asks its reader to save, and a shell that runs one after the other."""

import os
import re
import subprocess
from dataclasses import dataclass

# Pages whose commands readme_test.py runs, in this order; guide_test.py runs those of GUIDES.
USER_PAGES = ("README.md", "docs/install.md", "docs/running.md", "docs/memory.md", "docs/parallel.md", "docs/checkpoints.md",
              "docs/slurm.md")
GUIDES = ("docs/tutorial.md", "docs/howto.md")
STEPS = 60  # of the quickstart, made small
BLOCK = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """What stands between two fences: `kind` and `name` as in ```yaml tiny.yaml."""
    kind: str
    name: str
    text: str


def blocks_of(text):
    return [Block(*match) for match in BLOCK.findall(text)]


def commands_in(block):
    """The lines of a block; one that ends in a backslash goes on in the next."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def commands_of(text):
    return [command for block in blocks_of(text) if block.kind == "sh" for command in commands_in(block)]


def make_quickstart_small(deck):
    """The quickstart's deck trains for seconds."""
    text = deck.read_text()
    for there, here in ((r"steps: 3000", f"steps: {STEPS}"), (r"every: 1000 steps", "every: 30 steps"),
                        (r"max_seq: 128", "max_seq: 32"), (r"tokens: 240", "tokens: 40"), (r"warmup: 100 steps", "warmup: 10 steps"),
                        (r"every: 50 steps\}", "every: 10 steps}")):
        text, count = re.subn(there, here, text)
        if count != 1:
            raise SystemExit(f"FAILED: decks/quickstart.yaml has '{there}' {count} times, not once")
    deck.write_text(text)


class Shell:
    """Commands one after the other in `folder`; what they export stays, in the file `state`. `become`: what another
    user's begin with."""

    def __init__(self, folder, state, environment, patience_s, become=()):
        self.folder, self.state, self.environment = folder, state, environment
        self.patience_s, self.become = patience_s, become
        state.write_text("")

    def run(self, command):
        script = f". {self.state}\n{command}\ncode=$?\nexport -p >{self.state}\nexit $code"
        return subprocess.run([*self.become, "bash", "-c", script], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=self.patience_s, errors="replace")


def environment_of(home, *first_of_path):
    """What little a page may count on."""
    return {"HOME": str(home), "LANG": os.environ.get("LANG", "C.UTF-8"),
            "PATH": ":".join([*map(str, first_of_path), os.environ["PATH"]])}
