#!/usr/bin/env bash
# Sets up what is missing, builds, and runs tests. Ends with a line per stage, what failed with its last lines, and 0 when
# all held.
#
#   scripts/test.sh            the gate, what a change has to pass before it lands: format, layers, the release build and
#                              its tests but those that take long or hang on clocks and disks. A quarter of an hour, and
#                              alike on every machine; --gate says the same, and continuous integration runs it
#   scripts/test.sh --quick    of its tests, only the ones of units and ranks
#   scripts/test.sh --changed  for the loop of writing: builds, and runs the unit and rank tests whose programs differ from
#                              those that passed last, and the scripts that have changed. Nothing is set up
#   scripts/test.sh --all [release | sanitizers] [-R REGEX]
#                              the second tier, before a piece of work is called done, whole or by halves. release: the
#                              gate; benchmarks, headers alone, the build for GPUs where there is nvcc, clang-tidy on what
#                              has changed; the long tests, those of disks, and those of clocks alone on the machine;
#                              comparisons with other programs once more, with today's versions of them (7 GB). With -R only
#                              the tests of the release build whose names match, with either versions.
#                              sanitizers: units, ranks and emulated GPUs under the address and undefined-behaviour
#                              sanitizers, threads and kernels of GPUs under the thread sanitizer
#   scripts/test.sh --long     the third: hundreds of random decks, kills and damages, drawn anew each time, models that do
#                              not fit, emulated GPUs, a build of a fresh clone, the quick start on an empty Debian, and
#                              what a machine with a GPU would run, rehearsed. Hours; once for each large change
#
# tests/README.md says which test is in which tier. ZIGGURAT_MARCH as in scripts/setup.sh; ZIGGURAT_SINCE: the commit from
# which on clang-tidy looks at changes; ZIGGURAT_SEED: what --long draws by. ccache is used when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
regex=''
if [ $# -ge 2 ] && [ "${*: -2:1}" = -R ]; then
  regex=${*: -1}
  set -- "${@:1:$#-2}"
fi
tier=${1:---gate}
half=${2:-}
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
case $tier$half in
  --gate | --quick | --changed | --all | --allrelease | --allsanitizers | --long) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
[ $# -le 2 ] || { usage >&2; exit 2; }
[ -z "$regex" ] || [ "$tier$half" = --all ] || [ "$tier$half" = --allrelease ] || { usage >&2; exit 2; }

jobs=$((3 * $(nproc))) # of tests: many wait most of their time, for launchers and disks
most_tidied=60          # sources, which take ten seconds each
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# ------------------------------------------------------------------ a machine like any other

# Nothing of whoever calls decides what is tested: no input, no batch job, no settings of MPI, threads or ours.
exec </dev/null
for variable in $(compgen -e); do
  case $variable in
    ZIGGURAT_MARCH | ZIGGURAT_SINCE | ZIGGURAT_SEED | ZIGGURAT_KOKKOS | ZIGGURAT_CMAKE_FLAGS | OMPI_ALLOW_RUN_AS_ROOT*) ;;
    ZIGGURAT_* | SLURM_* | SBATCH_* | OMPI_* | PMIX_* | OMP_* | GOMP_* | KOKKOS_*) unset "$variable" ;;
  esac
done
[ "$tier" = --long ] || unset ZIGGURAT_SEED
mkdir -p build/logs
export TMPDIR=$PWD/build/tmp XDG_CONFIG_HOME=$PWD/build/no_config
# Files of tests lie in memory where there is enough: a disk that others use may stand still for minutes.
if [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt $((4 << 20)) ] 2>/dev/null && [ -w /dev/shm ]; then
  TMPDIR=/dev/shm/ziggurat-tests.$$
fi
for left in build/tmp /dev/shm/ziggurat-tests.*; do # by tests that were killed
  [ -e "/proc/${left##*.}" ] || rm -rf --one-file-system "$left"
done
mkdir -p "$TMPDIR"
trap 'rm -rf --one-file-system "$TMPDIR"' EXIT
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
printf 'test.sh %s: %s, %s cores, %s of memory, %s free in build\n' "$tier $half" "$processor" "$(nproc)" \
  "$(awk '/^MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)" "$(df -h --output=avail build | tail -1 | tr -d ' ')"

