#!/usr/bin/env bash
# Draws docs/pictures/quickstart.svg, the picture of README.md, from a whole quickstart on two ranks. Takes minutes and
# needs an idle machine: the picture shows its speed.
#
#   scripts/quickstart_picture.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/build.sh release ziggurat
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -n 2 build/release/bin/ziggurat train decks/quickstart.yaml run.dir="$run/quickstart"
build/release/bin/ziggurat plot "$run/quickstart" --out docs/pictures/quickstart.svg
