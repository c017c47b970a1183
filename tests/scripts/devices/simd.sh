#!/bin/sh
# The host's vector loops give the plain loop's bits: the numbers' contract, for
# each instruction set. If the CPU has no AVX-512, its loops are made of other
# instructions. host:sync runs the loops of host: they are checked once.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

MAKE=${MAKE:-make}

# agrees SIMD PHILOX: the device's description names these fills
agrees()
{
	PHILOX_SIMD=$1 "$2" info | grep "$1 fills" &&
		PHILOX_SIMD=$1 "$2" selftest --device host
}

refused()
{
	PHILOX_SIMD=$1 "$BUILD/philox" draw --count 1 2>"$WORK/refusal"
	status=$?
	cat "$WORK/refusal"
	[ $status -ne 0 ] && grep -q "$2" "$WORK/refusal"
}

has()
{
	for flag in "$@"; do
		grep -qw "$flag" /proc/cpuinfo || return 1
	done
}

# The tool again. All but these objects are the build's, and source.c's, which
# is made each time.
builds_simde()
{
	mkdir "$WORK/simde" &&
		(cd "$BUILD" && find . -path ./tests -prune -o -name '*.o' \
			! -name cpu.c.o ! -name fill_avx512.c.o -print |
			tar -cf - -T - stamp.*) |
		tar -xf - -C "$WORK/simde" &&
		$MAKE -j"$(nproc)" -o "$WORK/simde/stamp.host" \
			-o "$WORK/simde/stamp.nvcc" BUILD="$WORK/simde" \
			SIMDE=1 CFLAGS="-O1 -g0" "$WORK/simde/philox" \
			>"$WORK/made" 2>&1 &&
		cat "$WORK/made" && ! grep -E '^  (CC|CXX|NVCC) ' "$WORK/made" |
		grep -vE '/(cpu|fill_avx512|source)\.c\.o$'
}

check "scalar agrees" agrees scalar "$BUILD/philox"
if has avx2 fma f16c; then
	check "avx2 agrees" agrees avx2 "$BUILD/philox"
else
	skip "avx2 agrees" "this CPU has no AVX2, FMA and F16C"
fi
if has avx512f avx512dq avx512bw avx512vl; then
	check "avx512 agrees" agrees avx512 "$BUILD/philox"
else
	check "avx512 is refused where the CPU lacks it" \
		refused avx512 "lacks"
	if [ ! -e /usr/include/simde/x86/avx512.h ]; then
		skip "avx512 on other instructions agrees" "no libsimde-dev"
	elif ! has avx2 fma f16c; then
		skip "avx512 on other instructions agrees" "this CPU has no AVX2"
	else
		check "avx512 can be made of other instructions" builds_simde
		check "avx512 on other instructions agrees" \
			agrees avx512 "$WORK/simde/philox"
	fi
fi
check "an unknown name is refused" refused altivec "altivec"
finish
