#!/usr/bin/env bash
# Proves and measures the program on a machine with a GPU: a driver and CUDA's libraries, no MPI, no network.
#
#   scripts/gpu_check.sh [BUNDLE]                  all stages, 470 s at most; BUNDLE: build/gpu_bundle by default
#   scripts/gpu_check.sh --smoke [BUNDLE]          the first stages with few steps, 100 s at most
#   scripts/gpu_check.sh --only STAGE,... [BUNDLE] these stages alone, in their usual order; also with --smoke
#   scripts/gpu_check.sh --rehearse                all stages over emulated GPUs, on a Debian with only its base system
#
# scripts/gpu_bundle.sh makes BUNDLE. Git ignores it: where a service copies the working tree to the machine, carry the
# folder build/gpu_bundle too, and run --smoke in a first call. CUDA's libraries come from CUDA_HOME, else
# /usr/local/cuda, from Python's nvidia packages, CUDA_LIBRARIES and LD_LIBRARY_PATH. Speed stages need python3; the
# comparison with PyTorch needs its torch. Each stage has a time limit and a process of its own, and runs whether or not
# others failed. Files in ${OUT:-build/gpu_check}, complete up to the last finished stage: table.txt (one line per
# stage), log.txt (all output), measured.txt (speeds), runs.tar (metrics and traces of speed runs, at most 15 MiB).
# Exit code: 0, 1 if a stage failed, 2 if an argument is wrong, 77 without a GPU.
#
# GPU_CHECK_SETTING: one more setting of the speed stages, such as precision.products=first.
# For tests of this script: GPU_CHECK_BREAK=STAGE=crash|hang|library,... breaks stages; GPU_CHECK_STAGE_LIMIT=SECONDS
# shortens the limit of every stage.
# shellcheck disable=SC2317 # stages are called by their names
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
ulimit -c 0
peak_flops=989e12            # of an H100 or H200 (SXM): dense products of bfloat16, by the data sheet
max_archive_bytes=$((15 << 20)) # of runs.tar
first_kernels='^unit/kernels/(attention|linear|glu_product|adamw)(/|$)'
single_nccl='^(cuda|mpi)/nccl_single(/|$)'

# STAGE, limit in seconds, limit with --smoke (0: not run), GPUs. Decisive stages come first.
plan='
environment           20  20  any
first_kernels         60  40  any
curves_llama          40  25  any
speed_8b              60  30  cuda
speed_8b_fast         60   0  cuda
speed_124m            40  20  cuda
speed_124m_fast       40   0  cuda
speed_tiny            60  60  emulated
speed_tiny_documents  60   0  emulated
sweeps                45   0  any
torch                110   0  cuda
speed_8b_documents    40   0  cuda
speed_8b_host        200   0  cuda
speed_qwen7b_host    200   0  cuda
speed_1558m           60   0  cuda
speed_1558m_fast      60   0  cuda
speed_qwen3           60   0  cuda
speed_8b_fused        60   0  cuda
kernels              100   0  any
curves                60   0  any
ranks                 60   0  any
nccl                  20   0  any
oracles               60   0  any
rates                 15   0  cuda
attention_bench       30   0  any
sanitizer            470   0  cuda'

# shellcheck source=scripts/gpu_check/tools.sh
. scripts/gpu_check/tools.sh
# shellcheck source=scripts/gpu_check/stages.sh
. scripts/gpu_check/stages.sh

rehearse() {
  local bundle=build/gpu_bundle_emulated
  scripts/gpu_bundle.sh --emulated || return
  if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    scripts/empty_debian.sh --with $bundle scripts/gpu_check.sh "$@" $bundle
  else
    echo "gpu_check: no empty Debian can be made here (that takes root and debootstrap), so this system is used"
    env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C.UTF-8 ${OUT:+"OUT=$OUT"} "$BASH" scripts/gpu_check.sh "$@" $bundle
  fi
}

# Folders of CUDA's libraries, one per line.
cuda_folders() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 "${CUDA_HOME:-/usr/local/cuda}"/lib; do
    [ ! -d "$folder" ] || echo "$folder"
  done
  python3 - 2>/dev/null <<'PYTHON'
