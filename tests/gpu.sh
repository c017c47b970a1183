#!/bin/bash
# tests/gpu.sh - all that only a machine with a GPU can tell, in one run
#
#   make -j gpu                              everything, at most half an hour
#   make gpu OUT=FOLDER ROWS='probe bench-*' some rows, results to a folder
#
# The rows below run in turn, the most telling first. Each has a time limit, so
# that one that hangs does not take the others with it; together they may take
# MINUTES (28: building comes before). OUT (build/gpu) has the results from the
# moment when they are known, so that a run that is cut off leaves what it has:
#
#   report.md   a section for each row, in the form of BENCHMARKS.md; at the end
#               of a run a table of all. A run adds to a report that is there
#   log.txt     all that the rows printed
#   bench.json  the figures: philox bench --json
#
# PHILOX_TOOL names another tool. With the simulated GPU's,
#
#   make simulated && PHILOX_TOOL=build/tests/simulated/philox tests/gpu.sh
#
# rows that need a GPU say so, and the others do little: figures are then no
# measurements. LIMIT=SECONDS is the most that any row may take.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1
set -f # ROWS are patterns, not files

philox=${PHILOX_TOOL:-$BUILD/philox}
python=${PHILOX_PYTHON:-python3}
out=${OUT:-$BUILD/gpu}
report=$out/report.md
row=$out/row.txt # what the row in progress has printed
minutes=${MINUTES:-28}
child=

trap '[ -z "$child" ] || kill "$child"; rm -rf "$WORK"' EXIT

# --- the machine --------------------------------------------------------------

# first FILE: its first line, without what Markdown would read
first()
{
	sed -n 's/|/,/g; 1p' "$1"
}

# fact NAME COMMAND...: a line of the machine's table, if the command succeeds
fact()
{
	name=$1
	shift
	"$@" >"$WORK/fact" 2>"$WORK/err" && [ -s "$WORK/fact" ] &&
		echo "| $name | $(first "$WORK/fact") |"
}

processor()
{
	sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
}

python_with()
{
	"$python" - <<'END_OF_PYTHON'
import importlib.metadata as metadata, platform
found = ["Python " + platform.python_version()]
for name in "torch triton jax cupy-cuda12x cupy-cuda13x cupy".split():
    try:
        found.append(name + " " + metadata.version(name))
    except metadata.PackageNotFoundError:
        pass
print(", ".join(found))
END_OF_PYTHON
}

machine()
{
	fact date date -u '+%Y-%m-%d %H:%M UTC'
	fact GPU sed -n 's/^cuda:0 *//p' "$WORK/info"
	fact driver nvidia-smi --id=0 --format=csv,noheader \
		--query-gpu=driver_version,name,memory.total,clocks.max.sm,power.limit,vbios_version
	fact nvcc sh -c "'$CUDA_HOME/bin/nvcc' --version | tail -n 1"
	fact processor processor
	fact philox sed -n 's/^build *//p' "$WORK/info"
	fact Python python_with
	[ -z "$sanitizer" ] ||
		fact compute-sanitizer sh -c "'$sanitizer' --version | tail -n 1"
}

# The sanitizer is beside nvcc, or in a folder of its own
find_sanitizer()
{
	for sanitizer in "$(command -v compute-sanitizer)" \
		"$CUDA_HOME/bin/compute-sanitizer" \
		"$CUDA_HOME/compute-sanitizer/compute-sanitizer"; do
		[ ! -x "$sanitizer" ] || return 0
	done
	sanitizer=
}

# libcurand.so.10, where the loader does not look by itself; only this one, so
# that nobody finds another version of another library
show_curand()
{
	"$python" -c 'import glob, sys
for path in sys.path:
    for found in glob.glob(path + "/nvidia/*/lib/libcurand.so.10"):
        print(found)' >"$WORK/curand" 2>"$WORK/err"
	for library in "$CUDA_HOME/lib64/libcurand.so.10" \
		"$CUDA_HOME/targets/x86_64-linux/lib/libcurand.so.10" \
		$(cat "$WORK/curand"); do
		[ -e "$library" ] || continue
		mkdir -p "$WORK/lib"
		ln -sf "$library" "$WORK/lib/libcurand.so.10"
		export LD_LIBRARY_PATH="$WORK/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
		return
	done
}