# ------------------------------------------------------------------ stages

summary=()
complaints=() # files, the last of which are printed last
failures=''

# stage NAME COMMAND...: runs it, shows what it prints, and goes on whatever comes of it.
stage() {
  local name=$1 start=$SECONDS verdict=ok log
  shift
  log=build/logs/${name//[^a-zA-Z0-9]/-}.log
  report=''
  printf '\n=== %s\n' "$name"
  { "$@" 2>&1 || echo FAILED >"$log.verdict"; } > >(tee "$log") # not as a pipe: functions set variables
  wait $! || true
  if [ -e "$log.verdict" ]; then
    rm "$log.verdict"
    verdict=FAILED
    if [ -z "$report" ]; then
      report=$log.end
      { printf -- '--- %s, its last lines:\n' "$name"; tail -n 40 "$log"; } >"$report"
      failures+="${failures:+, }$name"
    fi
    complaints+=("$report")
  fi
  summary+=("$(printf '%-32s %-7s %4d s' "$name" "$verdict" $((SECONDS - start)))")
  [ "$verdict" = ok ]
}

finish() {
  printf '\n=== summary\n'
  printf '%s\n' "${summary[@]}"
  if [ ${#complaints[@]} = 0 ]; then
    printf 'test.sh: all held in %d s\n' "$SECONDS"
    exit 0
  fi
  printf '\n=== what failed, on %s\n' "$processor"
  cat "${complaints[@]}"
  printf 'test.sh: FAILED in %d s: %s\n' "$SECONDS" "$failures"
  exit 1
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
  for script in check_layers check_together check_words check_families check_lists check_tests check_device_memory; do
    python3 "scripts/$script.py" --self-test && python3 "scripts/$script.py" || return
  done
  python3 scripts/check_gpu_code.py --self-test
}

most_seconds=400 # of a test, against hangs: six times what the slowest of the gate takes beside two busy strangers
most_minutes=60  # from the start on: whatever hangs, what there is to say is said

# run_tests PRESET CTEST-ARGUMENTS...
run_tests() {
  local preset=$1 log=$PWD/build/$1/tests.log results=$PWD/build/$1/tests.xml verdict=0 failed
  shift
  rm -f "$log" "$results"
  ctest --test-dir "build/$preset" --parallel "$jobs" --output-on-failure --no-tests=error --timeout $most_seconds \
    --stop-time "$(date -d "+$((60 * most_minutes - SECONDS)) seconds" +%H:%M:%S)" \
    --test-output-truncation head --output-log "$log" --output-junit "$results" "$@" || verdict=$?
  scripts/test_report.py "$results" "$log" --slowest
  if failed=$(scripts/test_report.py "$results" "$log" --failed 40 --names build/logs/failed) && [ $verdict = 0 ]; then
    return 0
  fi
  report=build/logs/tests-${#summary[@]}.failed
  printf '%s\n' "$failed" >"$report"
  failures+="${failures:+, }$(cat build/logs/failed)"
  return 1
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

not_in_the_gate='long|timed|disk'

# Comparisons with other programs as people have them today, which the versions of the gate are not.
today_tier() {
  if ctest --test-dir build/release -N -L peers -LE timed "$@" | grep -q '^Total Tests: 0$'; then
    return
  fi
  export ZIGGURAT_TEST_NEW_PEERS=1
  stage "release: today's peers" run_tests release -L peers -LE timed "$@" || true
  scripts/test_report.py build/release/tests.xml build/release/tests.log --lines 'compared with'
  unset ZIGGURAT_TEST_NEW_PEERS
}

release_tier() {
  stage 'release: tests' run_tests release -LE "$not_in_the_gate" || true
  [ "$tier" = --all ] || return 0
  stage 'headers stand alone' scripts/build.sh release all_verify_interface_header_sets || true
  stage 'clang-tidy on changes' tidy_changes || true
  if ! has_nvcc; then
    stage 'for GPUs: build' say_no_nvcc || true
  elif stage 'for GPUs: headers' scripts/setup.sh --cuda &&
    stage 'for GPUs: build' scripts/build.sh cuda ziggurat described_gpu_tests; then
    stage 'for GPUs: code' scripts/check_gpu_code.py || true
    stage 'for GPUs: without a driver' run_tests cuda -R '^e2e/no_driver$' || true
    stage 'for GPUs: what cuDNN supports' run_tests cuda -R '^cuda/cudnn$' || true
  fi
  local most_seconds=3600
  stage 'release: long tests' run_tests release -L 'long|disk' -LE timed || true
  local jobs=1
  stage 'release: tests of clocks' run_tests release -L timed || true
  jobs=$(nproc)
  today_tier
}

# The tests of the release build whose names match.
chosen_tier() {
  local most_seconds=3600
  stage "release: tests -R $regex" run_tests release -R "$regex" || true
  today_tier -R "$regex"
}

sanitizers_tier() {
  local most_seconds=1800
  # Random specs and decks are slow here; the release build has the whole of them for what they compute.
  export ZIGGURAT_SPECS=50 ZIGGURAT_FUZZ=8 ZIGGURAT_FUZZ_COUNT=1000
  if stage 'address, undefined: build' scripts/build.sh asan unit_and_rank_tests cuda_tests; then
    stage 'address, undefined: tests' run_tests asan -L 'unit|mpi|cuda' -LE "$not_in_the_gate" || true
  fi
  if stage 'threads: build' scripts/build.sh tsan thread_tests; then
    stage 'threads: tests' run_tests tsan -L threads -LE "$not_in_the_gate" || true
  fi
}

long_tier() {
  stage 'a fresh clone builds' build_fresh_clone || true
  stage 'quick start on an empty Debian' quickstart_on_empty_debian || true
  most_seconds=14400
  export ZIGGURAT_SEED=${ZIGGURAT_SEED:-$RANDOM} ZIGGURAT_FUZZ=300 ZIGGURAT_FUZZ_COUNT=100000 ZIGGURAT_SPECS=3000
  echo "ZIGGURAT_SEED=$ZIGGURAT_SEED repeats what is drawn"
  jobs=$(nproc) # kills at random instants want a machine of their own
  export ZIGGURAT_KILLS=100 ZIGGURAT_PAIRS=100 ZIGGURAT_DAMAGES=500 ZIGGURAT_TIERS=full ZIGGURAT_FOLDERS=2000
  export ZIGGURAT_CASES=all
  stage 'release: counted tests, at length' run_tests release -L counted || true
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
}

if [ "$tier" = --changed ]; then
  stage 'layers' check_layers || true
  stage 'release: build' scripts/build.sh release lib/all app/all tests/all || finish
  stage 'release: tests of what has changed' scripts/changed_tests.py build/release || true
  finish
fi
setup=(--tests)
if [ "$tier" = --all ] && [ "$half" != sanitizers ]; then
  setup+=(--new-peers)
fi
stage 'set-up' scripts/setup.sh "${setup[@]}" || finish
if [ "$tier" != --long ] && [ -z "$regex" ]; then
  stage 'format' check_format || true
  stage 'layers' check_layers || true
fi
if [ "$half" != sanitizers ]; then
  built=(lib/all app/all tests/all)
  [ "$tier" != --all ] || [ -n "$regex" ] || built=(all) # and benchmarks
  stage 'release: build' scripts/build.sh release "${built[@]}" || finish
fi
case $tier in
  --quick) stage 'release: unit and rank tests' run_tests release -L 'unit|mpi' -LE "$not_in_the_gate" || true ;;
  --gate) release_tier ;;
  --all)
    most_minutes=300
    if [ -n "$regex" ]; then
      chosen_tier
      finish
    fi
    [ "$half" = sanitizers ] || release_tier
    [ "$half" = release ] || sanitizers_tier
    ;;
  --long)
    most_minutes=1300 # less than a day, which is all that ctest can be told
    long_tier
    ;;
esac
finish
