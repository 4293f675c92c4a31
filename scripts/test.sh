#!/usr/bin/env bash
# Sets up what is missing, builds, and runs every test. Ends with a line per stage and 0 when all held.
#
#   scripts/test.sh [--quick]       --quick: format, layers and the unit and rank tests of the release build only
#
# ZIGGURAT_MARCH as in scripts/setup.sh. ccache is used when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
quick=false
case ${1:-} in
  --quick) quick=true ;;
  '') ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

jobs=$((2 * $(nproc))) # of tests: many wait most of their time
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# ------------------------------------------------------------------ stages

summary=()
failed=0

# stage NAME COMMAND...: runs it, shows what it prints, and goes on whatever comes of it.
stage() {
  local name=$1 start=$SECONDS verdict=ok
  shift
  printf '\n=== %s\n' "$name"
  "$@" || { verdict=FAILED; failed=1; }
  summary+=("$(printf '%-28s %-7s %4d s' "$name" "$verdict" $((SECONDS - start)))")
  [ "$verdict" = ok ]
}

finish() {
  printf '\n=== summary\n'
  printf '%s\n' "${summary[@]}"
  printf 'test.sh: %s in %d s\n' "$([ $failed = 0 ] && echo 'all held' || echo 'FAILED')" "$SECONDS"
  exit $failed
}

check_format() {
  local formatter=clang-format-14
  command -v $formatter >/dev/null || formatter=clang-format
  local sources
  mapfile -t sources < <(git ls-files '*.hpp' '*.cpp' '*.cu')
  [ ${#sources[@]} = 0 ] || $formatter --dry-run -Werror "${sources[@]}"
}

check_layers() { python3 scripts/check_layers.py --self-test && python3 scripts/check_layers.py; }

# run_tests PRESET CTEST-ARGUMENTS...
run_tests() {
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --no-tests=error "$@"
}

stage 'set-up' scripts/setup.sh --tests || finish
stage 'format' check_format || true
stage 'layers' check_layers || true
stage 'release: build' scripts/build.sh release || finish
if $quick; then
  stage 'release: unit and rank tests' run_tests release -L 'unit|mpi' || true
  finish
fi
stage 'headers stand alone' scripts/build.sh release all_verify_interface_header_sets || true
stage 'release: all tests' run_tests release -LE perf || true

# Under the sanitizers a test ends at the first finding. Open MPI keeps memory by design: no leak check there.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/scripts/sanitizers/leaks.supp:print_suppressions=0
stage 'sanitizers: build' scripts/build.sh asan unit_and_rank_tests || finish
export ZIGGURAT_SPECS=50 # random specs of the property tests, which are slow here
ASAN_OPTIONS=detect_leaks=1 stage 'sanitizers: unit tests' run_tests asan -L unit || true
ASAN_OPTIONS=detect_leaks=0 stage 'sanitizers: rank tests' run_tests asan -L mpi || true
finish
