"""Programs that ours are held against: a script that compares with them calls peers.need() before it imports any."""

import importlib.util
import os
import pathlib
import sys

PEERS = pathlib.Path(__file__).resolve().parents[3] / "build" / "peers"
LM_EVAL = PEERS.with_name("lm_eval")  # lm-evaluation-harness beside these
TRIED = "ZIGGURAT_TEST_BY_PEERS"
UNICODE_16 = PEERS / "unicode_16"  # a version of tokenizers that transformers does not take
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


def need_unicode_16():
    """Makes the version of tokenizers with the tables of Unicode 16 the one that is imported; leaves with 77 without it."""
    if not (UNICODE_16 / "tokenizers").is_dir():
        print(f"skipped: no tokenizers with Unicode 16 (scripts/setup.sh --tests makes {UNICODE_16.name} in {PEERS.name})")
        sys.exit(SKIPPED)
    sys.path.insert(0, str(UNICODE_16))


def need_lm_eval():
    """Goes on by the Python that has lm-evaluation-harness; leaves with 77 where scripts/setup.sh --lm-eval made none."""
    python = LM_EVAL / "bin" / "python3"
    if importlib.util.find_spec("lm_eval") is not None:
        return
    if not (LM_EVAL / "installed.txt").exists() or TRIED in os.environ:
        print(f"skipped: no lm-evaluation-harness (scripts/setup.sh --lm-eval makes {LM_EVAL.name} in build)")
        sys.exit(SKIPPED)
    os.environ[TRIED] = "yes"
    os.execv(python, [str(python), *sys.argv])
