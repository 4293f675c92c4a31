"""Programs that ours are held against: a script that compares with them calls peers.need() before it imports any."""

import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import sys

BUILD = pathlib.Path(__file__).resolve().parents[3] / "build"
PEERS = BUILD / "peers"
NEW_PEERS = BUILD / "new_peers"  # today's versions: scripts/setup.sh --new-peers
LM_EVAL = BUILD / "lm_eval"  # lm-evaluation-harness beside these
TRIED = "ZIGGURAT_TEST_BY_PEERS"
CHOICE = "ZIGGURAT_TEST_NEW_PEERS"  # in the environment: NEW_PEERS instead of PEERS
UNICODE_16 = PEERS / "unicode_16"  # a version of tokenizers that transformers 4 does not take
TRANSFORMERS_5 = PEERS / "transformers_5"  # configurations and tokenizers without PyTorch
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def are_new():
    return CHOICE in os.environ


def print_versions(modules, printed=set()):
    """Once for each module, though several scripts need it."""
    versions = []
    for module in sorted(set(modules) - printed):
        try:
            versions.append(f"{module} {importlib.metadata.version(module)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{module} {getattr(importlib.import_module(module), '__version__', '?')}")
    printed.update(modules)
    if versions:
        print(f"compared with {', '.join(versions)}; Python {platform.python_version()}", flush=True)


def need(*modules):
    """Goes on by the Python of scripts/setup.sh --tests, or --new-peers if the environment asks for it, where this one lacks a
    module; leaves with 77 where that is not there either. Prints the versions."""
    peers, option = (NEW_PEERS, "--new-peers") if are_new() else (PEERS, "--tests")
    python = peers / "bin" / "python3"
    is_there = (peers / "installed.txt").exists()
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if (missing or are_new()) and is_there and TRIED not in os.environ:
        os.environ[TRIED] = "yes"
        os.execv(python, [str(python), *sys.argv])
    if not missing and (is_there or not are_new()):
        print_versions(modules)
        return
    print(f"skipped: no {', '.join(missing or modules)} (scripts/setup.sh {option} makes {peers.name} in build)")
    sys.exit(SKIPPED)


def need_transformers_5():
    """The folder of transformers 5 without PyTorch; leaves with 77 without it."""
    if not (TRANSFORMERS_5 / "transformers").is_dir():
        print(f"skipped: no transformers 5 (scripts/setup.sh --tests makes {TRANSFORMERS_5.name} in {PEERS.name})")
        sys.exit(SKIPPED)
    return TRANSFORMERS_5


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
