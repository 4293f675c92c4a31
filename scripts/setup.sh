#!/usr/bin/env bash
# Installs what Ziggurat needs to be built, and nothing that is already there.
#
#   scripts/setup.sh [--text] [--tests] [--new-peers] [--lm-eval] [--perf] [--cuda]
#
#   --text    also what scripts/quickstart.sh trains on
#   --tests   also what only scripts/test.sh needs
#   --new-peers also today's PyTorch, transformers, PEFT, bitsandbytes, MLflow and wandb, for scripts/test.sh --all (7 GB)
#   --lm-eval also lm-evaluation-harness, for the test e2e/lm_eval (after --tests; some hundred megabytes)
#   --perf    also what perf/run.sh compares with, as far as Debian has it
#   --cuda    also the headers by which a program for GPUs calls cuDNN
#
# Debian packages come from apt (as root or by sudo). Kokkos with OpenMP is built from the sources in a PyPI
# package into build/dependencies, unless you bring one. Whatever CMake finds through CMAKE_PREFIX_PATH,
# <Package>_ROOT or PATH (modules, Spack) counts as brought and is not installed again.
#
#   ZIGGURAT_MARCH   instruction set, as for the compiler's -march (default: that of build/release, or native)
#   ZIGGURAT_KOKKOS  where Kokkos goes (default: build/dependencies/kokkos)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dependencies=$PWD/build/dependencies
kokkos_version=3.4.01
kokkos_package=pykokkos-base==0.0.7 # its sources carry Kokkos' own CMake project under external/kokkos
kokkos_sha256=6339daced1e81a2748f381847d8717cd77d824407da3c263b9491b5630c642b0

frontend_package=nvidia-cudnn-frontend==1.32.0
frontend_sha256=c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0

# Debian package, and how else it may have come: a command, a header, a Python or CMake package, or a file that is
# there.
to_build="
g++                     command:c++
cmake                   command:cmake
ninja-build             command:ninja
git                     command:git
pkg-config              command:pkg-config
openmpi-bin             command:mpirun
libopenmpi-dev          cmake:MPI
libdnnl-dev             cmake:dnnl
ocl-icd-opencl-dev      cmake:OpenCL
libyaml-cpp-dev         cmake:yaml-cpp
nlohmann-json3-dev      cmake:nlohmann_json
libfmt-dev              cmake:fmt
libxxhash-dev           pkg-config:libxxhash
libonig-dev             pkg-config:oniguruma
libsentencepiece-dev    pkg-config:sentencepiece
zlib1g-dev              cmake:ZLIB
libzstd-dev             pkg-config:libzstd
libhdf5-dev             cmake:HDF5
libaio-dev              header:libaio.h
python3-jinja2          system-python:jinja2
libgtest-dev            cmake:GTest
libgmock-dev            pkg-config:gmock
libbenchmark-dev        cmake:benchmark
"
to_fetch_kokkos="
python3-pip             python:pip
python3-setuptools      python:setuptools
"
text="
bible-kjv               file:build/data/bible.txt
bible-kjv-text          file:build/data/bible.txt
"
tests="
ccache                  command:ccache
clang-format-14         command:clang-format-14
clang-tidy-14           command:clang-tidy-14
hdf5-tools              command:h5dump
python3-h5py            system-python:h5py
slurm-wlm               command:slurmctld
munge                   command:munged
iproute2                command:ip
faketime                command:faketime
zstd                    command:zstd
coinor-cbc              command:cbc
tmux                    command:tmux
chromium-headless-shell command:chromium-headless-shell
python3-venv            python:venv
python3-torch           system-python:torch
shellcheck              command:shellcheck
lintian                 command:lintian
debootstrap             command:debootstrap
lmod                    file:/usr/share/lmod/lmod/init/bash
bash-completion         file:/usr/share/bash-completion/bash_completion
"

venv="
python3-venv            python:venv
"
perf="
fio                     command:fio
"

say() { printf 'setup: %s\n' "$*"; }
stop() {
  printf 'setup: %s\n' "$@" >&2
  exit 3
}

# again COMMAND...: three times more where it fails, some seconds later each time: what downloads may meet a mirror that is
# busy for a moment.
again() {
  local pause
  for pause in 2 10 30; do
    "$@" && return
    say "that failed; once more in $pause s" >&2
    sleep "$pause"
  done
  "$@"
}

