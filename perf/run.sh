#!/usr/bin/env bash
# Measures Ziggurat, alone and beside its peers, and prints a table of figure, bar and verdict.
#
#   perf/run.sh [PART...]      all parts take over two hours on two cores, which should have nothing else to do
#
#   step          a training step's share of its matrix products, one rank of two threads     10 min
#   collectives   reduce-scatter, all-reduce, all-gather beside MPI's own, 2, 4 and 8 ranks     5 min
#   storage       saving, loading and verifying a checkpoint beside plain direct transfers       7 min
#   queue         reading and writing NVMe space beside fio                                      5 min
#   tiers         steps with all state on NVMe beside the floor of their parts; orders of micro-batches  12 min
#   context       steps of two ranks that share sequences of 8192, with two that have their own   4 min
#   pieces        steps of two tensor ranks with collectives in pieces, and with whole ones        4 min
#   updates       steps whose updates run in backward, with those whose updates run after it        8 min
#   gaps          validation losses of the quickstart with each setting that changes results                2 min
#   adamw         the optimizer beside a loop over the same memory, one and two threads         1 min
#   spread        ZeRO 3 beside ZeRO 0, roomy tiers beside none, two ranks beside one, eight    20 min
#   axes          tensor 2 with sequence, two stages, beside two data ranks                     10 min
#   families      layers of Qwen3, Gemma and Mistral beside those of Llama                         5 min
#   cache         text and multiple choice with a KV cache beside memory and whole sequences     6 min
#   preference    a step of DPO beside one of cross-entropy on the same sequences                4 min
#   bubble        what four stages wait for each other, beside theory                           1 min
#   saving        the step that saves, beside those that do not                                  8 min
#   throttled     depths of prefetch at the ratios of other machines                            25 min
#   chunks        state that stays on the device where memory is free, beside static splits     15 min
#   torch         a step beside PyTorch, eager and compiled                                     20 min
#   torch_adamw   the optimizer beside PyTorch's fused one, bare and with both casts             4 min
#   fsdp2         ZeRO 3 on two ranks beside PyTorch FSDP2                                       6 min
#   deepspeed     ZeRO 3 on two ranks beside DeepSpeed ZeRO-3                                    6 min
#   offload       all state on NVMe beside DeepSpeed ZeRO-3 with NVMe offload                   25 min
#   tokenize      text to tokens beside tokenizers and SentencePiece, as many threads           10 min
#   largest       three steps of 3 billion parameters in 12 GiB; on request only: 51 GiB of disk, 20 min
#
# PyTorch and DeepSpeed come from PyPI into build/venv, fio from Debian. A peer that cannot be had leaves its figures
# 'not measured' and does not stop the rest. Every measurement is a JSON line in build/perf/PART.jsonl. Exit code 1: a
# bar is missed, or one of our own figures could not be measured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
all="step collectives storage queue tiers context pieces updates gaps adamw spread axes families cache preference bubble saving throttled chunks torch torch_adamw fsdp2 deepspeed offload tokenize"
for part; do
  [[ " $all largest " == *" $part "* ]] || { sed -n '2,33s/^# \{0,1\}//p' "$0" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- $all

scripts/setup.sh
scripts/setup.sh --perf || echo "perf: not all peers can be had (see above)." >&2
scripts/build.sh release ziggurat perf_step perf_collectives perf_checkpoint perf_queue perf_tiers adamw_bench read_bench
bin=build/release/bin
results=build/perf
mkdir -p $results
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
read -r load _ </proc/loadavg
if awk -v load="$load" 'BEGIN {exit !(load > 0.7)}'; then
  echo "perf: the load is $load (something else runs here, or has just run). Ratios of this run may be off." >&2
fi

# Runs the rest of its arguments, shows what they print and keeps their JSON lines in the file of part $1.
keep() {
  local part=$1
  shift
  "$@" | tee "$results/$part.log" || return
  grep '^{' "$results/$part.log" >>"$results/$part.jsonl"
}

measure_step() {
  local model precision
  for model in gpt2-124m llama-124m; do
    for precision in f32 bf16; do
      OMP_NUM_THREADS=2 keep step $bin/perf_step --model $model --precision $precision || return
    done
  done
}
measure_collectives() {
  local ranks
  for ranks in 2 4 8; do
    keep collectives mpirun -n $ranks --oversubscribe --bind-to none $bin/perf_collectives || return
  done
}
measure_storage() { keep storage $bin/perf_checkpoint --dir $results; }
measure_queue() { keep queue $bin/perf_queue --dir $results; }
# Bound by computing, then by the disk.
measure_tiers() {
  local batch
  mkdir -p $results/nvme
  for batch in "--seq 512 --micro-batch 2" "--seq 128 --micro-batch 1"; do
    # shellcheck disable=SC2086
    keep tiers mpirun -n 2 --oversubscribe --bind-to none $bin/perf_tiers --nvme $results/nvme $batch || return
  done
  keep tiers python3 perf/orders.py --binary $bin/ziggurat --folder $PWD/$results/nvme
}
measure_context() { keep context python3 perf/context.py --binary $bin/ziggurat; }
measure_pieces() { keep pieces python3 perf/pieces.py --binary $bin/ziggurat; }
measure_gaps() {
  local text=build/data/bible.txt # as scripts/quickstart.sh writes it
  scripts/setup.sh --text
  mkdir -p build/data
  [ -s $text ] || { bible -f -l 9999 'gen1:1-rev22:21' >$text.tmp && mv $text.tmp $text; }
  keep gaps python3 perf/gaps.py --binary $bin/ziggurat
}
measure_updates() { keep updates python3 perf/updates.py --binary $bin/ziggurat; }
measure_adamw() {
  local threads
  for threads in 1 2; do
    OMP_NUM_THREADS=$threads keep adamw $bin/adamw_bench $threads || return
  done
}
measure_spread() { python3 perf/spread.py --binary $bin/ziggurat; }
measure_axes() { python3 perf/axes.py --binary $bin/ziggurat; }
measure_cache() { keep cache python3 perf/cache.py --binary $bin/ziggurat --folder $results; }
measure_preference() { keep preference python3 perf/preference.py --binary $bin/ziggurat; }
measure_families() { keep families python3 perf/families.py --binary $bin/perf_step; }
measure_bubble() { python3 perf/bubble.py --binary $bin/ziggurat; }
measure_saving() { python3 perf/saving.py --binary $bin/ziggurat; }
measure_throttled() { python3 perf/throttled.py --binary $bin/ziggurat; }
measure_chunks() { python3 perf/chunks.py --binary $bin/ziggurat; }
measure_torch() {
  python3 perf/compare_torch.py \
    --ours "$bin/perf_step --model {model} --precision {precision} --threads {threads} --no-floor"
}
measure_torch_adamw() { python3 perf/compare_adamw.py --binary $bin/adamw_bench; }
measure_fsdp2() { python3 perf/compare_sharded.py fsdp2 --binary $bin/ziggurat; }
measure_deepspeed() { python3 perf/compare_sharded.py deepspeed --binary $bin/ziggurat; }
measure_offload() { python3 perf/compare_deepspeed.py --binary $bin/ziggurat; }
measure_tokenize() {
  scripts/setup.sh --tests && keep tokenize build/peers/bin/python3 perf/tokenizing.py --binary $bin/ziggurat
}
measure_largest() { python3 perf/largest.py --binary $bin/ziggurat; }

for part; do
  echo "== $part"
  rm -f "$results/$part.jsonl"
  measure_"$part" || echo "perf: part '$part' has failed (see above)." >&2
done
echo
python3 perf/verdicts.py --results $results "$@"
