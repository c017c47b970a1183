#!/bin/sh
# philox train: its four runs agree, on both host devices, with any number of
# operators, and so does a fifth whose micro-batches are a loop of the graph; the
# harm without philox is shown; bad input is named.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
. tests/support/training.sh

# The loss and parameter checksums of the runs, one run per line
checksums()
{
	grep -E '^(eager|captured|recomputed|out of order|looped) +[0-9a-f]{16}  ' \
		"$WORK/out" | grep -oE '[0-9a-f]{16}  [0-9a-f]{16}'
}

runs_agree()
{
	train "$text" --steps 12 --device "$1" || return 1
	[ "$(checksums | wc -l)" -eq 4 ] &&
		[ "$(checksums | sort -u | wc -l)" -eq 1 ] &&
		grep -qE '^runs agree +yes' "$WORK/out"
}

# loops_on DEVICE ARGUMENT...: a loop in the graph gives the bits of the others,
# which are what they are without it
loops_on()
{
	device=$1
	shift
	train "$text" --steps 4 --device "$device" "$@" || return 1
	! grep -q 'loop' "$WORK/out" || return 1
	first=$(checksums)
	train "$text" --steps 4 --device "$device" "$@" --loop || return 1
	[ -n "$first" ] && [ "$(checksums | head -n 4)" = "$first" ] &&
		[ "$(checksums | wc -l)" -eq 5 ] &&
		[ "$(checksums | sort -u | wc -l)" -eq 1 ] &&
		grep -qE '^looped +[0-9a-f]{16} ' "$WORK/out" &&
		grep -qE '^runs agree +yes' "$WORK/out"
}

# A step is one launch of a graph with one head, however many micro-batches
loop_costs()
{
	train "$text" --steps 3 --loop --ops 4 || return 1
	grep -qE "^  looped +2 per graph outside of its loop \\(1 graph, up to 8 passes\\)$three_calls" \
		"$WORK/out"
}

# The looped run alone, with --loop and without
loops_alone()
{
	train "$text" --steps 3 --loop || return 1
	first=$(checksums | tail -n 1)
	for loop in '' --loop; do
		# shellcheck disable=SC2086 # none, or one
		train "$text" --steps 3 --only looped $loop || return 1
		[ -n "$first" ] && [ "$(checksums)" = "$first" ] &&
			[ "$(grep -c '^looped ' "$WORK/out")" -eq 1 ] ||
			return 1
	done
}

# same_on DEVICE DEVICE: two devices give the same bits
same_on()
{
	train "$text" --steps 12 --device "$1" || return 1
	first=$(checksums)
	train "$text" --steps 12 --device "$2" || return 1
	[ -n "$first" ] && [ "$(checksums)" = "$first" ]
}

# pooled KIND DEVICE: arrays from a pool, in less memory, give the same bits
pooled()
{
	train "$text" --steps 4 --ops 3 || return 1
	first=$(checksums)
	train "$text" --steps 4 --ops 3 --pool "$1" --device "$2" || return 1
	[ -n "$first" ] && [ "$(checksums)" = "$first" ] &&
		grep -qE '^runs agree +yes' "$WORK/out" &&
		smaller_pools "$1" && ! grep -q 'pool' "$WORK/err"
}

# A line for each run, and each mapped less than the arrays without
smaller_pools()
{
	awk -v kind="$1" '
		$2 == "pool," && $1 == kind { without = $4 }
		/ mapped in .* live at most$/ {
			for (i = 1; $i != "kB"; i++)
				;
			if ($(i - 1) + 0 > 0 && $(i - 1) + 0 < without)
				runs++
		}
		END { exit runs != 4 }' "$WORK/out"
}

# The launches of graphs that share a pool make one call more
pool_costs_a_call()
{
	train "$text" --steps 3 --pool "$1" || return 1
	[ "$(grep -cE "$one_node.*; 4 calls per replay \\(.*, event 1\\)\$" \
		"$WORK/out")" -eq 3 ]
}

# The checksums mean something: another seed or another p gives others
other_with()
{
	train "$text" --steps 3 || return 1
	first=$(checksums)
	train "$text" --steps 3 "$@" || return 1
	[ -n "$first" ] && [ "$(checksums | head -n 1)" != \
		"$(echo "$first" | head -n 1)" ]
}