needed=$to_build
for option; do
  case $option in
    --text) needed+=$text ;;
    --tests) needed+=$tests ;;
    --new-peers) needed+=$venv ;;
    --lm-eval) ;;
    --perf) needed+=$perf ;;
    --cuda) needed+=$to_fetch_kokkos ;;
    *) sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

mkdir -p "$dependencies"
exec 9>"$dependencies/.lock"
flock 9 # two set-ups at once would undo each other's work

# ------------------------------------------------------------------ packages

python() { if /usr/bin/python3 -m pip --version; then echo /usr/bin/python3; else echo python3; fi 2>/dev/null | tail -1; }

# True when CMake finds package $1 without us: the probe is a project of one line.
cmake_finds() {
  local probe=$dependencies/probe/$1
  command -v cmake ninja c++ >/dev/null || return 1
  mkdir -p "$probe"
  cat >"$probe/CMakeLists.txt" <<PROBE
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES C CXX)
find_package($*)
PROBE
  rm -rf "$probe/build"
  cmake -G Ninja -S "$probe" -B "$probe/build" >"$probe/log" 2>&1
}

is_brought() {
  local how=${1%%:*} what=${1#*:}
  case $how in
    command) command -v "$what" >/dev/null ;;
    python) "$(python)" -c "import $what" 2>/dev/null ;;
    system-python) /usr/bin/python3 -c "import $what" 2>/dev/null ;;
    header) c++ -E -x c++ - <<<"#include <$what>" >/dev/null 2>&1 ;;
    file) [ -s "$what" ] ;;
    pkg-config) pkg-config --exists "$what" 2>/dev/null ;;
    cmake) if [ "$what" = MPI ]; then cmake_finds MPI REQUIRED COMPONENTS CXX; else cmake_finds "$what" REQUIRED; fi ;;
  esac
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii *//p' || true)
# What was found to be brought is remembered for as long as the places to look in stay the same.
places=$(env | grep -E '^(PATH|CMAKE_PREFIX_PATH|PKG_CONFIG_PATH|[A-Za-z0-9]+_(ROOT|DIR|HOME))=' | sort | tr '\n' ' ')
remembered=$dependencies/brought
[ "$(head -1 "$remembered" 2>/dev/null)" = "$places" ] || echo "$places" >"$remembered"

apt_get() { # whoever else installs something is waited for
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=5 "$@" 9>&-
}

