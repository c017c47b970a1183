#!/bin/bash
# tests/check.sh - everything there is to check about a build, and one total
#
# The parts are the Criterion tests, the stress programs, the counts of steps
# and the scripts in tests/scripts. As many run at a time as there are
# processors; the output of each is shown in one piece. PARTS chooses some of
# them by patterns, as in
#
#   make check PARTS='tests stress/* scripts/tool/*'
#
# A part that ran nothing has failed, and so has one with a sanitizer's report
# in its output, whatever its exit status: test frameworks swallow it.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1
set -f -m # patterns are not files; each part is a process group, to be ended

trap 'kill_parts; rm -rf "$WORK"' EXIT

kill_parts()
{
	for process in $(jobs -p); do
		kill -- "-$process" 2>"$WORK/said"
	done
}

# --- which parts --------------------------------------------------------------

# The longest ones start first, so that no processor is idle at the end
long='scripts/bugs.sh tests scripts/devices/simulated.sh scripts/devices/gpu.sh
	scripts/devices/ranks.sh scripts/devices/simd.sh scripts/devices/numbers.sh'

# Every part except the long ones
# shellcheck disable=SC2086 # names have no blanks
short_parts()
{
	find tests/stress tests/growth tests/scripts -name '*.c' -o -name '*.sh' |
		sed 's|^tests/||; s|\.c$||' | LC_ALL=C sort -r |
		grep -vxF "$(printf '%s\n' $long)"
}

# The parts that can find something in this build, unless PARTS names some
# shellcheck disable=SC2046,SC2086
default_parts()
{
	case ${SANITIZE-} in
	*thread*)
		# Criterion does not work with it; scripts use few threads
		echo 'stress/*'
		;;
	?*)
		# The scripts that try files and command lines of all kinds on
		# the tool. The others measure, compile or install: nothing to
		# sanitize
		echo 'tests stress/* scripts/tool/diff.sh scripts/tool/draw.sh' \
			'scripts/tool/pool.sh scripts/tool/resume.sh' \
			'scripts/tool/runner.sh scripts/tool/tool.sh' \
			'scripts/tool/trace.sh'
		;;
	*)
		# Deliberate bugs, random inputs and counts of steps take
		# minutes and run in .ci/run only
		printf '%s\n' $long $(short_parts) | grep -vxF \
			-e scripts/bugs.sh -e scripts/fuzz.sh -e growth/steps \
			-e growth/texts
		;;
	esac
}

is_wanted()
{
	for pattern in ${PARTS:-$(default_parts)}; do
		# shellcheck disable=SC2254
		case $1 in
		$pattern) return 0 ;;
		esac
	done
	return 1
}

# Parts that are about CUDA only are skipped in a build without it
is_left_out()
{
	case $CUDA:$1 in
	0:*cuda* | 0:*simulated*) return 0 ;;
	esac
	return 1
}

# --- one part -----------------------------------------------------------------

# Only --verbose reports skipped tests
tests()
{
	timeout --foreground 1800 "$BUILD/tests/philox-tests" --verbose --timeout 300
}

# A stress program that does not count its tests is one: it ends with status 0
stress()
{
	timeout --foreground 600 "$1" >"$2" 2>&1
	ended=$?
	cat "$2"
	[ $ended -eq 0 ] || return $ended
	tail -n 1 "$2" | grep -qE '^[0-9]+ passed' || echo "1 passed, 0 failed"
}

# counts FILE: sets p, f and s from the last line that has them
counts()
{
	p=0 f=0 s=0
	sed 's/\x1b\[[0-9;]*m//g' "$1" >"$1.plain"
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed|Synthesis: Tested:' \
		"$1.plain" | tail -n 1)
	case $line in
	*Synthesis*)
		read -r f p _ < <(echo "$line" | tr -cs 0-9 ' ')
		f=$((f - p))
		s=$(grep -c '^\[SKIP\]' "$1.plain")
		;;
	*passed*)
		read -r p f s < <(echo "$line" | tr -cs 0-9 ' ')
		;;
	esac
}

# has_findings FILE: does it hold a sanitizer's report? Leaks are paragraphs;
# one whose stack has only Criterion's own frames (it leaks the message of a
# skipped test) is not ours.
has_findings()
{
	grep -qE 'ERROR: (Address|Thread)|WARNING: Thread|runtime error:' "$1" ||
		awk 'BEGIN { RS = ""; FS = "\n" }
		/ leak of [0-9]+ byte/ {
			for (i = 1; i <= NF; i++)
				if ($i ~ /#[1-9]/ && $i !~ /libcriterion/)
					found = 1
		}
		END { exit !found }' "$1"
}

# run_part NUMBER NAME: its output and its counts, in $WORK/NUMBER...
run_part()
{
	log=$WORK/$1
	name=$2
	begun=$SECONDS
	case $name in
	tests) tests ;;
	stress/* | growth/*) stress "$BUILD/tests/$name" "$log.stress" ;;
	*) timeout --foreground 2700 "tests/$name" ;;
	esac >"$log" 2>&1 </dev/null
	status=$?
	counts "$log"
	# A status that comes from a leak is judged by what leaked, below
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ] &&
		! grep -q 'ERROR: LeakSanitizer' "$log"; then
		echo "$name: exit status $status" >>"$log"
		f=1
	fi
	if has_findings "$log"; then
		echo "$name: a sanitizer found something" >>"$log"
		f=$((f + 1))
	fi
	if [ $((p + f)) -eq 0 ]; then
		echo "$name: nothing was tested" >>"$log"
		f=1
	fi
	echo "$p $f ${s:-0} $((SECONDS - begun))" >"$log.all"
	mv "$log.all" "$log.counts"
}

# --- all of them --------------------------------------------------------------

names=()
shown=0
broken=
times=

# show_part: the next one, when it is done
show_part()
{
	name=${names[shown]}
	echo "== $name"
	cat "$WORK/$shown"
	read -r p f s seconds <"$WORK/$shown.counts" || f=1
	shown=$((shown + 1))
	[ "$f" -eq 0 ] || broken="$broken $name"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	times="$times${times:+, }$name $seconds s"
}

show_those_done()
{
	while [ -e "$WORK/$shown.counts" ]; do
		show_part
	done
}

# A pattern that fits no part would be a check that is left out unseen
for pattern in ${PARTS-}; do
	fits=
	for part in $long $(short_parts); do
		# shellcheck disable=SC2254
		case $part in
		$pattern) fits=yes ;;
		esac
	done
	if [ -z "$fits" ]; then
		echo "FAILED  PARTS: no part fits $pattern"
		failed=$((failed + 1))
	fi
done
for part in $long $(short_parts); do
	is_wanted "$part" || continue
	if is_left_out "$part"; then
		skip "$part" "a build without CUDA"
		continue
	fi
	while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do
		sleep 0.2
		show_those_done
	done
	run_part "${#names[@]}" "$part" &
	names+=("$part")
done
wait
while [ "$shown" -lt "${#names[@]}" ]; do
	show_part
done

echo "parts: $times"
[ -z "$broken" ] || echo "failed:$broken"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