# --- a row --------------------------------------------------------------------

is_wanted()
{
	[ -n "${ROWS-}" ] || return 0
	for pattern in $ROWS; do
		# shellcheck disable=SC2254
		case $1 in
		$pattern) return 0 ;;
		esac
	done
	return 1
}

# seconds_for LIMIT: the least of it, of LIMIT and of what is left of the time.
# The simulated GPU is slow, on processors that others use too: ten times as much.
seconds_for()
{
	seconds=$1
	[ -z "$simulated" ] || seconds=$((10 * seconds))
	left=$((60 * minutes - SECONDS))
	[ -z "${LIMIT-}" ] || [ "$LIMIT" -ge "$seconds" ] || seconds=$LIMIT
	[ "$left" -ge "$seconds" ] || seconds=$left
}

# run_limited SECONDS COMMAND...: its status, 124 if it had to be ended. One
# that does not end even then (it is stuck in the driver) is left behind.
run_limited()
{
	timeout -k 5 "$@" >"$row" 2>&1 </dev/null &
	child=$!
	last=$((SECONDS + $1 + 15))
	while kill -0 "$child" 2>"$WORK/err" && [ $SECONDS -lt $last ]; do
		sleep 0.2
	done
	if kill -0 "$child" 2>"$WORK/err"; then
		child=
		return 124
	fi
	wait "$child"
	status=$?
	child=
	return $status
}

# settle NAME OUTCOME WORD...: tells how a row ended, and counts it
settle()
{
	name=$1
	outcome=$2
	shift 2
	echo "**$outcome**${*:+, $*}" >>"$report"
	printf '%s\n' "| $what | $shown | $outcome${*:+, $*} |" >>"$WORK/all"
	case $outcome in
	passed)
		passed=$((passed + 1))
		echo "ok      $name: $*"
		;;
	failed)
		failed=$((failed + 1))
		echo "FAILED  $name: $*"
		;;
	*) skip "$name" "$*" ;;
	esac
}

# begin NAME WHAT COMMAND...: what it is stands in the report before it runs
begin()
{
	what=$2
	shown=
	if [ $# -gt 2 ]; then
		name=$1
		shift 2
		shown="\`$(echo "$*" | sed "s|$philox|philox|g; s|$BUILD/||g; s|$WORK/||g")\`"
		set -- "$name" "$what"
	fi
	printf '\n## %s\n\n%s%s\n\n' "$1" "$what" "${shown:+: $shown}" >>"$report"
}

# leave_out NAME WHAT WHY: a row that cannot run here
leave_out()
{
	is_wanted "$1" || return
	begin "$1" "$2"
	settle "$1" skipped "$3"
}

needs_gpu()
{
	leave_out "$1" "$2" "needs a GPU, and this one is simulated"
}

# row NAME LIMIT SHOW WHAT COMMAND...: runs the command; SHOW writes to the
# report what its output was, in $row
row()
{
	name=$1
	limit=$2
	show=$3
	what=$4
	shift 4
	is_wanted "$name" || return
	begin "$name" "$what" "$@"
	seconds_for "$limit"
	if [ "$seconds" -lt 1 ]; then
		settle "$name" skipped "the $minutes minutes are over"
		return
	fi
	begun=$SECONDS
	run_limited "$seconds" "$@"
	status=$?
	printf '== %s\n' "$name" | cat - "$row" >>"$out/log.txt"
	$show >>"$report"
	echo >>"$report"
	took="$((SECONDS - begun)) s"
	case $status in
	0) settle "$name" passed "$took" ;;
	77) settle "$name" skipped "$(tail -n 1 "$row")" ;;
	124 | 137) settle "$name" failed "stopped after $took" ;;
	*) settle "$name" failed "status $status after $took" ;;
	esac
}

# --- what a row shows ---------------------------------------------------------