# Installs what is missing of the list $1.
install_missing() {
  local missing=() package how log=$dependencies/apt.log
  while read -r package how; do
    if [ -z "$package" ] || grep -qxF -- "$package" <<<"$installed" || grep -qxF -- "$package" "$remembered"; then
      continue
    elif is_brought "$how"; then
      say "$package: not installed, but ${how#*:} is there"
      echo "$package" >>"$remembered"
    else
      missing+=("$package")
    fi
  done <<<"$1"
  [ ${#missing[@]} -gt 0 ] || return 0

  local install="apt-get install --no-install-recommends ${missing[*]}"
  command -v apt-get >/dev/null || stop "missing: ${missing[*]} (named as Debian names them; this system has no apt-get)." \
    "Bring them by modules or prefixes (PATH, CMAKE_PREFIX_PATH, <Package>_ROOT) and run this again."
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || stop \
    "missing: ${missing[*]} (installing them needs root, and there is no sudo)." \
    "Ask an administrator for '$install', or bring them by modules or prefixes (PATH, CMAKE_PREFIX_PATH, <Package>_ROOT)."
  say "installing ${missing[*]}"
  again apt_get update >"$log" 2>&1 || { tail -3 "$log" >&2; stop \
    "cannot fetch Debian's package lists (no network, or no right to; $log has all of it)." \
    "Connect this machine to its package mirror, or bring the libraries by modules or prefixes."; }
  again apt_get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    { tail -3 "$log" >&2; stop "'$install' failed ($log has all of it)."; }
}

may_bring_kokkos=${Kokkos_ROOT:-}${Kokkos_DIR:-}${CMAKE_PREFIX_PATH:-}
prefix=${ZIGGURAT_KOKKOS:-$dependencies/kokkos}
if [ -z "$may_bring_kokkos" ] && [ ! -e "$prefix/recipe" ]; then
  needed+=$to_fetch_kokkos # all in one go
fi
install_missing "$needed"

# ------------------------------------------------------------------ peers of tests

# A Python with what tests hold the program against: packages of PyPI beside Debian's PyTorch, which needs no GPU.
peers=$PWD/build/peers
# The second ones without what they depend on: pip takes Debian's PyTorch, 1.13.0a0, for older than 1.13, and would bring
# one of its own with all of CUDA.
requirements=$PWD/tests/e2e/requirements/requirements.txt
alone=$PWD/tests/e2e/requirements/requirements_alone.txt
# The third ones in a folder of their own, without PyTorch: transformers 5, which reads what is exported. Its tokenizers have
# the tables of Unicode 16, and are also in a folder without the rest.
newer=$PWD/tests/e2e/requirements/requirements_transformers_5.txt
if [[ " $* " == *" --tests "* ]] && ! cat "$requirements" "$alone" "$newer" | cmp -s - "$peers/installed.txt"; then
  say "installing $(cat "$requirements" "$alone" | tr '\n' ' ')and $(head -1 "$newer") into ${peers#"$PWD"/}"
  log=$dependencies/peers.log
  {
    /usr/bin/python3 -m venv --system-site-packages "$peers" && again "$peers/bin/pip" install -q -r "$requirements" &&
      again "$peers/bin/pip" install -q --no-deps -r "$alone" &&
      again "$peers/bin/pip" install -q --no-deps --no-compile --upgrade --target "$peers/transformers_5" -r "$newer" &&
      rm -rf "$peers/unicode_16" && mkdir "$peers/unicode_16" &&
      ln -s ../transformers_5/tokenizers "$peers/unicode_16/tokenizers"
  } >"$log" 2>&1 9>&- || { tail -3 "$log" >&2; stop "cannot install what tests compare with ($log has all of it)." \
    "Connect this machine to its package index, or run scripts/setup.sh without --tests."; }
  cat "$requirements" "$alone" "$newer" >"$peers/installed.txt"
fi

# What people have today, in a Python of its own: it sees nothing of Debian's PyTorch.
new_peers=$PWD/build/new_peers
new_requirements=$PWD/tests/e2e/requirements/requirements_new_peers.txt
if [[ " $* " == *" --new-peers "* ]] && ! cmp -s "$new_requirements" "$new_peers/installed.txt"; then
  say "installing $(tr '\n' ' ' <"$new_requirements")into ${new_peers#"$PWD"/}"
  log=$dependencies/new_peers.log
  { /usr/bin/python3 -m venv "$new_peers" && again "$new_peers/bin/pip" install -q -r "$new_requirements"; } \
    >"$log" 2>&1 9>&- || { tail -3 "$log" >&2; stop "cannot install today's PyTorch and transformers ($log has all of it)." \
    "Free 8 GB of disk space and connect this machine to its package index, or run scripts/setup.sh without --new-peers."; }
  cp "$new_requirements" "$new_peers/installed.txt"
fi

# lm-evaluation-harness sees those peers; alone as above, for it would bring a PyTorch of its own.
scores=$PWD/build/lm_eval
scores_alone=$PWD/tests/e2e/requirements/requirements_lm_eval_alone.txt
scores_requirements=$PWD/tests/e2e/requirements/requirements_lm_eval.txt
if [[ " $* " == *" --lm-eval "* ]] && ! cat "$scores_alone" "$scores_requirements" | cmp -s - "$scores/installed.txt"; then
  [ -e "$peers/installed.txt" ] || stop "lm-evaluation-harness needs what tests compare with." "Run scripts/setup.sh --tests --lm-eval."
  say "installing $(tr '\n' ' ' <"$scores_alone")into ${scores#"$PWD"/}"
  log=$dependencies/lm_eval.log
  {
    /usr/bin/python3 -m venv --system-site-packages "$scores" &&
      readlink -e "$peers"/lib/python3*/site-packages >"$(echo "$scores"/lib/python3*/site-packages)/peers.pth" &&
      again "$scores/bin/pip" install -q --no-deps -r "$scores_alone" &&
      again "$scores/bin/pip" install -q -r "$scores_requirements"
  } >"$log" 2>&1 9>&- || { tail -3 "$log" >&2; stop "cannot install lm-evaluation-harness ($log has all of it)." \
    "Connect this machine to its package index, or run scripts/setup.sh without --lm-eval."; }
  cat "$scores_alone" "$scores_requirements" >"$scores/installed.txt"
fi

# ------------------------------------------------------------------ cuDNN's frontend

# Headers alone, in a Python package whose libraries are not used.
frontend=$dependencies/cudnn_frontend
if [[ " $* " == *" --cuda "* ]] && [ "$(cat "$frontend/recipe" 2>/dev/null)" != "$frontend_sha256" ]; then
  say "unpacking $frontend_package into ${frontend#"$PWD"/}"
  log=$dependencies/cudnn_frontend.log
  mkdir -p "$dependencies/src"
  again "$(python)" -m pip download -q --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 --python-version 311 \
    -d "$dependencies/src" "$frontend_package" >"$log" 2>&1 9>&- \
    || { tail -3 "$log" >&2; stop "cannot fetch $frontend_package from PyPI (no network? $log has all of it)." \
    "Connect this machine, or build without cuDNN: our own kernels then compute attention on GPUs."; }
  wheel=$(echo "$dependencies/src/nvidia_cudnn_frontend-${frontend_package#*==}"-cp311-*.whl)
  sha256sum --status -c - <<<"$frontend_sha256  $wheel" \
    || stop "$wheel is not the file that was expected (its SHA-256 differs). Remove it and try again."
  rm -rf "$frontend"
  "$(python)" - "$wheel" "$frontend" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith("include/")])
