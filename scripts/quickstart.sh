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
trap 'exit 130' INT # also where a tool that sets something up would go on after Ctrl-C
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
flags=(-n "$ranks")
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
# leaves time for it: by USR1 to a rank, which tells the others. After INT mpirun would kill them within a second, and a
# USR1 that it gets before it has started them it forgets.
asked=0
passed_on=0
interrupted=false
job=

# field PID NAME: what /proc/PID/status says, nothing when there is no such process.
field() {
  local name value rest
  while read -r name value rest; do
    [ "$name" != "$2:" ] || echo "$value"
  done 2>/dev/null <"/proc/$1/status" || true
}

# Whether process $1 trains for the job, and would hear USR1 (the tenth bit of the signals that it catches).
is_listening_rank() {
  local words=() above=$1 caught
  mapfile -d '' -t words 2>/dev/null <"/proc/$1/cmdline" || return 1
  [ "${words[0]:-}" = "$program" ] || [ "${words[1]:-}" = "$program" ] || return 1
  while [ "${above:-1}" -gt 1 ] && [ "$above" != "$job" ]; do
    above=$(field "$above" PPid)
  done
  [ "${above:-1}" = "$job" ] || return 1
  caught=$(field "$1" SigCgt)
  [ $((16#${caught:-0} >> 9 & 1)) = 1 ]
}

# Asks a rank to stop as soon as there is one that listens. Where ranks are no processes of this machine, mpirun is to
# pass it on.
tell_a_rank() {
  trap '' INT TERM HUP
  local folder looks
  for ((looks = 0; looks < 100; ++looks)); do
    kill -0 "$job" 2>/dev/null || return 0
    for folder in /proc/[0-9]*; do
      if is_listening_rank "${folder#/proc/}" && kill -USR1 "${folder#/proc/}" 2>/dev/null; then
        return 0
      fi
    done
    sleep 0.1
  done
  kill -USR1 "$job" 2>/dev/null || true
}

pass_on() {
  while [ $passed_on -lt $asked ]; do
    passed_on=$((passed_on + 1))
    if [ $passed_on = 1 ]; then
      tell_a_rank &
    else
      kill -TERM "$job" 2>/dev/null || true
    fi
  done
}

ask_to_stop() {
  interrupted=true
  asked=$((asked + 1))
  [ -z "$job" ] || pass_on
}
trap ask_to_stop INT TERM HUP
set -m
mpirun "${flags[@]}" "$program" train decks/quickstart.yaml "$@" </dev/null &
job=$!
set +m
pass_on # what was asked for before there was a job

# `wait` returns early when the trap runs; then the code of the job is still to come.
code=0
while :; do
  interrupted=false
  result=0
  wait $job || result=$?
  [ $result = 127 ] || code=$result # 127: the wait before this one had it already
  $interrupted || break
done

say_what_is_next() {
  local run=runs/quickstart word
  for word; do
    [[ $word != run.dir=* ]] || run=${word#run.dir=}
  done
  local called saved
  printf -v called '%q' "$program" # a path may have blanks
  printf -v saved '%q' "$run"
  cat <<END

The program is $called. To try next:
  $called sample $saved --prompt 'In the'    # generate text
  $called plot $saved --terminal             # how loss and speed went
  $called inspect $saved                     # what was saved
To call it as ziggurat from anywhere, with its decks and a manual page:
  cmake --install build/release --prefix ~/.local && PATH=~/.local/bin:\$PATH
END
}

case $code in
  0) say_what_is_next "$@" ;;
  2) echo "quickstart: the deck or an override asks for something impossible (exit code 2)" >&2 ;;
  75) echo "quickstart: stopped as asked (exit code 75). Run the same command again, and it goes on." >&2 ;;
  *) echo "quickstart: ended with exit code $code. Without mpirun's silence:" \
    "mpirun ${flags[*]/#-q/} $program train decks/quickstart.yaml $*" >&2 ;;
esac
exit $code
