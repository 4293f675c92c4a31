#!/bin/sh
# nvcc, whose report of registers and spills goes to OBJECT.ptxas, where scripts/check_gpu_code.py reads it.
#
#   cmake/kept_ptxas.sh NVCC ARGUMENT... -o OBJECT ...
object=
previous=
for argument; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
status=0
"$@" 2>"$object.ptxas" || status=$?
# What is no part of the report is for whoever builds.
grep -vE '^ptxas info|^ +[0-9]+ bytes stack frame' "$object.ptxas" >&2
exit $status