PYTHON
  echo "$frontend_sha256" >"$frontend/recipe"
fi

# ------------------------------------------------------------------ Kokkos

march=${ZIGGURAT_MARCH:-$(sed -n 's/^ZIGGURAT_MARCH:[A-Z]*=//p' build/release/CMakeCache.txt 2>/dev/null || true)}
march=${march:-native}
# `native` means another thing on another machine, which may see the same directory.
resolved=$(c++ -march="$march" -Q --help=target 2>/dev/null | awk '$1 == "-march=" {print $2; exit}' || true)
recipe="Kokkos $kokkos_version OpenMP -march=$march ($resolved) $(c++ -dumpfullversion 2>/dev/null || true)"

if [ -n "$may_bring_kokkos" ]; then
  if grep -qxF Kokkos "$remembered"; then
    exit 0
  elif cmake_finds Kokkos REQUIRED NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH; then
    say "Kokkos: yours is used ($(sed -n 's/^Kokkos_DIR:[A-Z]*=//p' "$dependencies/probe/Kokkos/build/CMakeCache.txt"))"
    echo Kokkos >>"$remembered"
    exit 0
  fi
fi
[ "$(cat "$prefix/recipe" 2>/dev/null)" != "$recipe" ] || exit 0

install_missing "$to_fetch_kokkos"
say "building $recipe into ${prefix#"$PWD"/}"
sources=$dependencies/src
log=$dependencies/kokkos.log
mkdir -p "$sources"
archive=$sources/${kokkos_package/==/-}.tar.gz
if ! sha256sum --status -c - <<<"$kokkos_sha256  $archive" 2>/dev/null; then
  again "$(python)" -m pip download -q --no-deps --no-binary pykokkos-base -d "$sources" "$kokkos_package" >"$log" 2>&1 9>&- \
    || { tail -3 "$log" >&2; stop "cannot fetch $kokkos_package from PyPI (no network? $log has all of it)." \
    "Connect this machine, or bring a Kokkos of your own: Kokkos_ROOT=/its/prefix $0"; }
  sha256sum --status -c - <<<"$kokkos_sha256  $archive" \
    || stop "$archive is not the file that was expected (its SHA-256 differs). Remove it and try again."
fi
rm -rf "$sources/kokkos" "$sources/build" "$prefix"
mkdir -p "$sources/kokkos"
tar -xzf "$archive" -C "$sources/kokkos" --strip-components=3 "${kokkos_package/==/-}/external/kokkos"
{
  cmake -G Ninja -S "$sources/kokkos" -B "$sources/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DKokkos_ENABLE_OPENMP=ON -DKokkos_ENABLE_SERIAL=ON -DCMAKE_CXX_STANDARD=17 \
    -DKokkos_CXX_STANDARD=17 -DCMAKE_CXX_FLAGS="-march=$march" &&
    cmake --build "$sources/build" --target install
} >"$log" 2>&1 9>&- || { tail -15 "$log" >&2; stop "Kokkos does not build here ($log has all of it)." \
  "Bring one of your own: Kokkos_ROOT=/its/prefix $0"; }
rm -rf "$sources/kokkos" "$sources/build"
echo "$recipe" >"$prefix/recipe"
