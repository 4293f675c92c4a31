#!/bin/sh
# Runs nvcc and writes its report of registers and spills to OBJECT.ptxas, which scripts/check_gpu_code.py reads.
# ccache, if installed, keeps the object together with the report.
#
#   cmake/kept_ptxas.sh NVCC ARGUMENT... -o OBJECT ...
object=
previous=
for argument; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
if command -v ccache >/dev/null; then
  set -- ccache "$@"
fi
status=0
"$@" 2>"$object.ptxas" || status=$?
# What is no part of the report is for whoever builds.
grep -vE '^ptxas info|^ +[0-9]+ bytes stack frame' "$object.ptxas" >&2
exit $status
