#!/usr/bin/env bash
# Sets up what is missing, builds, and runs tests. Ends with a line per stage and 0 when all held.
#
#   scripts/test.sh            format, layers, the release build and its tests but the long ones
#   scripts/test.sh --quick    of those tests, only the ones of units and ranks
#   scripts/test.sh --all      these; units, ranks and emulated GPUs under the address and undefined-behaviour sanitizers,
#                              threads and kernels of GPUs under the thread sanitizer; the build for GPUs, where there is
#                              nvcc; clang-tidy on what has changed. What continuous integration runs
#   scripts/test.sh --long     instead: the long tests; headers alone; hundreds of random decks, kills and damages, models
#                              that do not fit, a build of a fresh clone, the quick start on an empty Debian, and what a
#                              machine with a GPU would run, rehearsed. Hours; once for each large change
#
# ZIGGURAT_MARCH as in scripts/setup.sh; ZIGGURAT_SINCE: the commit from which on clang-tidy looks at changes. ccache is
# used when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tier=${1:-}
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
case $tier in
  '' | --quick | --all | --long) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }

jobs=$((2 * $(nproc))) # of tests: many wait most of their time
most_tidied=60          # sources, which take ten seconds each
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
  summary+=("$(printf '%-32s %-7s %4d s' "$name" "$verdict" $((SECONDS - start)))")
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

check_layers() {
  local script
  for script in check_layers check_words check_families check_tests check_device_memory; do
    python3 "scripts/$script.py" --self-test && python3 "scripts/$script.py" || return
  done
  python3 scripts/check_gpu_code.py --self-test
}

# run_tests PRESET CTEST-ARGUMENTS...
run_tests() {
  local preset=$1 log=$PWD/build/$1/tests.log verdict=0
  shift
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --no-tests=error --output-log "$log" "$@" ||
    verdict=$?
  printf '\nThe slowest, in seconds:\n'
  slowest_tests <"$log"
  return $verdict
}

# Of what ctest says, the ten tests that took longest.
slowest_tests() {
  sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec *$|\2 \1|p' | LC_ALL=C sort -rn |
    awk 'NR <= 10 {printf "%8.1f  %s\n", $1, $2}'
}

# Where what is checked in began to differ: at the branch's fork, else at the last merge, else at the last commit.
changed_since() {
  local fork
  if [ -n "${ZIGGURAT_SINCE:-}" ]; then
    git rev-parse --verify "$ZIGGURAT_SINCE^{commit}"
  elif fork=$(git merge-base HEAD origin/main 2>/dev/null) && [ "$fork" != "$(git rev-parse HEAD)" ]; then
    echo "$fork"
  elif git rev-parse -q --verify 'HEAD^2' >/dev/null; then
    git rev-parse 'HEAD^1'
  else
    git rev-parse -q --verify 'HEAD~1' || git rev-parse HEAD
  fi
}

tidy_changes() {
  local since
  since=$(changed_since) || return 1
  if [ "$(git diff --name-only --diff-filter=d "$since" -- '*.cpp' | wc -l)" -gt $most_tidied ]; then
    echo "tidy: more than $most_tidied sources differ from $since, so only the last commit's are looked at." \
      "All of them: scripts/tidy.sh --since $since"
    since=$(git rev-list -1 --no-merges HEAD) && since=$(git rev-parse -q --verify "$since~1" || echo "$since")
  fi
  scripts/tidy.sh --since "$since"
}

# A clone of what is committed, with what is already set up, builds and trains.
build_fresh_clone() {
  local clone
  clone=$(mktemp -d) && git clone --quiet --no-hardlinks . "$clone/ziggurat" && mkdir "$clone/ziggurat/build" &&
    cp -r build/dependencies "$clone/ziggurat/build" &&
    CCACHE_DISABLE=1 "$clone/ziggurat/scripts/build.sh" release ziggurat &&
    "$clone/ziggurat/build/release/bin/ziggurat" check decks/quickstart.yaml --ranks 2 --machine laptop
  local result=$?
  rm -rf "$clone"
  return $result
}

