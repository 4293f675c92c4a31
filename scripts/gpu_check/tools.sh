# shellcheck shell=bash
# Tools of the stages of scripts/gpu_check.sh, which sources this file: processes with limits, tests, trainings and the
# figures of their steps. Variables are those that gpu_check.sh exports.
# shellcheck disable=SC2154

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
# list_tests.py has written them.
run_tests() {
  local max_ranks=$1 pattern=$2 except=${3:-^$} name ranks program arguments environment code start
  local passed=0 failed_names=() launch words variables
  while IFS=$'\t' read -r name ranks program arguments environment <&3; do
    { [[ $name =~ $pattern ]] && ! [[ $name =~ $except ]] && [ "$ranks" -le "$max_ranks" ]; } || continue
    launch=() words=() variables=()
    [ "$ranks" = 0 ] || ranks_command "$ranks"
    IFS='|' read -r -a words <<<"$arguments"
    IFS='|' read -r -a variables <<<"$environment"
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

# Adds log, metrics, algorithms of products and trace of a run to runs.tar.
archive() { # NAME
  local packed=$work/packed file used=0
  rm -rf "$packed" && mkdir "$packed" || return 1
  gzip -c "$work/$1.log" >"$packed/$1.log.gz"
  [ ! -f "$work/$1/metrics.jsonl" ] || gzip -c "$work/$1/metrics.jsonl" >"$packed/$1.metrics.jsonl.gz"
  [ ! -f "$work/$1/products.json" ] || gzip -c "$work/$1/products.json" >"$packed/$1.products.json.gz"
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
