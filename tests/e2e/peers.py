"""Programs that ours are held against: a script that compares with them calls peers.need() before it imports any."""

import importlib.util
import os
import pathlib
import sys

PEERS = pathlib.Path(__file__).resolve().parents[2] / "build" / "peers"
TRIED = "ZIGGURAT_TEST_BY_PEERS"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def need(*modules):
    """Goes on by the Python of scripts/setup.sh --tests where this one lacks a module; leaves with 77 where that is not
    there either."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return
    python = PEERS / "bin" / "python3"
    if (PEERS / "installed.txt").exists() and TRIED not in os.environ:
        os.environ[TRIED] = "yes"
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: this Python has no {', '.join(missing)} (scripts/setup.sh --tests makes {PEERS.name} in build)")
    sys.exit(SKIPPED)
