#!/bin/sh
# The philox command: its output and its exit statuses.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=$BUILD/philox

# gives STATUS STDOUT STDERR ARGUMENT...: the exit status, and an extended
# regular expression that each of the two streams matches, or which is empty
# like the stream
gives()
{
	status=$1
	out=$2
	err=$3
	shift 3
	"$philox" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	got=$?
	echo "exit status $got, standard output and error:"
	head -n 40 "$WORK/out" "$WORK/err"
	[ $got -eq "$status" ] && matches "$out" "$WORK/out" &&
		matches "$err" "$WORK/err" && sane
}

# A sanitizer may report and still leave the expected exit status
sane()
{
	! grep -qE 'Sanitizer|runtime error:' "$WORK/err"
}

matches()
{
	if [ -n "$1" ]; then
		grep -qE -e "$1" "$2"
	else
		[ ! -s "$2" ]
	fi
}

# refuses TEXT ARGUMENT...: fails, with TEXT in the first line of the message
refuses()
{
	text=$1
	shift
	"$philox" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	got=$?
	echo "exit status $got, standard error:"
	cat "$WORK/err"
	{ [ $got -eq 1 ] || [ $got -eq 2 ]; } && sane &&
		head -n 1 "$WORK/err" | grep -qF -e "$text"
}

# helps_in_form COMMAND: usage, options, --help itself, exit codes, no long line
helps_in_form()
{
	"$philox" "$1" --help >"$WORK/out" || return 1
	cat "$WORK/out"
	head -n 1 "$WORK/out" | grep -q "^usage: philox $1 \[OPTION\]\.\.\." &&
		grep -qE '^  --help +show this and end$' "$WORK/out" &&
		grep -q '^Exit status: 0 ' "$WORK/out" &&
		! grep -qE '^.{81}| $' "$WORK/out"
}

# fitting COMMAND: the arguments it takes
fitting()
{
	case $1 in
	diff | merge) echo a b ;;
	explain | inspect | train) echo a ;;
	esac
}

# The table of bench: peers are named, no line ends in a blank
bench_table()
{
	"$philox" bench --only "$1" >"$WORK/out" || return 1
	cat "$WORK/out"
	grep -qE "$2" "$WORK/out" && ! grep -q ' $' "$WORK/out"
}

ends_quietly()
{
	"$philox" draw --count 0 --format raw 2>"$WORK/err" | head -c 4096 |
		wc -c >"$WORK/out"
	cat "$WORK/out" "$WORK/err"
	[ "$(cat "$WORK/out")" -eq 4096 ] && [ ! -s "$WORK/err" ]
}

fails_when_full()
{
	! "$philox" info >/dev/full
}

is_json()
{
	"$philox" "$@" | tail -n 1 >"$WORK/out"
	cat "$WORK/out"
	python3 -c 'import json, sys; assert type(json.load(sys.stdin)) is dict' \
		<"$WORK/out"
}

# PHILOX_RUNNER=eager: every call is one
never_replays()
{
	if PHILOX_RUNNER=eager "$philox" matrix --runner --length 1 \
		--regions 1 >"$WORK/out" 2>&1; then
		return 1
	fi
	grep -qx 'philox matrix: --runner: none of the calls was a replay' \
		"$WORK/out"
}

# The sum of a search: it searched, and everything was right
matrix_json()
{
	"$philox" matrix --length 2 --regions 1 --json >"$WORK/all" || return 1
	tail -n 1 "$WORK/all" >"$WORK/out"
	cat "$WORK/out"
	if command -v python3 >"$WORK/which"; then
		python3 -c 'import json, sys
total = json.load(sys.stdin)
assert all(total[name] > 0 for name in ("sequences", "events", "comparisons"))
assert total["mismatches"] == 0' <"$WORK/out"
	else
		for name in sequences events comparisons; do
			grep -qE "^\\{.*\"$name\": ?[1-9][0-9]*[,}]" \
				"$WORK/out" || return 1
		done
		grep -qE '"mismatches": ?0[,}]' "$WORK/out"
	fi
}

version=$(sed -n 's/^#define PHILOX_VERSION_[A-Z]* //p' \
	include/philox/status.h | tr '\n' . | sed 's/\.$//; s/\./\\./g')

check "no command is a usage error" gives 2 '' '^usage: philox'
check "--help helps" gives 0 '^usage: philox' '' --help
check "help helps" gives 0 '^usage: philox' '' help
check "--version prints the header's" gives 0 "^philox $version\$" '' --version
check "an unknown command is named" gives 2 '' "'nonsense'" nonsense
check "an unknown option is named" gives 2 '' "'--nonsense'" --nonsense
check "help on an unknown command is refused" gives 2 '' "'none'" help none

