#!/usr/bin/env bash
# Runs Python with PyTorch, which it first installs from PyPI into a virtual environment under build/.
#
#   scripts/torch_python.sh SCRIPT [ARGUMENT...]
#
# PyPI's wheel for x86-64 brings CUDA's libraries along (5 GB on disk). A smaller one comes with
#   PIP_INDEX_URL=https://download.pytorch.org/whl/cpu scripts/torch_python.sh ...
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/build/venv
requirements=$root/scripts/oracle/requirements.txt

if ! cmp -s "$requirements" "$venv/installed.txt"; then
  echo "torch_python: installing $(tr '\n' ' ' <"$requirements")into build/venv" >&2
  mkdir -p "$root/build"
  python3 -m venv "$venv" || {
    echo "torch_python: no virtual environment (is Debian's python3-venv installed?)" >&2
    exit 3
  }
  "$venv/bin/pip" install -q -r "$requirements" >&2 || {
    echo "torch_python: PyTorch could not be installed (no network? see above)" >&2
    exit 3
  }
  cp "$requirements" "$venv/installed.txt"
fi
exec "$venv/bin/python" "$@"
