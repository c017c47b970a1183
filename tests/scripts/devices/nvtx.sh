#!/bin/sh
# A profiler that asks for NVTX ranges gets one for each pass, capture and
# launch of the journal of the same run; a build without NVTX knows nothing of
# it.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}

knows_nothing()
{
	! grep -aoE 'NVTX_[A-Z]+|nvtx(Globals|Domain|Range)[A-Za-z0-9_]*' \
		"$BUILD/libphilox.so"
}

if ! grep -aq NVTX_INJECTION64_PATH "$BUILD/lib/trace/nvtx.c.o"; then
	check "a build without NVTX knows nothing of it" knows_nothing
	skip "NVTX ranges" "a build without NVTX"
	finish
fi

build_tool()
{
	# shellcheck disable=SC2086
	$CC -std=c11 -Wall -Wextra -Werror -fPIC -shared \
		-isystem "$CUDA_HOME/include" -o "$WORK/tool.so" \
		tests/nvtx/tool.c -lpthread
}

runs()
{
	NVTX_INJECTION64_PATH=$WORK/tool.so NVTX_TOOL_LOG=$WORK/log \
		PHILOX_JOURNAL=$WORK/journal "$philox" train --steps 2
}

one_domain()
{
	grep -v -e '^start' -e '^end' "$WORK/log"
	[ "$(grep -v -e '^start' -e '^end' "$WORK/log")" = 'create philox' ]
}

# Each range ends once, after it began
balanced()
{
	awk '$1 == "start" { if ($2 in open) bad++; open[$2]; n++ }
	$1 == "end" { if (!($2 in open)) { bad++ } delete open[$2] }
	END {
		for (id in open)
			bad++
		print n + 0 " ranges, " bad + 0 " out of balance"
		exit !n || bad
	}' "$WORK/log"
}

# PAYLOAD NAME of every range, told and wanted
same_names()
{
	sed -n 's/^start [0-9]* //p' "$WORK/log" | LC_ALL=C sort >"$WORK/told"
	awk '
	function word(field) {
		if (match($0, " " field " \"[^\"]*\""))
			return substr($0, RSTART + length(field) + 3,
				RLENGTH - length(field) - 4)
		if (match($0, " " field " [^ ]*"))
			return substr($0, RSTART + length(field) + 2,
				RLENGTH - length(field) - 2)
		return 0
	}
	function note(flags) {
		return flags ~ /inference/ ? " (inference)" :
			flags ~ /warmup/ ? " (warm-up)" :
			flags ~ /retain/ ? " (retained)" : ""
	}
	$3 == "forward-begin" || $3 == "backward-begin" {
		sub(/-begin/, "", $3)
		kind = $3
		print word("ticket"), word("region"), kind note(word("flags"))
	}
	$3 == "capture-forward" || $3 == "capture-backward" {
		kind = substr($3, 9)
		print 0, word("region"), "captured", kind note(word("flags"))
	}
	$3 == "capture-begin" { print word("capture"), "capture" }
	$3 == "launch-begin" { print word("sequence"), word("graph"), "launch" }
	' "$WORK/journal" | LC_ALL=C sort >"$WORK/wanted"
	wc -l "$WORK/wanted"
	[ -s "$WORK/wanted" ] && diff "$WORK/wanted" "$WORK/told"
}

no_tool()
{
	NVTX_INJECTION64_PATH=$WORK/none.so "$philox" train --steps 1 &&
		NVTX_TOOL_LOG=$WORK/none "$philox" train --steps 1 &&
		! [ -e "$WORK/none" ]
}

check "a profiler is built" build_tool
check "a run under it succeeds" runs
check "there is one domain, philox" one_domain
check "every range ends once" balanced
check "ranges are the passes, captures and launches of the journal" same_names
check "a profiler that is not there does no harm" no_tool
finish