commands=$("$philox" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
for command in $commands; do
	check "$command --help helps" \
		gives 0 "philox $command" '' "$command" --help
	check "help $command says the same" \
		gives 0 "philox $command" '' help "$command"
	check "$command --help has the common form" \
		helps_in_form "$command"
	check "$command names an unknown option" gives 2 '' \
		"^philox $command: unknown option '--nonsense'\$" \
		"$command" --nonsense
	check "$command names an argument too many" gives 2 '' \
		"^philox $command: unexpected argument 'c'\$" \
		"$command" $(fitting "$command") c
done
check "the commands are there" test "$(echo "$commands" | wc -w)" -ge 4

check "the four runs of train agree" gives 0 'agree +yes' . train --steps 3
check "train --naive shows the harm and is no failure" \
	gives 0 . . train --naive --steps 3
check "info prints the version" gives 0 "$version" '' info
check "info describes the host device" gives 0 '^host +[^ ]' '' info
check "info says once which device is missing" \
	sh -c "! '$philox' info | grep -E 'cuda.*not available: cuda:'"
check "a full disk is noticed" fails_when_full
if command -v python3 >"$WORK/which"; then
	check "info --json is a JSON object" is_json info --json
	check "train --json ends with a JSON object" \
		is_json train --steps 2 --json
else
	skip "info --json is a JSON object" "no python3"
	skip "train --json ends with a JSON object" "no python3"
fi

# Random123's known answer for a key and a counter of zeros
check "draw gives the known answer" \
	gives 0 '^6627e8d5$' '' draw --seed 0 --count 1
check "draw ends quietly when its reader has gone" ends_quietly
check "draw names an unknown device" \
	refuses nowhere draw --device nowhere --count 1
for name in '' host: host:foo cuda: cuda:-1 cuda:1x cuda:99999999999999999999; do
	check "draw names the device '$name' that cannot be" \
		gives 2 '' "^philox draw: unknown device \"$name\"" \
		draw --device "$name" --count 1
done
check "draw refuses p = nan" \
	refuses nan draw --dist bernoulli --p nan --count 1
check "draw refuses an unknown distribution" \
	refuses triangular draw --dist triangular --count 1

check "bench measures schedules" \
	bench_table schedules '^replay, 1f1b, 4 pending +3\.0 calls$'
check "bench --json has a row for each" \
	is_json bench --only schedules --json
parts='ledger, replay, fill, states, values, loops, rows, quantize, pool, runner, ranks, schedules, growth'
check "bench names its parts" gives 2 '' \
	"^philox bench: --only 'x': must be one of $parts\$" \
	bench --only x
check "bench has no part called all" gives 2 '' \
	"--only 'all': must be one of $parts" \
	bench --only all
check "matrix replays a run event by event" gives 0 \
	'^[1-9][0-9]* comparisons, all as expected$' '' \
	matrix --replay 'F0 F1 B1r B0'
check "matrix replays graphs with branches and loops" gives 0 \
	'^[1-9][0-9]* comparisons, all as expected$' '' \
	matrix --replay 'H[3(F)]2=0 H[3(F)3(B~)]23 B0'
check "matrix replays passes as functions of a runner" gives 0 \
	'^[1-9][0-9]* comparisons, all as expected$' '' \
	matrix --replay 'F0c F1p B0f D1.1pr F2cq B2f B1e'
check "matrix --runner counts the calls that were replays" gives 0 \
	'^[1-9][0-9]* calls of functions of a runner, [1-9][0-9]* of them' '' \
	matrix --runner --length 1 --regions 1
check "matrix --runner fails if no call is a replay" never_replays
check "matrix --runner is a search of its own" gives 2 '' \
	'^philox matrix: --runner: not together with --bodies$' \
	matrix --runner --bodies
check "matrix --json ends with what was compared" matrix_json
check "matrix runs a schedule" gives 0 \
	'^1f1b +4 +8 +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +0 ' '' \
	matrix --schedule 1f1b --stages 4 --microbatches 8
check "matrix refuses no forwards" gives 2 '' \
	"^philox matrix: --forwards '0': must be a whole number from 1 to 8\$" \
	matrix --forwards 0
check "matrix gives the range of a number" gives 2 '' \
	"^philox matrix: --ops '9': must be a whole number from 1 to 8\$" \
	matrix --ops 9
check "matrix names its schedules" gives 2 '' \
	"^philox matrix: --schedule 'nope': must be one of all, accumulation" \
	matrix --schedule nope

# mode|option VALUE|message: options that have no meaning in a mode
while IFS='|' read -r mode option text; do
	# shellcheck disable=SC2086
	check "matrix $mode has no ${option%% *}" gives 2 '' \
		"^philox matrix: $text\$" matrix $mode $option
done <<'END'
|--stages 4|--stages '4': needs --schedule
|--microbatches 8|--microbatches '8': needs --schedule
|--pending 0x8|--pending '0x8': needs --replay
--replay F0|--forwards 2|--forwards '2': not together with --replay
--replay F0|--length 2|--length '2': not together with --replay
--replay F0|--long|--long: not together with --replay
--replay F0|--bodies|--bodies: not together with --replay
--replay F0|--runner|--runner: not together with --replay
--replay F0|--stages 2|--stages '2': not together with --replay
--replay F0|--microbatches 2|--microbatches '2': not together with --replay
--schedule 1f1b|--replay F0|--replay 'F0': not together with --schedule
--schedule 1f1b|--forwards 2|--forwards '2': not together with --schedule
--schedule 1f1b|--length 2|--length '2': not together with --schedule
--schedule 1f1b|--regions 1|--regions '1': not together with --schedule
--schedule 1f1b|--shared 1|--shared '1': not together with --schedule
--schedule 1f1b|--generators 2|--generators '2': not together with --schedule
--schedule 1f1b|--pending 4|--pending '4': not together with --schedule
--schedule 1f1b|--long|--long: not together with --schedule
--schedule 1f1b|--bodies|--bodies: not together with --schedule
--schedule 1f1b|--runner|--runner: not together with --schedule
END
check "matrix takes the options of a run" gives 0 \
	'all as expected$' '' \
	matrix --replay 'F0 B0' --regions 1 --pending 1 --ops 3

# lines_for DEVICE: how many checks of a selftest were on it
lines_for()
{
	grep -cE "^(ok|skip) *$1 " "$WORK/out"
}

# tests_some TEXT: those checks alone, on each host device
tests_some()
{
	tests_all --only "$1" &&
		! grep -E '^(ok|skip) *host' "$WORK/out" | grep -vF "$1"
}

# tests_all OPTION...: as many lines for each host device, where some are
# skipped
tests_all()
{
	gives 0 '^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped$' '' \
		selftest "$@" || return 1
	queued=$(lines_for host)
	[ "$queued" -gt 1 ] && [ "$queued" -eq "$(lines_for host:sync)" ] &&
		[ "$queued" -eq "$(lines_for host:strict)" ]
}

# All checks on each device are among the tests; here are some
check "selftest passes on each device that is named" tests_all --only capture \
	--device host --device host:sync --device host:strict
check "selftest tests every host device by itself" tests_all --only capture
check "selftest tests the checks that are asked for" tests_some stream
check "selftest refuses a check that there is none of" \
	refuses "--only 'no such check'" selftest --only 'no such check'
check "selftest tests nothing if one of them is unknown" \
	refuses nowhere selftest --device host --device nowhere
check "selftest names an unknown device" \
	refuses nowhere selftest --device nowhere

: >"$WORK/empty"
head -c 4096 /dev/zero >"$WORK/binary"
check "train refuses no steps" refuses steps train --steps 0
check "train names a missing file" \
	refuses "$WORK/none" train "$WORK/none"
check "train names an empty file" refuses "$WORK/empty" train "$WORK/empty"
check "train names a binary file" refuses "$WORK/binary" train "$WORK/binary"
check "train names an unknown device" \
	refuses nowhere train --device nowhere

# one run of them, and not together with what chooses runs by itself
check "train runs one of the four alone" \
	gives 0 '^captured +[0-9a-f]{16} ' . train --steps 2 --only captured
check "and no other" sh -c "! grep -E '^(eager|recomputed|out of order) ' \
	'$WORK/out'"
check "train names its runs" gives 2 '' \
	"^philox train: --only 'x': must be one of eager, captured, recomputed, out-of-order, looped, runner\$" \
	train --only x
check "train --naive has no --only" gives 2 '' \
	"^philox train: --only 'eager': not together with --naive\$" \
	train --only eager --naive
check "nor has --save-at" gives 2 '' \
	"^philox train: --only 'eager': not together with --save-at\$" \
	train --only eager --save-at 1 --save "$WORK/saved"
check "nor --resume" gives 2 '' \
	"^philox train: --only 'eager': not together with --resume\$" \
	train --only eager --resume "$WORK/saved"
finish