import glob, os
try:
    import nvidia
    for path in nvidia.__path__:
        print("\n".join(sorted(glob.glob(os.path.join(path, "*", "lib")))))
except ImportError:
    pass
PYTHON
}

run_stage() { # STAGE
  case ",${GPU_CHECK_BREAK:-}," in
    *,"$1=crash",*) kill -SEGV $$ ;;
    *,"$1=hang",*) echo "hangs for a test" && sleep 3600 ;;
    *,"$1=library",*) LD_LIBRARY_PATH= ;;
  esac
  "stage_$1"
}

mode=full only='' bundle=build/gpu_bundle rehearsal=0 options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^# shellcheck/{/^# shellcheck/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --stage) run_stage "$2"; exit ;;
    --rehearse) rehearsal=1 ;;
    --smoke) mode=smoke options+=(--smoke) ;;
    --only)
      [ $# -gt 1 ] || { echo "gpu_check: --only takes names of stages, joined by commas" >&2; exit 2; }
      only=$2 options+=(--only "$2")
      shift
      ;;
    -*) echo "gpu_check: unknown option $1 (--help lists the options)" >&2; exit 2 ;;
    *) bundle=$1 ;;
  esac
  shift
done
for name in ${only//,/ }; do
  grep -q "^$name " <<<"$plan" ||
    { printf 'gpu_check: there is no stage %s. Stages:%s\n' "$name" "$(awk 'NF {printf " %s", $1}' <<<"$plan")" >&2; exit 2; }
done
if [ $rehearsal = 1 ]; then
  rehearse "${options[@]}"
  exit
fi

[ -f "$bundle/bundle.tar.xz" ] || { echo "gpu_check: there is no $bundle/bundle.tar.xz: scripts/gpu_bundle.sh makes it" >&2; exit 1; }
export out=${OUT:-$PWD/build/gpu_check}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
export files=$temporary/files work=$temporary/work deck=''
mkdir "$files" "$work" && install "$bundle/xz" "$temporary/" || exit 1 # on its way here it may have lost its mode
LD_LIBRARY_PATH=$bundle${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$temporary/xz" -dc "$bundle/bundle.tar.xz" | tar -C "$files" -x || exit 1
kind=$(sed -n 's/^kind=//p' "$files/facts")
if [ "$kind" != emulated ] && ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && ! command -v nvidia-smi >/dev/null; then
  echo "gpu_check: this machine has no GPU"
  exit 77
fi

export HOME=$work PROJECT_SOURCE_DIR=$files/tree ZIGGURAT_BINARY=$files/bin/ziggurat
# The driver's library may be known by the caller's LD_LIBRARY_PATH alone.
export callers_libraries=${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH=$files/openmpi/lib:$files/lib
if [ "$kind" != emulated ]; then
  while read -r folder; do LD_LIBRARY_PATH+=${folder:+:$folder}; done < <(cuda_folders)
  LD_LIBRARY_PATH+=${CUDA_LIBRARIES:+:$CUDA_LIBRARIES}
fi
LD_LIBRARY_PATH+=${callers_libraries:+:$callers_libraries}
for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
  [ ! -d $folder ] || LD_LIBRARY_PATH+=:$folder
done
# An Open MPI that lies anywhere, on one machine, without ssh.
export OPAL_PREFIX=$files/openmpi OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may refuse to read another process's memory
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_WAIT_POLICY=passive
all_cores=$(env -u OMP_NUM_THREADS nproc)
export all_cores OMP_NUM_THREADS=2

patience=1
[ "$kind" != emulated ] || patience=20 # limits are against hangs alone: cores take their time
seconds_in_all=$((patience * 470))
[ $mode != smoke ] || seconds_in_all=$((patience * 100))
export kind mode stage_limit entry_limit train_limit
table=()
failed=0
commit=$(sed -n 's/^commit=//p' "$files/facts")
rm -f "$out/runs.tar"
: >"$out/log.txt"
: >"$out/measured.txt"
echo "gpu_check: $commit, $kind: not finished; the last stage below was followed by one that did not end" >"$out/table.txt"

# Shortens a very long output of a stage in log.txt, of which a test may print more than fits in $OUT.
shorten_log() { # FROM: bytes before the stage's output
  local size
  size=$(stat -c %s "$out/log.txt")
  [ $((size - $1)) -gt 1000000 ] || return 0
  { head -c $(($1 + 500000)) "$out/log.txt"; printf '\n[...]\n'; tail -c 400000 "$out/log.txt"; } >"$work/log" &&
    mv "$work/log" "$out/log.txt"
}

min() { echo $(($1 < $2 ? $1 : $2)); }

# stage NAME SECONDS: runs stage_NAME within a limit, and adds its last line to table.txt.
stage() {
  local name=$1 limit=$(($2 * patience)) start=$SECONDS verdict=ok last code from reason
  [ $limit -le $((seconds_in_all - SECONDS)) ] || limit=$((seconds_in_all - SECONDS))
  if [ $limit -lt 5 ]; then
    verdict='not run' last='no time was left'
  else
    stage_limit=$limit
    [ "${GPU_CHECK_STAGE_LIMIT:-$limit}" -ge $limit ] || stage_limit=$GPU_CHECK_STAGE_LIMIT
    entry_limit=$(min $((patience * 60)) $((stage_limit * 3 / 4 + 1))) # of one test: time remains for the others
    train_limit=$(min $((patience * 30)) $((stage_limit * 3 / 4 + 1)))
    printf '\n=== %s\n' "$name" >>"$out/log.txt"
    from=$(stat -c %s "$out/log.txt")
    timeout -k 5 "$stage_limit" "$BASH" scripts/gpu_check.sh --stage "$name" </dev/null >>"$out/log.txt" 2>&1
    code=$?
    tail -c +$((from + 1)) "$out/log.txt" | tail -c 100000 | grep -av '^ *$' >"$work/last"
    last=$(tail -1 "$work/last")
    case $code in
      0) ;;
      124 | 137) # what the sanitizer has seen counts, as far as it came
        verdict='too long'
        [ "$name" = sanitizer ] || failed=1
        ;;
      *)
        verdict=FAILED failed=1
        if [[ $last != *FAILED* ]] && reason=$(grep -am 1 '^FAILED' "$work/last"); then
          last="$reason; $last"
        fi
        [ $code -le 128 ] || last="ended by signal $((code - 128)) ($(kill -l $((code - 128))))${last:+: $last}"
        ;;
    esac
    [ "$code" = 0 ] || kill_leftovers
    shorten_log "$from"
  fi
  table+=("$(printf '%-20s %-8s %4d s  %s' "$name" "$verdict" $((SECONDS - start)) "$last")")
  printf '%s\n' "${table[-1]}" | tee -a "$out/table.txt"
  [ "$verdict" != FAILED ] || grep -a '^FAILED' "$work/last" | head -8 | cut -c 1-300 | sed 's/^/    /'
}

while read -r name full smoke gpus <&4; do
  { [ -n "$name" ] && [[ $gpus = any || $gpus = "$kind" ]]; } || continue
  if [ -n "$only" ]; then
    [[ ,$only, = *,$name,* ]] || continue
  elif [ $mode = smoke ] && [ "$smoke" = 0 ]; then
    continue
  fi
  limit=$full
  [ $mode != smoke ] || [ "$smoke" = 0 ] || limit=$smoke
  stage "$name" "$limit"
done 4<<<"$plan"

{
  printf 'gpu_check: %s, %s, %d s: %s\n' "$commit" "$kind" $SECONDS "$([ $failed = 0 ] && echo 'nothing failed' || echo FAILED)"
  printf '%s\n' "${table[@]}"
} >"$work/table"
cp "$work/table" "$out/table.txt.new" && mv "$out/table.txt.new" "$out/table.txt"
printf '\n'
grep -v '^{' "$out/measured.txt"
printf '\n'
cat "$work/table"
exit $failed