# graphs_cost ARGUMENT...: one node per graph, three calls per replay
graphs_cost()
{
	train "$text" --steps 3 "$@" || return 1
	grep -qE '^runs agree +yes' "$WORK/out" &&
		[ "$(grep -cE "$one_node.*$three_calls" "$WORK/out")" -eq 3 ]
}
one_node='^  (captured|recomputed|out of order) +1 per graph \('
calls='launch 1, parameter update 1, capture query 1'
three_calls="; 3 calls per replay \\($calls\\)"

default_run_learns()
{
	train || return 1
	grep -qE '^learned +yes' "$WORK/out" &&
		grep -qE '^runs agree +yes' "$WORK/out"
}

naive_repeats()
{
	train "$text" --naive --steps 5 --device "$1" || return 1
	grep -q 'eager: 5 of 5 steps drew numbers of their own; naive: 1$' \
		"$WORK/out" &&
		grep -q 'repeat at every replay' "$WORK/out" &&
		grep -q "NO: the losses of 'naive'.*from step 2 on" "$WORK/out"
}

last_line_is_json()
{
	train "$text" --steps 3 --json "$@" || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
runs = figures["runs"]
assert figures["agree"] is True or figures["naive"] is True
assert figures["version"] and figures["device_description"]
assert figures["loss_steps"] == [1, 2, 3] and len(figures["losses"]) == 3
assert len(runs) == (2 if figures["naive"] else 4)
assert all(len(run["loss_checksum"]) == 16 for run in runs)
assert all(run["device_calls_per_replay"]["all"] == 3 for run in runs[1:]
	if "graphs" in run)'
}

loop_in_json()
{
	train "$text" --steps 3 --json || return 1
	! grep -q '"loop' "$WORK/out" || return 1
	train "$text" --steps 3 --json --loop --ops 2 || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["loop"] is True and figures["agree"] is True
names = [run["name"] for run in figures["runs"]]
assert names == ["eager", "captured", "recomputed", "out of order", "looped"]
looped = figures["runs"][4]
assert looped["graphs"] == 1 and looped["passes_most"] == 8
assert looped["replays"] == 3 and looped["extra_paired"] is True
assert looped["device_calls_per_replay"]["all"] == 3
assert len({run["parameter_checksum"] for run in figures["runs"]}) == 1'
}

pool_in_json()
{
	last_line_is_json && ! grep -q '"pool"' "$WORK/out" || return 1
	train "$text" --steps 3 --json --pool expandable || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["pool"] == "expandable" and figures["agree"] is True
for run in figures["runs"]:
    pool = run["pool"]
    assert 0 < pool["live_peak"] <= pool["mapped_peak"], pool
    assert pool["mapped_peak"] < figures["bytes_without_pool"], pool
    if "graphs" in run:
        assert run["device_calls_per_replay"]["all"] == 4
        assert run["device_calls_per_replay"]["event_record"] == 1'
}

no_lines_drawn_over()
{
	train "$text" --steps 10 || return 1
	! grep -q "$(printf '\r')" "$WORK/err" &&
		[ "$(grep -c '^captured *step' "$WORK/err")" -eq 4 ]
}

# One column for each step, however few there are
losses_have_steps()
{
	train "$text" --steps 3 || return 1
	grep -qE '^step +1 +2 +3$' "$WORK/out" &&
		grep -qE '^loss, in nats( +[0-9.]+){3}$' "$WORK/out"
}

# Extra operators are not mentioned where there are none
extra_only_if_any()
{
	train "$text" --steps 2 --json || return 1
	! grep -q 'extra' "$WORK/out" || return 1
	train "$text" --steps 2 --json --ops 1 || return 1
	grep -q '^extra operators ' "$WORK/out" &&
		grep -q '"extra_checksum"' "$WORK/out"
}

memorisation_is_named()
{
	train "$text" --naive --steps 5 || return 1
	grep -q 'memorisation' "$WORK/out" &&
		grep -q 'a low loss is no success' "$WORK/out"
}

