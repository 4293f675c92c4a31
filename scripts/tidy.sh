#!/usr/bin/env bash
# Runs clang-tidy over the sources that differ from a commit, or over those named.
#
#   scripts/tidy.sh [--since COMMIT | FILE...]       default: what is not committed, else the last commit
#
# A finding is an error. Needs a configured build/release (scripts/build.sh) for its compile_commands.json. Headers that
# are compiled once are left out here, so that a source has to include what it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tidy=clang-tidy-14
command -v $tidy >/dev/null || tidy=clang-tidy
command -v $tidy >/dev/null || { echo "tidy: no clang-tidy. Install Debian's clang-tidy-14." >&2; exit 3; }
commands=build/release
[ -f $commands/compile_commands.json ] || { echo "tidy: no $commands. Run scripts/build.sh release." >&2; exit 3; }

sources=('*.cpp' ':!tests/emulated_cuda' ':!tests/unit/emulated_cuda')  # not of that build
if [ "${1:-}" = --since ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "${2:?a commit}" -- "${sources[@]}")
elif [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git diff --name-only --diff-filter=d HEAD -- "${sources[@]}")
  [ ${#files[@]} -gt 0 ] || mapfile -t files < <(git diff --name-only --diff-filter=d HEAD~1 -- "${sources[@]}")
fi
[ ${#files[@]} -gt 0 ] || { echo "tidy: no source has changed"; exit 0; }

own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
sed 's/ -Winvalid-pch -include [^ ]*cmake_pch\.hxx//' $commands/compile_commands.json >"$own/compile_commands.json"
# The compiler's flags are g++'s; scripts/tidy stands in for a header that clang 14 cannot read.
if printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 $tidy --quiet -p "$own" --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option --extra-arg-before=-isystem"$PWD/scripts/tidy" 2>"$own/errors"; then
  echo "tidy: ${#files[@]} sources, nothing found"
else
  grep -E '(error|warning):' "$own/errors" >&2 || true
  echo "tidy: findings in ${#files[@]} sources" >&2
  exit 1
fi
