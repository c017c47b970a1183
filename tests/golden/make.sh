#!/bin/sh
# Makes the golden values of other libraries' layouts again:
# tests/golden/make.sh [TABLE]...
#
# curand_device, curand_host, nvfuser, pytorch and program need a CUDA toolkit
# (CUDA_HOME), triton and jax the packages of these names for $PYTHON. No GPU.
# The tables go to tests/golden, or to $OUT.
cd "$(dirname "$0")/../.." || exit 1
CXX=${CXX:-g++}
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
PYTHON=${PYTHON:-python3}
OUT=${OUT:-tests/golden}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

from_curand()
{
	[ -x "$work/from_curand" ] ||
		$CXX -std=c++17 -O2 -ffp-contract=off -DPHILOX_ORACLE_CURAND \
			-isystem "$CUDA_HOME/include" \
			-isystem "$CUDA_HOME/include/cccl" \
			-I. -o "$work/from_curand" tests/golden/from_curand.cpp \
			tests/support/oracles/libraries.cpp \
			-L"$CUDA_HOME/lib64" -lcurand \
			-Wl,-rpath,"$CUDA_HOME/lib64" || return 1
	"$work/from_curand" "$1"
}

all='curand_device curand_host nvfuser pytorch program triton jax'
for table in ${*:-$all}; do
	case $table in
	triton | jax) $PYTHON "tests/golden/from_$table.py" ;;
	*) from_curand "$table" ;;
	esac >"$work/$table.txt" && cp "$work/$table.txt" "$OUT/$table.txt" ||
		exit 1
done