# scripts/quickstart.sh on a Debian with nothing installed, where one can be made.
quickstart_on_empty_debian() {
  if ! command -v debootstrap >/dev/null; then
    echo "skipped: there is no debootstrap to make an empty Debian with (Debian package debootstrap)"
  elif [ "$(id -u)" != 0 ]; then
    echo "skipped: an empty Debian is made and entered by root alone"
  else
    scripts/empty_debian.sh scripts/quickstart.sh train.steps=20
  fi
}

has_nvcc() { command -v nvcc "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" >/dev/null; }

say_no_nvcc() { echo "skipped: there is no nvcc (PATH, CUDA_HOME and /usr/local/cuda were looked at)"; }

# ------------------------------------------------------------------ tiers

stage 'set-up' scripts/setup.sh --tests || finish
if [ "$tier" != --long ]; then
  stage 'format' check_format || true
  stage 'layers' check_layers || true
fi
stage 'release: build' scripts/build.sh release || finish

case $tier in
  --quick)
    stage 'release: unit and rank tests' run_tests release -L 'unit|mpi' -LE long || true
    ;;
  '')
    stage 'release: all but long tests' run_tests release -LE long || true
    ;;
  --all)
    stage 'release: all but long tests' run_tests release -LE long || true
    stage 'clang-tidy on changes' tidy_changes || true
    if stage 'address, undefined: build' scripts/build.sh asan unit_and_rank_tests cuda_tests; then
      # Random specs and decks are slow here; the release build has the whole of them for what they compute.
      export ZIGGURAT_SPECS=50 ZIGGURAT_FUZZ=8 ZIGGURAT_FUZZ_COUNT=1000
      stage 'address, undefined: tests' run_tests asan -L 'unit|mpi|cuda' -LE long || true
      unset ZIGGURAT_SPECS ZIGGURAT_FUZZ ZIGGURAT_FUZZ_COUNT
    fi
    if stage 'threads: build' scripts/build.sh tsan thread_tests; then
      stage 'threads: tests' run_tests tsan -L threads -LE long || true
    fi
    if ! has_nvcc; then
      stage 'for GPUs: build' say_no_nvcc || true
    elif stage 'for GPUs: headers' scripts/setup.sh --cuda && stage 'for GPUs: build' scripts/build.sh cuda ziggurat described_gpu_tests; then
      stage 'for GPUs: code' scripts/check_gpu_code.py || true
      stage 'for GPUs: without a driver' run_tests cuda -R '^e2e/no_driver$' || true
      stage 'for GPUs: what cuDNN supports' run_tests cuda -R '^cuda/cudnn$' || true
    fi
    ;;
  --long)
    stage 'headers stand alone' scripts/build.sh release all_verify_interface_header_sets || true
    stage 'a fresh clone builds' build_fresh_clone || true
    stage 'quick start on an empty Debian' quickstart_on_empty_debian || true
    export ZIGGURAT_FUZZ=300 ZIGGURAT_FUZZ_COUNT=100000 ZIGGURAT_SPECS=3000
    jobs=$(nproc) # kills at random instants want a machine of their own
    export ZIGGURAT_KILLS=100 ZIGGURAT_PAIRS=100 ZIGGURAT_DAMAGES=500 ZIGGURAT_TIERS=full
    stage 'release: counted tests, at length' run_tests release -L counted || true
    stage 'release: long tests' run_tests release -L long -LE counted || true
    if stage 'emulated GPUs: build' scripts/build.sh emulated cuda_tests long_cuda_tests; then
      stage 'emulated GPUs: tests' run_tests emulated -L cuda || true
    fi
    unset ZIGGURAT_FUZZ ZIGGURAT_FUZZ_COUNT ZIGGURAT_SPECS
    for sanitizer in asan tsan; do
      if stage "$sanitizer: build" scripts/build.sh $sanitizer unit_and_rank_tests cuda_tests long_cuda_tests; then
        stage "$sanitizer: long tests" run_tests $sanitizer -L long || true
      fi
    done
    stage 'a machine with a GPU, rehearsed' scripts/gpu_check.sh --rehearse || true
    ;;
esac
finish
