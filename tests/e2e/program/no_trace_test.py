#!/usr/bin/env python3
"""A program that is built without GPUs has no trace of CUDA: no symbol, and no library that it loads. It can plan for
machines that have GPUs, so it knows how much scratch kernels take there.

  no_trace_test.py --binary ZIGGURAT
"""

import argparse
import re
import subprocess
import sys

OF_PLANS = re.compile("(ziggurat::layout::|~)CudaWorkspaces")
TRACE = re.compile(r"cuda|cublas|cudnn|nccl|nvrtc|fatbin", re.IGNORECASE)


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    symbols, libraries = lines("nm", "-C", binary), lines("ldd", binary)
    problems = [line for line in symbols + libraries + lines("readelf", "-SW", binary) if TRACE.search(OF_PLANS.sub("", line))]
    if not any("ziggurat::" in line for line in symbols) or not any("libc.so" in line for line in libraries):
        problems.append(f"nm and ldd say nothing of {binary}: this test finds nothing")
    print("\n".join(problems) or f"no trace of CUDA in {len(symbols)} symbols and {len(libraries)} libraries")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
