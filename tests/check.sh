#!/bin/sh
# tests/check.sh - everything there is to check about a build, and one total
#
# The parts are the Criterion tests, the stress programs and the scripts beside
# this one. A part that ran nothing has failed, and so has one in whose output a
# sanitizer speaks, whatever its exit status: test frameworks swallow it. What
# is built with a sanitizer is not installed: of the scripts only those that use
# the tool are run then, and under the thread sanitizer, where Criterion does not
# work, nothing but the stress programs.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1

parts=0
broken=

# part NAME COMMAND...: runs it and adds its counts to the total
part()
{
	name=$1
	shift
	parts=$((parts + 1))
	echo "== $name"
	{
		"$@" 2>&1
		echo $? >"$WORK/status"
	} | tee "$WORK/log"
	status=$(cat "$WORK/status")
	p=0
	f=0
	s=0
	counts "$WORK/log"
	# A status that comes of a leak is judged by what leaked, below
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ] &&
		! grep -q 'ERROR: LeakSanitizer' "$WORK/log"; then
		echo "$name: exit status $status"
		f=1
	fi
	if has_findings "$WORK/log"; then
		echo "$name: a sanitizer found something"
		f=$((f + 1))
	fi
	if [ $((p + f)) -eq 0 ]; then
		echo "$name: nothing was tested"
		f=1
	fi
	[ "$f" -eq 0 ] || broken="$broken $name"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
}

# counts FILE: sets p, f and s from the last line that tells them
counts()
{
	sed 's/\x1b\[[0-9;]*m//g' "$1" >"$WORK/plain"
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed|Synthesis: Tested:' \
		"$WORK/plain" | tail -n 1)
	# shellcheck disable=SC2046
	set -- $(echo "$line" | tr -cs 0-9 ' ')
	case $line in
	*Synthesis*)
		p=$2
		f=$(($1 - $2))
		s=$(grep -c '^\[SKIP\]' "$WORK/plain")
		;;
	*passed*)
		p=$1
		f=$2
		s=${3:-0}
		;;
	esac
}

# has_findings FILE: does a sanitizer speak in it? Leaks are told in paragraphs;
# one whose stack has no frame but Criterion's own (it leaks the message of a
# skipped test) is none of ours.
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

# A stress program that does not count is one test: it ends, with status 0
stress()
{
	timeout 600 "$1" >"$WORK/stress" 2>&1
	ended=$?
	cat "$WORK/stress"
	[ $ended -eq 0 ] || return $ended
	tail -n 1 "$WORK/stress" | grep -qE '^[0-9]+ passed' ||
		echo "1 passed, 0 failed"
}

# Only --verbose tells of skipped tests
tests()
{
	timeout 1800 "$BUILD/tests/philox-tests" --verbose --timeout 300
}

case ${SANITIZE-} in
*thread*)
	;;
*)
	part tests tests
	;;
esac
# without_cuda NAME: says so if the part cannot be, for it is CUDA's
without_cuda()
{
	case $CUDA:$1 in
	0:*cuda* | 0:*simulated*) skip "$1" "a build without CUDA" ;;
	*) return 1 ;;
	esac
}

for source in tests/stress/*.c; do
	program=stress/$(basename "$source" .c)
	without_cuda "$program" && continue
	part "$program" stress "$BUILD/tests/$program"
done
case ${SANITIZE-} in
*thread*)
	scripts=
	;;
?*)
	scripts=$(grep -l 'BUILD/philox' tests/scripts/*.sh)
	;;
*)
	scripts=$(echo tests/scripts/*.sh)
	;;
esac
for script in $scripts; do
	name=${script#tests/}
	without_cuda "$name" && continue
	part "$name" "$script"
done

echo "== $parts parts${broken:+; failed:$broken}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
