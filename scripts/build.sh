#!/usr/bin/env bash
# Configures a preset of CMakePresets.json where that has not been done, and builds targets of it.
#
#   scripts/build.sh PRESET [TARGET...]
#
#   ZIGGURAT_MARCH         instruction set, as for the compiler's -march; a change configures anew
#   ZIGGURAT_CMAKE_FLAGS   more arguments for a first configuration
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:?which preset? See CMakePresets.json}
shift

cache=build/$preset/CMakeCache.txt
flags=()
if [ -n "${ZIGGURAT_MARCH:-}" ] && ! grep -qsxF "ZIGGURAT_MARCH:STRING=$ZIGGURAT_MARCH" "$cache"; then
  flags+=("-DZIGGURAT_MARCH=$ZIGGURAT_MARCH")
fi
if [ ! -f "build/$preset/build.ninja" ]; then
  if command -v ccache >/dev/null; then
    flags+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  read -r -a more <<<"${ZIGGURAT_CMAKE_FLAGS:-}"
  flags+=("${more[@]}" --no-warn-unused-cli)
fi
if [ ${#flags[@]} -gt 0 ]; then
  mkdir -p "build/$preset"
  cmake --preset "$preset" "${flags[@]}" >"build/$preset/configure.log" 2>&1 || {
    cat "build/$preset/configure.log" >&2
    exit 1
  }
fi
# What ccache wants to be told before it keeps anything of a build with headers that are compiled once. None of our
# sources asks for the time.
# Clones share what ccache keeps of builds that this script began: of others, the headers compiled once differ.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:+$CCACHE_SLOPPINESS,}pch_defines,time_macros
[ $# -gt 0 ] || set -- all
quiet=()
[ -t 1 ] || quiet=(-- --quiet) # a log needs no line per file
exec cmake --build "build/$preset" --target "$@" "${quiet[@]}"
