#!/bin/sh
# philox train: its four runs agree, on both host devices, with any number of
# operators, and so do one whose micro-batches are a loop of the graph and one
# whose layers are calls of a runner's functions, and all of them with weights of
# bf16; the harm without philox is shown; bad input is named.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
. tests/support/training.sh

# The loss and parameter checksums of the runs, one run per line
checksums()
{
	grep -E '^(eager|captured|recomputed|out of order|looped|runner) +[0-9a-f]{16}  ' \
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

# functions_on DEVICE ARGUMENT...: calls of functions give the bits of the other
# runs, which are what they are without them, and most calls are replays
functions_on()
{
	device=$1
	shift
	train "$text" --steps 6 --device "$device" "$@" || return 1
	! grep -q 'runner' "$WORK/out" || return 1
	first=$(checksums)
	train "$text" --steps 6 --device "$device" "$@" --runner || return 1
	[ -n "$first" ] && [ "$(checksums | head -n 4)" = "$first" ] &&
		[ "$(checksums | wc -l)" -eq 5 ] &&
		[ "$(checksums | sort -u | wc -l)" -eq 1 ] &&
		grep -qE '^runner +[0-9a-f]{16} ' "$WORK/out" &&
		grep -qE '^runs agree +yes' "$WORK/out" &&
		! grep -q 'replayed' "$WORK/out" && most_are_replays &&
		! grep -v ' step [0-9]* of 6 ' "$WORK/err"
}

# counted FUNCTION: how its calls were executed, as four numbers
counted()
{
	sed -nE "s/^  $1 +([0-9]+) eager, ([0-9]+) warm-ups?, ([0-9]+) recordings?, ([0-9]+) replays?( .*)?\$/\1 \2 \3 \4/p" \
		"$WORK/out"
}

most_are_replays()
{
	counted all | awk '{ good = $1 == 0 && $4 > $2 + $3 }
		END { exit !(NR == 1 && good) }'
}

# Functions are shared by layers: those of all, forward and backward, a step's
# four micro-batches, and in every second step one more backward
functions_are_shared()
{
	train "$text" --steps 8 --only runner --ops 1 || return 1
	for function in 'extra 8' 'input 32' 'hidden layer 64' 'loss 32' \
		'layer backward 108' 'embedding backward 36' \
		'extra backward 8' 'update 32' 'finish 8' 'all 328'; do
		[ "$(counted "${function% *}" |
			awk '{ print $1 + $2 + $3 + $4 }')" = \
			"${function##* }" ] || return 1
	done
	[ "$(grep -c ' warm-ups\{0,1\}, ' "$WORK/out")" -eq 10 ]
}

# All is recorded after some steps: more of them are replays alone
recordings_end()
{
	train "$text" --steps 4 --only runner || return 1
	first=$(counted all)
	train "$text" --steps 8 --only runner || return 1
	[ -n "$first" ] && [ "${first% *}" = "$(counted all | sed 's/ [0-9]*$//')" ]
}

# The run alone, with --runner and without
functions_alone()
{
	train "$text" --steps 3 --runner || return 1
	first=$(checksums | tail -n 1)
	for runner in '' --runner; do
		# shellcheck disable=SC2086 # none, or one
		train "$text" --steps 3 --only runner $runner || return 1
		[ -n "$first" ] && [ "$(checksums)" = "$first" ] &&
			[ "$(grep -c '^runner ' "$WORK/out")" -eq 1 ] ||
			return 1
	done
}

# Six runs, in this order
functions_and_loop()
{
	train "$text" --steps 2 --runner --loop || return 1
	[ "$(checksums | wc -l)" -eq 6 ] &&
		[ "$(checksums | sort -u | wc -l)" -eq 1 ] &&
		grep -A 1 '^looped ' "$WORK/out" | tail -n 1 | grep -q '^runner '
}

# A runner that replays nothing gives the right bits, but is no test of replays
nothing_replayed()
{
	export PHILOX_RUNNER=eager
	train "$text" --steps 3 "$@"
	unset PHILOX_RUNNER
	[ "$got" -eq 1 ] && sane && ! grep -q '^runs agree *NO' "$WORK/out" &&
		grep -qE "^calls replayed +NO: .*PHILOX_RUNNER is 'eager'" \
			"$WORK/out" && [ "$(counted all)" = "115 0 0 0" ]
}

# weights_on DEVICE ARGUMENT...: with weights of bf16 the runs agree, and the run
# with f32 masters is what all runs are without the option
weights_on()
{
	device=$1
	shift
	train "$text" --steps 6 --device "$device" "$@" || return 1
	! grep -q 'bf16\|masters' "$WORK/out" || return 1
	first=$(checksums | sort -u)
	train "$text" --steps 6 --device "$device" "$@" --weights bf16 ||
		return 1
	[ "$(checksums | sort -u | wc -l)" -eq 1 ] &&
		[ "$(checksums | sort -u)" != "$first" ] &&
		[ "$(checksums_of 'f32 masters')" = "$first" ] &&
		grep -qE '^runs agree +yes' "$WORK/out"
}

checksums_of()
{
	sed -nE "s/^$1 +([0-9a-f]{16}  [0-9a-f]{16}) .*/\\1/p" "$WORK/out"
}

# The same bits a second time, on another device, and by each run alone
weights_repeat()
{
	train "$text" --steps 4 --weights bf16 || return 1
	first=$(checksums | sort -u)
	train "$text" --steps 4 --weights bf16 --device host:sync || return 1
	[ -n "$first" ] && [ "$(checksums | sort -u)" = "$first" ] || return 1
	for run in eager looped runner; do
		train "$text" --steps 4 --weights bf16 --only $run &&
			[ "$(checksums)" = "$first" ] &&
			! grep -q 'masters' "$WORK/out" || return 1
	done
}

# Both losses, below each other and in one line; they are close after some steps
weights_have_two_losses()
{
	train "$text" --steps 60 --weights bf16 || return 1
	grep -A 1 -E '^loss, in nats( +[0-9.]+){11}$' "$WORK/out" |
		tail -n 1 | grep -qE '^of f32 masters( +[0-9.]+){11}$' &&
		sed -nE 's/^weights of bf16 +([0-9.]+) nats in the last tenth, beside ([0-9.]+) with .*/\1 \2/p' \
			"$WORK/out" | awk '
			{ apart = $1 > $2 ? $1 - $2 : $2 - $1 }
			END { exit !(NR == 1 && $1 > 0 && apart < 0.1 * $2) }'
}

# f32 is what is without the option
weights_of_f32()
{
	train "$text" --steps 3 || return 1
	first=$(checksums)
	train "$text" --steps 3 --weights f32 || return 1
	[ -n "$first" ] && [ "$(checksums)" = "$first" ] &&
		! grep -q 'bf16\|masters' "$WORK/out"
}

weights_in_json()
{
	train "$text" --steps 3 --json || return 1
	! grep -q '"weights"\|masters' "$WORK/out" || return 1
	train "$text" --steps 3 --json --weights bf16 || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["weights"] == "bf16" and figures["agree"] is True
names = [run["name"] for run in figures["runs"]]
assert names == ["eager", "captured", "recomputed", "out of order",
    "f32 masters"]
sums = [run["parameter_checksum"] for run in figures["runs"]]
assert len(set(sums[:4])) == 1 and sums[4] != sums[0]
assert figures["masters_last_tenth_loss"] > 0
assert figures["masters_last_tenth_loss"] != figures["last_tenth_loss"]'
}

# What the environment has wrong is said before the first run
no_such_runner()
{
	export PHILOX_RUNNER=sometimes
	train "$text" --steps 3 "$@"
	unset PHILOX_RUNNER
	[ "$got" -eq 1 ] && sane && ! grep -q 'step' "$WORK/err" &&
		grep -q "PHILOX_RUNNER .* 'sometimes'" "$WORK/err"
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

# pooled_functions KIND: the runner's pool is one of the kind, and small, too
pooled_functions()
{
	train "$text" --steps 4 --pool "$1" --runner || return 1
	smaller_pools "$1" 5 && grep -qE '^  runner +[0-9.]+ kB mapped' "$WORK/out"
}

# smaller_pools KIND [N]: a line for each run, and each mapped less than the
# arrays without
smaller_pools()
{
	awk -v kind="$1" -v n="${2:-4}" '
		$2 == "pool," && $1 == kind { without = $4 }
		/ mapped in .* live at most$/ {
			for (i = 1; $i != "kB"; i++)
				;
			if ($(i - 1) + 0 > 0 && $(i - 1) + 0 < without)
				runs++
		}
		END { exit runs != n }' "$WORK/out"
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

functions_in_json()
{
	train "$text" --steps 3 --json || return 1
	! grep -q '"runner\|"calls"\|"functions"' "$WORK/out" || return 1
	train "$text" --steps 4 --json --runner || return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["runner"] is True and figures["agree"] is True
assert "not_replayed" not in figures
names = [run["name"] for run in figures["runs"]]
assert names == ["eager", "captured", "recomputed", "out of order", "runner"]
assert all("calls" not in run for run in figures["runs"][:4])
runner = figures["runs"][4]
assert len({run["parameter_checksum"] for run in figures["runs"]}) == 1
kinds = ["eager", "warmups", "recordings", "replays"]
calls, functions = runner["calls"], runner["functions"]
assert [f["name"] for f in functions] == ["input", "hidden layer", "loss",
    "layer backward", "embedding backward", "update", "finish"]
for kind in kinds:
    assert calls[kind] == sum(f[kind] for f in functions), kind
assert sum(calls[kind] for kind in kinds) == 156
assert calls["eager"] == 0 and calls["replays"] > 50
assert 3 <= calls["device_calls_per_replay_most"] <= 6
assert runner["pending_most"] == 12 and runner["replays_per_second"] > 0
assert runner["replays"] == calls["replays"]
assert 0 < runner["pool"]["live_peak"] <= runner["pool"]["mapped_peak"]' ||
		return 1
	PHILOX_RUNNER=eager "$philox" train "$text" --steps 1 --json --runner \
		>"$WORK/out" 2>"$WORK/err" && return 1
	tail -n 1 "$WORK/out" | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["agree"] is True and "eager" in figures["not_replayed"]'
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
for device in host host:sync host:strict; do
	check "functions of a runner give the same bits on $device" \
		functions_on $device
	check "and so do functions of extra operators on $device" \
		functions_on $device --ops 5
done
check "one function is shared by all layers of a kind" functions_are_shared
check "after some steps all calls are replays" recordings_end
check "the run through a runner alone" functions_alone
check "a runner and a loop in the graph" functions_and_loop
for kind in plain expandable; do
	check "functions of a runner and a pool: $kind" \
		functions_on host --pool $kind
	check "a runner's $kind pool is smaller than the arrays" \
		pooled_functions $kind
done
check "a runner that replays nothing fails" nothing_replayed --runner
check "and so does it alone" nothing_replayed --only runner
check "an unknown PHILOX_RUNNER is said before the runs" no_such_runner --runner
check "and where there is no other run" no_such_runner --only runner
for kind in plain expandable; do
	for device in host host:sync; do
		check "a $kind pool changes no bit on $device" \
			pooled $kind $device
	done
	check "a $kind pool costs a call for each launch" \
		pool_costs_a_call $kind
done
for device in host host:sync host:strict; do
	check "with weights of bf16 the runs agree on $device" \
		weights_on $device
done
check "and so do more runs, with operators and a pool" \
	weights_on host --loop --runner --ops 3 --pool expandable
check "weights of bf16 are the same again, and in each run alone" \
	weights_repeat
check "weights of bf16 and f32 masters have losses beside each other" \
	weights_have_two_losses
check "weights of f32 are what there is without the option" weights_of_f32
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
	check "--json has the calls of functions" functions_in_json
	check "--json has weights of bf16" weights_in_json
else
	skip "--json has the looped run" "no python3"
	skip "--json has the calls of functions" "no python3"
	skip "--json has weights of bf16" "no python3"
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
check "weights of an unknown kind" refuses \
	"--weights 'fp8': must be one of f32, bf16" "$text" --weights fp8
for other in --naive "--save-at 1 --save $WORK/never" \
	"--resume $WORK/never"; do
	# shellcheck disable=SC2086 # words
	check "weights of bf16 and ${other%% *}" refuses \
		"--weights 'bf16': not together with ${other%% *}" \
		"$text" --weights bf16 $other
done
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
check "a runner without philox" refuses "--runner: not together with --naive" \
	"$text" --runner --naive
check "a runner and another run alone" refuses \
	"--only 'looped': not together with --runner" \
	"$text" --runner --only looped
check "a loop and the run through a runner alone" refuses \
	"--only 'runner': not together with --loop" "$text" --loop --only runner
check "a runner that is to be saved" refuses \
	"--runner: not together with --save-at" \
	"$text" --runner --save-at 1 --save "$WORK/never"
check "a runner that is to go on" refuses "--runner: not together with --resume" \
	"$text" --runner --resume "$WORK/never"
check "a run through a runner without philox" refuses \
	"--only 'runner': not together with --naive" "$text" --only runner --naive
check "a number for a runner" refuses runner "$text" --runner=2
check "refused runs saved nothing" [ ! -e "$WORK/never" ]
check "an option without its value" refuses "--device: needs a value" \
	"$text" --device
check "an unknown option" \
	refuses "unknown option '--nonsense'" "$text" --nonsense
check "an unknown letter" refuses "'-q'" "$text" -q
check "an unknown device" refuses nowhere "$text" --device nowhere
check "the device is checked before the text" \
	refuses nowhere "$WORK/none" --device nowhere
finish
