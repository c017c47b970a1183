#!/bin/sh
# What nvcc makes of the kernels, without a GPU: every number is rounded once,
# nothing is in local memory, and no kernel takes more instructions or registers
# than it did, or narrower stores (tests/ptx). Machine code is that of the
# build's objects.
#
#   tests/scripts/devices/ptx.sh --update    notes what the kernels take now
#   tests/scripts/devices/ptx.sh --show      prints it, and the rates that it
#                                            allows: make sass
#
# A version of nvcc that the table does not know is skipped: build with it and
# with all its GPUs, look at what differs from the version before, and --update.
# So it is, too, after a change that is worth what it costs.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

python=${PYTHON:-python3}
nvcc=$CUDA_HOME/bin/nvcc
table=tests/ptx/sizes.txt

# --- the rules themselves -----------------------------------------------------

if [ $# -eq 0 ]; then
	check "PTX that may round otherwise is refused" \
		"$python" tests/ptx/test_ptx.py
	check "the shortest way round a loop is counted" \
		"$python" tests/ptx/test_sass.py
	check "instructions are counted by pipe, and what is worse is refused" \
		"$python" tests/ptx/test_sizes.py
	check "BENCHMARKS.md has the bounds of the stored counts" \
		"$python" tests/ptx/check.py report
fi

# --- PTX ----------------------------------------------------------------------

if [ "$CUDA" = 0 ]; then
	[ $# -eq 0 ] || { echo "no CUDA toolkit: set CUDA_HOME" >&2 && exit 1; }
	for what in "PTX rounds every number once" \
		"machine code that approximates is refused" \
		"machine code has no approximations" \
		"no kernel takes more than it did"; do
		skip "$what" "no CUDA toolkit"
	done
	finish
fi

# The toolkit's disassembler, or the one of PyPI's packages for this python
find_disassembler()
{
	for tool in "$CUDA_HOME/bin/cuobjdump" "$(command -v cuobjdump)" \
		"$("$python" -c 'import glob, sys
print(*sorted(f for p in sys.path
              for f in glob.glob(p + "/nvidia/*/bin/cuobjdump"))[-1:])')"; do
		if [ -x "$tool" ]; then
			echo "$tool"
			return
		fi
	done
}

get="pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
CUOBJDUMP=${CUOBJDUMP:-$(find_disassembler)}
DUMPS=$WORK
export CUOBJDUMP DUMPS
kernels="lib/kernels/cuda/cuda.cu lib/kernels/cuda/heads.cu lib/rows/cuda.cu
	lib/sample/best.cu lib/sample/filter.cu lib/accept/accept.cu
	lib/split/split.cu lib/quantize/cuda.cu lib/quantize/large.cu
	lib/subset/subset.cu"
# The rules for PTX are not for condition.cu, which has no numbers
# shellcheck disable=SC2086 # a build's folder has no blanks, make sees to it
objects=$(printf "$BUILD/%s.o " $kernels)
all_objects="$objects $BUILD/lib/kernels/cuda/condition.cu.o"
version=$("$nvcc" --version | sed -n 's/.*, V\([0-9.]*\)$/\1/p')

case ${1-} in
--update | --show)
	[ -n "$CUOBJDUMP" ] || { echo "no cuobjdump: $get" >&2 && exit 1; }
	;;
esac
# shellcheck disable=SC2086
case ${1-} in
--update)
	"$python" tests/ptx/check.py update "$version" $all_objects &&
		git --no-pager diff --stat "$table" BENCHMARKS.md
	exit
	;;
--show)
	"$python" tests/ptx/check.py show "$version" $all_objects
	exit
	;;
esac

# to_ptx ARCHITECTURE: what differs by it in our source, differs from 9.0 on
to_ptx()
{
	for file in $kernels; do
		"$nvcc" -std=c++17 -O3 -Iinclude -I. -ptx -arch="compute_$1" \
			-o "$WORK/$(echo "$file" | tr / _)_$1.ptx" "$file" || return
	done
}

rounds_once()
{
	to_ptx 80 &
	to_ptx 90 && wait $! &&
		"$python" tests/ptx/check.py ptx "$WORK"/lib_*.ptx
}

check "PTX rounds every number once" rounds_once

# --- machine code -------------------------------------------------------------

if [ -z "$CUOBJDUMP" ]; then
	for what in "machine code that approximates is refused" \
		"machine code has no approximations" \
		"no kernel takes more than it did"; do
		skip "$what" "no cuobjdump: $get"
	done
	finish
fi

# What machine code must not have
cat >"$WORK/bad.cu" <<'END'
extern "C" __global__ void sine(float *x) { x[0] = __sinf(x[1]); }
extern "C" __global__ void root(float *x)
{
	asm("sqrt.approx.f32 %0, %1;" : "=f"(x[0]) : "f"(x[1]));
}
extern "C" __global__ void inverse(float *x)
{
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x[0]) : "f"(x[1]));
}
extern "C" __global__ void sum(float *x)
{
	asm("add.ftz.f32 %0, %1, %2;" : "=f"(x[0]) : "f"(x[1]), "f"(x[2]));
}
extern "C" __global__ void array(int *x)
{
	int y[64] = {};

	for (int i = 0; i < 64; i++)
		y[x[i] & 63] += i;
	x[0] = y[x[1] & 63];
}
extern "C" __global__ void exact(float *x) { x[0] = 1 / x[1]; }
END

# refuses_code: and names every kernel of it, but for the exact one
refuses_code()
{
	"$nvcc" -ptx -arch=sm_80 -o "$WORK/bad.ptx" "$WORK/bad.cu" &&
		"$nvcc" -c -arch=sm_80 -o "$WORK/bad.o" "$WORK/bad.cu" || return
	"$python" tests/ptx/check.py code "$WORK/bad.ptx" "$WORK/bad.o" \
		>"$WORK/why"
	[ $? -eq 1 ] && cat "$WORK/why" || return
	for kernel in sine root inverse sum array; do
		grep -q "^sm_80 ${kernel}[: ]" "$WORK/why" || return
	done
	! grep "^sm_80 exact" "$WORK/why"
}

check "machine code that approximates is refused" refuses_code

# shellcheck disable=SC2086
archs=$("$python" tests/ptx/check.py archs $objects)
# shellcheck disable=SC2086
check "machine code has no approximations: $archs" \
	"$python" tests/ptx/check.py code "$WORK"/lib_*.ptx $objects
if [ "${DEBUG:-0}" != 0 ] || [ -n "${NVCCFLAGS-}" ]; then
	skip "no kernel takes more than it did" "a build with options of its own"
	finish
fi
for arch in sm_80 sm_90 sm_100; do
	case " $archs " in
	*" $arch "*) ;;
	*) skip "no kernel takes more than it did on $arch" "not in the build" ;;
	esac
done
if ! grep -q "^$version " "$table"; then
	skip "no kernel takes more than it did" \
		"nvcc $version is not in $table: tests/scripts/devices/ptx.sh --update"
	finish
fi
# shellcheck disable=SC2086
check "no kernel takes more than it did: $archs" \
	"$python" tests/ptx/check.py sizes "$version" $all_objects
finish