# In a folder without README.md
wants_a_file()
{
	tool=$(cd "$(dirname "$philox")" && pwd)/${philox##*/}
	(cd "$WORK" && "$tool" train >"$WORK/out" 2>"$WORK/err")
	[ $? -eq 2 ] && cat "$WORK/err" && sane &&
		grep -qF 'give a FILE (there is no README.md here)' "$WORK/err"
}

for device in host host:sync; do
	check "the four runs agree on $device" runs_agree $device
	check "without philox numbers repeat on $device" naive_repeats $device
done
check "host and host:sync give the same bits" same_on host host:sync
check "another seed is another run" other_with --seed 2
check "another dropout is another run" other_with --dropout 0.5
check "nothing may be dropped" train "$text" --steps 2 --dropout 0
check "everything may be dropped" train "$text" --steps 2 --dropout 1
check "a graph gains one node, a replay makes three calls" graphs_cost
check "the same with 100 operators more" graphs_cost --ops 100
check "the default run learns README.md" default_run_learns
for device in host host:sync host:strict; do
	check "a loop in the graph gives the same bits on $device" \
		loops_on $device
	check "and with operators outside of it on $device" \
		loops_on $device --ops 5
done
check "a loop in the graph costs what a graph costs" loop_costs
check "the looped run alone" loops_alone
for kind in plain expandable; do
	check "a loop in the graph and a pool: $kind" loops_on host --pool $kind
done
for kind in plain expandable; do
	for device in host host:sync; do
		check "a $kind pool changes no bit on $device" \
			pooled $kind $device
	done
	check "a $kind pool costs a call for each launch" \
		pool_costs_a_call $kind
done
check "plain lines where there is no terminal" no_lines_drawn_over
check "losses are below their steps" losses_have_steps
check "extra operators are reported if there are any" extra_only_if_any
check "without philox a low loss is called memorisation" memorisation_is_named
check "without README.md it asks for a file" wants_a_file
if command -v python3 >"$WORK/which"; then
	check "--json ends with an object" last_line_is_json
	check "--naive --json ends with an object" last_line_is_json --naive
	check "--json has the figures of a pool" pool_in_json
	check "--json has the looped run" loop_in_json
else
	skip "--json has the looped run" "no python3"
	skip "--json has the figures of a pool" "no python3"
	skip "--json ends with an object" "no python3"
fi

: >"$WORK/empty"
printf 'a text\0with a NUL' >"$WORK/binary"
printf 'a text.\n' >"$WORK/short"
printf 'aaaaaaaaaaaaaaaa' >"$WORK/monotonous"
for file in empty binary short monotonous none; do
	check "a bad file is named: $file" \
		refuses "$WORK/$file" "$WORK/$file"
done
check "a directory is named" refuses "$WORK" "$WORK"
check "a second file is named" refuses second "$text" second
check "no steps" refuses "--steps '0'" "$text" --steps 0
check "a negative number of steps" refuses "--steps '-1'" "$text" --steps -1
check "steps that are not a number" refuses "--steps '3x'" "$text" --steps 3x
check "a seed past 64 bits" refuses 18446744073709551616 \
	"$text" --seed 18446744073709551616
for p in nan -0.5 1.5 inf half ''; do
	check "dropout '$p'" refuses "--dropout '$p'" "$text" --dropout "$p"
done
check "too many operators" refuses "--ops '100001'" "$text" --ops 100001
check "a pool of an unknown kind" refuses \
	"--pool 'big': must be one of plain, expandable" "$text" --pool big
check "a pool without philox" refuses "--pool 'plain': not together with --naive" \
	"$text" --pool plain --naive
check "a loop without philox" refuses "--loop: not together with --naive" \
	"$text" --loop --naive
check "a loop and another run alone" refuses \
	"--only 'eager': not together with --loop" "$text" --loop --only eager
check "a loop that is to be saved" refuses "--loop: not together with --save-at" \
	"$text" --loop --save-at 1 --save "$WORK/never"
check "a loop and a file without a step" refuses \
	"--loop: not together with --save" "$text" --loop --save "$WORK/never"
check "a loop that is to go on" refuses "--loop: not together with --resume" \
	"$text" --loop --resume "$WORK/never"
check "a looped run without philox" refuses \
	"--only 'looped': not together with --naive" "$text" --only looped --naive
check "a number for a loop" refuses loop "$text" --loop=2
check "refused loops saved nothing" [ ! -e "$WORK/never" ]
check "an option without its value" refuses "--device: needs a value" \
	"$text" --device
check "an unknown option" \
	refuses "unknown option '--nonsense'" "$text" --nonsense
check "an unknown letter" refuses "'-q'" "$text" -q
check "an unknown device" refuses nowhere "$text" --device nowhere
check "the device is checked before the text" \
	refuses nowhere "$WORK/none" --device nowhere
finish
