# shellcheck shell=bash
# The stages of scripts/gpu_check.sh, which sources this file and tools.sh. Each runs in a process of its own; its last
# line of output goes to the table.
# shellcheck disable=SC2034,SC2154,SC2317 # stages are called by their names

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

# Gradients of SwiGLU in their products by cuDNN's first choice, whether or not that is faster.
stage_speed_8b_fused() {
  speed_8b speed_8b_fused 4 by_cudnn precision.products=fused precision.attention_backward=fast \
    "train={steps: 10, global_batch: 16, micro_batch: 2}"
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
