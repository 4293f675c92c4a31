#!/usr/bin/env bash
# Measures whole training steps, alone and beside PyTorch, and prints a table of figure, bar and verdict.
#
#   perf/run.sh [--no-torch]       takes half an hour on two cores, which should have nothing else to do
#
# Every measurement is a JSON line under build/perf.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
with_torch=true
case ${1:-} in
  --no-torch) with_torch=false ;;
  '') ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

scripts/setup.sh
scripts/build.sh release perf_step
step=build/release/bin/perf_step
mkdir -p build/perf
rm -f build/perf/step.jsonl build/perf/compare_torch.jsonl

export OMP_NUM_THREADS=2
for model in gpt2-124m llama-124m; do
  for precision in f32 bf16; do
    $step --model $model --precision $precision | tee build/perf/step.log
    grep '^{' build/perf/step.log >>build/perf/step.jsonl
  done
done
if $with_torch; then
  python3 perf/compare_torch.py --ours "$step --model {model} --precision {precision} --threads {threads} --no-floor"
fi
echo
python3 perf/verdicts.py build/perf/*.jsonl
