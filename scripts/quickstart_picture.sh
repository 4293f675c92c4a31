#!/usr/bin/env bash
# Draws docs/pictures/quickstart.svg, the picture of README.md, from a whole quickstart. It takes minutes and needs an
# idle machine, because the picture shows the speed.
#
#   scripts/quickstart_picture.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts/quickstart.sh run.dir="$folder/quickstart"
build/release/bin/ziggurat plot "$folder/quickstart" --out docs/pictures/quickstart.svg
