#!/bin/sh
# The CUDA device and its kernels on a simulated GPU: the tests and tools that
# work on every CUDA device. tests/simulated/simulated.h lists what this cannot
# show.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

simulated=$BUILD/tests/simulated

# suites PATTERN: none of them may be skipped for want of a GPU
suites()
{
	"$simulated/philox-tests" --verbose --timeout 600 --filter "$1" \
		>"$WORK/tests" 2>&1
	status=$?
	cat "$WORK/tests"
	[ $status -eq 0 ] && ! grep -q '^\[SKIP\].*GPU' "$WORK/tests" &&
		grep -q 'Tested: [1-9]' "$WORK/tests"
}

# draws: the numbers of the host, as the tool prints them
draws()
{
	for device in host cuda cuda:1; do
		"$simulated/philox" draw --device $device "$@" \
			>"$WORK/$device" || return 1
	done
	[ -s "$WORK/host" ] && cmp "$WORK/host" "$WORK/cuda" &&
		cmp "$WORK/host" "$WORK/cuda:1"
}

# trains: eager and captured alike; a second GPU may go on from a file
trains()
{
	"$simulated/philox" train --device cuda --steps 6 >"$WORK/cuda" &&
		grep '^runs agree *yes' "$WORK/cuda" &&
		"$simulated/philox" train --device cuda --steps 6 --save-at 3 \
			--save "$WORK/half" &&
		"$simulated/philox" train --device cuda:1 --resume "$WORK/half"
}

# trains_without_cublas: a kernel of our own does as well, and is named
trains_without_cublas()
{
	grep '^products *cuBLAS, libcublas' "$WORK/cuda" &&
		PHILOX_CUBLAS=none "$simulated/philox" train --device cuda \
			--steps 3 >"$WORK/plain" &&
		grep '^runs agree *yes' "$WORK/plain" &&
		grep '^products *a simple kernel, as PHILOX_CUBLAS=none' \
			"$WORK/plain" &&
		! PHILOX_CUBLAS=/no/where "$simulated/philox" train \
			--device cuda --steps 1 2>"$WORK/err" &&
		grep "PHILOX_CUBLAS names '/no/where': it cannot be loaded" \
			"$WORK/err"
}

check "the tool sees two GPUs" sh -c "'$simulated/philox' info |
	grep -c '^cuda:[01] *simulated GPU' | grep -qx 2"
# Checks that would be the same on the second GPU run once, and those that part
# tests runs on host devices do not run again
check "the device contract" "$simulated/philox" selftest --device cuda
check "contexts, kernels, the example and drafts" \
	suites '@(context_cuda|device|device_cuda|drafts_cuda|fused_cuda|space_cuda)/*'
check "a sequence of events" "$simulated/philox" matrix --device cuda \
	--replay 'F0 F1 B1r B0'
check "every schedule" "$simulated/philox" matrix --schedule all --device cuda
check "training runs agree, and go on from a file" trains
check "training needs no cuBLAS, and says what it uses" trains_without_cublas
check "draws are the host's" draws --count 1000 --first 3 --dist normal
finish