# The end of the output, without colours and what only progress is
show_end()
{
	sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/.*\r//' "$row" |
		grep -vE '^ok |\[SKIP\].*Test is disabled|\[====\] Running' |
		tail -n 25 | sed 's/^/    /'
}

show_questions()
{
	echo '| question | assumed | seen | |'
	echo '|---|---|---|---|'
	grep '^| ' "$row"
	grep -v '^| ' "$row" | sed 's/^/    /'
	return 0
}

show_figures()
{
	grep '^{' "$row" >>"$out/bench.json"
	"$python" tests/gpu/bench_tables.py "$row" "$nvcc_version" 2>"$WORK/err" ||
		sed 's/^/    /' "$row"
}

# Note [If setting parameters waits], as it stands in the probe
show_note()
{
	printf '\n### If setting parameters waits\n\n'
	awk '/Note \[If setting parameters waits\]/ { on = 1; getline; next }
	/\*\// { on = 0 }
	on { sub(/^ \* ?/, ""); print }' tests/probe/params.c
}

# --- all rows -----------------------------------------------------------------

contract="the contract, the host as reference"

all_rows()
{
	row selftest 180 show_end "$contract" "$philox" selftest --device cuda
	# shellcheck disable=SC2086
	row words 120 show_end "functions of one word, for all words" \
		"$philox" selftest --only 'of words' $all_words --device cuda
	what="what philox assumes of CUDA"
	if [ -n "$simulated" ]; then
		needs_gpu probe "$what"
	elif [ ! -x "$BUILD/tests/gpu-probe" ]; then
		leave_out probe "$what" "it is not built: make gpu builds it"
	else
		row probe 300 show_questions "$what" "$BUILD/tests/gpu-probe"
	fi
	! is_wanted probe || show_note >>"$report"
	# shellcheck disable=SC2086
	row train 180 show_end "the training step, four ways" \
		"$philox" train --device cuda $few_steps
	# shellcheck disable=SC2086
	row loop 120 show_end "the micro-batches of a step as one WHILE node" \
		"$philox" train --loop --device cuda $few_steps
	# shellcheck disable=SC2086
	row weights 120 show_end "the training step, with weights in bf16" \
		"$philox" train --weights bf16 --device cuda $few_steps
	# shellcheck disable=SC2086
	row runner 120 show_end "the layers of a step as calls of functions" \
		"$philox" train --runner --device cuda $few_steps
	cublas
	pytorch
	row matrix 120 show_end "all sequences of events" \
		"$philox" matrix --device cuda --regions 1 --length $length
	row schedules 120 show_end "every schedule" \
		"$philox" matrix --device cuda --schedule all
	sanitize memcheck 360 "$contract" selftest
	# The other three do not follow the bodies of conditional nodes: with
	# version 2025.3 synccheck finds fault with any barrier in one, initcheck
	# with what a body has copied, and racecheck ends the process
	for tool in racecheck initcheck synccheck; do
		sanitize $tool 180 "the layers of a step as calls of functions" \
			train --runner --steps 3
	done
	bench fill 480
	if [ -n "$simulated" ]; then
		needs_gpu bench-replay "what a replay costs"
	else
		bench replay 90
	fi
	bench rows 120
	bench quantize 60
	bench states 90
	bench values 60
	bench loops 60
	bench pool 120
	bench runner 120
	criterion
}

