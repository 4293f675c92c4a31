#!/usr/bin/env bash
# Sets up, builds, and trains a small language model on real English text with two ranks of this machine.
#
#   scripts/quickstart.sh [key=value...]     values that override those of decks/quickstart.yaml
#
# Ctrl-C saves and ends the training after the running step; run this again, and it goes on from there. A second
# Ctrl-C ends it at once; then it goes on from its last checkpoint. When it is done, remove runs/quickstart to train
# anew.
#
#   ZIGGURAT   a program to run as it is; nothing is set up or built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${ZIGGURAT:-build/release/bin/ziggurat}
if [ -z "${ZIGGURAT:-}" ]; then
  text=build/data/bible.txt # one verse per line
  if [ -s $text ]; then
    scripts/setup.sh
  else
    scripts/setup.sh --text || {
      echo "quickstart: or put any English text of a few megabytes into $text, if it is the text that is missing" >&2
      exit 3
    }
    mkdir -p build/data
    bible -f -l 9999 'gen1:1-rev22:21' >$text.tmp
    mv $text.tmp $text
  fi
  scripts/build.sh release ziggurat
fi

# ------------------------------------------------------------------ two ranks

ranks=2
flags=(-n $ranks)
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  flags+=(-q --oversubscribe)
  if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  # Each rank gets its share of the cores for itself, where there are as many cores as ranks.
  cores=$(lscpu --parse=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l)
  usable=$(nproc)
  cores=$((cores < usable ? cores : usable))
  if [ "$cores" -ge $ranks ]; then
    flags+=(--map-by "slot:PE=$((cores / ranks))" --bind-to core)
  else
    flags+=(--bind-to none)
  fi
fi

# A job of its own process group: Ctrl-C reaches this script alone, which asks for the end in the way that
# leaves time for it. mpirun passes USR1 on to the ranks; after INT it would kill them within a second.
asked=0
interrupted=false
job=
ask_to_stop() {
  interrupted=true
  asked=$((asked + 1))
  if [ $asked = 1 ]; then
    kill -USR1 "$job" 2>/dev/null || true
  else
    kill -TERM "$job" 2>/dev/null || true
  fi
}
trap ask_to_stop INT TERM HUP
set -m
mpirun "${flags[@]}" "$program" train decks/quickstart.yaml "$@" </dev/null &
job=$!
set +m

# `wait` returns early when the trap runs; then the code of the job is still to come.
code=0
while :; do
  interrupted=false
  result=0
  wait $job || result=$?
  [ $result = 127 ] || code=$result # 127: the wait before this one had it already
  $interrupted || break
done

case $code in
  0) ;;
  2) echo "quickstart: the deck or an override asks for something impossible (exit code 2)" >&2 ;;
  75) echo "quickstart: stopped as asked (exit code 75). Run the same command again, and it goes on." >&2 ;;
  *) echo "quickstart: ended with exit code $code. Without mpirun's silence:" \
    "mpirun ${flags[*]/#-q/} $program train decks/quickstart.yaml $*" >&2 ;;
esac
exit $code