# With the simulated GPU: its own cuBLAS, and short sums
cublas()
{
	what="cuBLAS, in a workspace of a runner's, recorded and replayed"
	program=$BUILD/tests/gpu-cublas
	[ -z "$simulated" ] || program=${philox%/*}/gpu-cublas
	if [ ! -x "$program" ]; then
		leave_out cublas "$what" "it is not built: make gpu builds it"
	else
		# shellcheck disable=SC2086
		row cublas 120 show_end "$what" "$program" ${simulated:+16}
	fi
}

pytorch()
{
	what="philox.torch: its numbers are the CPU's, also in captured graphs"
	if [ -n "$simulated" ]; then
		needs_gpu python "$what"
	elif ! "$python" -c 'import torch' 2>"$WORK/err"; then
		leave_out python "$what" "$python has no torch"
	else
		row python 300 show_end "$what" sh -c "make -s -j$(nproc) \
			PYTHON='$python' python && PYTHONPATH='$BUILD/python' \
			exec '$python' bindings/python/tests/gpu/test_gpu.py"
	fi
}

# sanitize TOOL LIMIT WHAT COMMAND OPTION...: of philox
sanitize()
{
	tool=$1
	limit=$2
	what="$3, under compute-sanitizer's $tool"
	shift 3
	if [ -n "$simulated" ]; then
		needs_gpu "$tool" "$what"
	elif [ -z "$sanitizer" ]; then
		leave_out "$tool" "$what" "compute-sanitizer is not here"
	else
		# Some checks call CUDA wrongly on purpose
		row "$tool" "$limit" show_end "$what" "$sanitizer" \
			--tool "$tool" --report-api-errors no \
			--error-exitcode 9 "$philox" "$@" --device cuda
	fi
}

# shellcheck disable=SC2086
bench()
{
	row "bench-$1" "$2" show_figures "philox bench, part $1" \
		"$philox" bench --device cuda --only "$1$(few_of "$1")" $quick \
		--json
}

# With the simulated GPU: rows that take seconds
few_of()
{
	[ -n "$simulated" ] || return
	case $1 in
	fill) echo /uniform/bf16 ;;
	rows) echo /draw ;;
	esac
}

criterion()
{
	what="the Criterion suites"
	tests=$BUILD/tests/philox-tests
	if ! echo '#include <criterion/criterion.h>' |
		$CC -E -x c - >"$WORK/out" 2>"$WORK/err"; then
		leave_out criterion "$what" \
			"Criterion (libcriterion-dev) is not here"
	elif [ -n "$simulated" ]; then
		row criterion 120 show_end "$what" "${philox%/*}/philox-tests" \
			--verbose --timeout 60 --filter 'context_cuda/*'
	else
		row criterion 600 show_end "$what" sh -c "make -s -j$(nproc) '$tests' &&
			exec '$tests' --verbose --timeout 300"
	fi
}

# --- the run ------------------------------------------------------------------

case ${LIMIT:-1}$minutes in
*[!0-9]*)
	echo "tests/gpu.sh: LIMIT (seconds) and MINUTES are whole numbers" >&2
	exit 2
	;;
esac
if ! "$philox" info >"$WORK/info"; then
	echo "tests/gpu.sh: there is no tool $philox: run make" >&2
	exit 1
fi
if ! grep -q '^cuda:0 ' "$WORK/info"; then
	echo "tests/gpu.sh: there is no GPU here; $philox info says:" >&2
	grep -i '^cuda' "$WORK/info" >&2
	exit 77
fi
simulated=$(sed -n 's/^cuda:0 *\(simulated GPU\).*/\1/p' "$WORK/info")
few_steps=
all_words=--all-words
length=2
quick=
if [ -n "$simulated" ]; then
	few_steps='--steps 4'
	all_words=
	length=1
	quick=--quick
fi
mkdir -p "$out" || exit 1
nvcc_version=$("$CUDA_HOME/bin/nvcc" --version 2>"$WORK/err" |
	sed -n 's/.*, V\([0-9.]*\)$/\1/p')
find_sanitizer
show_curand
export PHILOX_PEERS="${PHILOX_PEERS:-$BUILD/peers}"

{
	[ ! -s "$report" ] || echo
	echo "# philox on a ${simulated:-GPU}"
	echo
	echo "A section without an outcome was cut off."
	[ -z "$simulated" ] || echo "Times are no measurements here."
	echo
	echo "| what | here |"
	echo "|---|---|"
	machine
} >>"$report"
all_rows
if [ ! -s "$WORK/all" ]; then
	echo "FAILED  ROWS: no row fits $ROWS"
	failed=$((failed + 1))
else
	{
		printf '\n## All rows\n\n| what | command | outcome |\n|---|---|---|\n'
		cat "$WORK/all"
	} >>"$report"
fi
rm -f "$row"
echo "the report is $report"
finish
