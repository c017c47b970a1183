#!/bin/sh
# The CUDA device and its kernels on a simulated GPU: the tests and tools that
# work on every CUDA device. tests/simulated/simulated.h lists what this cannot
# show. SIMULATED_SEED is another order for all of it; SIMULATED_SEEDS, "2"
# if it is not set, the orders in which some of it runs again.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

simulated=$BUILD/tests/simulated

# suites PATTERN: none of them may be skipped for want of a GPU
suites()
{
	"$simulated/philox-tests" --verbose --timeout 600 --filter "$1" \
		>"$WORK/tests" 2>&1
	status=$?
	grep -v 'Test is disabled\|Running' "$WORK/tests"
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

# no_loops DRIVER: rows without figures, which say why
no_loops()
{
	SIMULATED_DRIVER=120${1#12.}0 "$simulated/philox" bench --device cuda \
		--only loops --quick >"$WORK/loops" || return 1
	cat "$WORK/loops"
	[ "$(grep -c "^loops/.* - .* need CUDA 12\.[34], and the driver is of $1\$" \
		"$WORK/loops")" = 12 ]
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

# trains_from_a_pool KIND: which goes when CUDA says that its graphs are gone
trains_from_a_pool()
{
	"$simulated/philox" train --device cuda --steps 2 --loop --pool "$1" \
		>"$WORK/pool" && grep '^runs agree *yes' "$WORK/pool"
}

# trains_in_a_loop: with the micro-batches of a step as one node
trains_in_a_loop()
{
	"$simulated/philox" train --device cuda --steps 3 --ops 2 --loop \
		>"$WORK/loop" && grep '^runs agree *yes' "$WORK/loop" &&
		grep '^looped ' "$WORK/loop"
}

# trains_in_bf16: with weights of bf16, and a run with others to compare with
trains_in_bf16()
{
	"$simulated/philox" train --device cuda --steps 3 --weights bf16 \
		--runner >"$WORK/bf16" 2>"$WORK/err"
	status=$?
	cat "$WORK/bf16" "$WORK/err"
	[ $status -eq 0 ] && grep '^runs agree *yes' "$WORK/bf16" &&
		grep '^weights of bf16 .* beside ' "$WORK/bf16"
}

# trains_by_functions [ARGUMENT...]: with each layer a call of a function
trains_by_functions()
{
	"$simulated/philox" train --device cuda --steps 4 --ops 2 --runner "$@" \
		>"$WORK/runner" && grep '^runs agree *yes' "$WORK/runner" &&
		grep '^runner ' "$WORK/runner" &&
		grep '^  all  *0 eager, .* recordings, [1-9][0-9]* replays ' \
			"$WORK/runner"
}

# refuses_loops DRIVER: it is too old, which is said before the first run
refuses_loops()
{
	SIMULATED_DRIVER=$1 "$simulated/philox" train --device cuda --steps 1 \
		--loop >"$WORK/loop" 2>"$WORK/err"
	[ $? -eq 1 ] && [ ! -s "$WORK/loop" ] && cat "$WORK/err" &&
		grep '^philox train: .* need CUDA 12\.[34], and the driver is of' \
			"$WORK/err"
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

# rows: of the table of what is assumed of GPUs, without comments
rows()
{
	grep -v '^#' tests/simulated/assumptions.txt
}

# is_a_table: four fields each, a key once, a verdict out of three, a source
is_a_table()
{
	rows | awk -F ' [|] ' '
		NF != 4 || $1 !~ /^[a-z0-9-]+$/ || seen[$1]++ || $2 == "" ||
		$3 !~ /^(known|disputed|nobody knows)$/ || length($4) < 10 {
			print "not a row: " $0
			bad = 1
		}
		END { exit bad || NR < 20 }'
}

# Every place that names a row, in the simulation or in what it shows, has it
has_rows()
{
	rows | sed 's/ .*//' | sort >"$WORK/keys"
	{
		grep -rhoE '\[[a-z]+(-[a-z]+)+\]' tests/simulated \
			--include='*.[ch]' --include='*.cpp' | tr -d '[]'
		sed -n 's/.*shows[a-z_]*("\([a-z-]*\).*/\1/p' \
			tests/simulated/proof/*.cpp
	} | sort -u >"$WORK/named"
	[ "$(wc -l <"$WORK/named")" -gt 8 ] &&
		comm -23 "$WORK/named" "$WORK/keys" >"$WORK/no-row" &&
		cat "$WORK/no-row" && [ ! -s "$WORK/no-row" ]
}

# digest SEED: of the order in which kernels ran; it has shown the rest, too
digest()
{
	SIMULATED_SEED=$1 "$simulated/harsh" >"$WORK/harsh"
	status=$?
	grep -v '^digest' "$WORK/harsh" >&2
	[ $status -eq 0 ] && grep '^digest' "$WORK/harsh"
}

# repeats: a seed gives one order, each time, and another seed another
repeats()
{
	digest 1 >"$WORK/one" && digest 1 >"$WORK/same" &&
		digest 2 >"$WORK/other" && cmp "$WORK/one" "$WORK/same" &&
		! cmp -s "$WORK/one" "$WORK/other"
}

# answers: to the questions of tests/probe/shared.c, in some orders
answers()
{
	for order in 1 3 4 10; do
		SIMULATED_SEED=$order "$simulated/answers" || return 1
	done
}

# The promises that host devices keep, about graphs, passes, rows and what is
# saved; numbers by themselves are compared by the contract.
subjects='adopt|ahead|beside|capture|capture_lives|cells|digest|draw|draw_axis'
subjects="$subjects|pool_adopt|pool_blocks|pool_debug|pool_launch|pool_random"
subjects="$subjects|pool_order|pool_refusals|pool_session|values"
subjects="$subjects|freshness|generator|graph|graph_lives|graph_messages"
subjects="$subjects|graph_streams|interop|launch|launch_failures|ledger"
subjects="$subjects|lifetimes|linked|load|logs|messages|nothing_waits|overlap"
subjects="$subjects|pass_refusals|queries|refusals|reserve|rows|rows_graph"
subjects="$subjects|rows_long|write_states|subset|categorical_fills"
subjects="$subjects|rows_overlap|save|save_rows|saved_context|seeds|set_state"
subjects="$subjects|at_word|backwards|beyond|bodies|bodies_failures|bodies_left"
subjects="$subjects|bodies_memory|bodies_refused|iterations|nested|orders"
subjects="$subjects|own_nodes|pool_programs|programs|save_loops|series"
subjects="$subjects|shape|shared|steps|ticket_refusals|ticket_state|unannounced"
subjects="$subjects|runner_calls|runner_failures|runner_inputs|runner_outputs"
subjects="$subjects|runner_hits|runner_policy|runner_random|runner_tickets"
subjects="$subjects|runner_verify|runner_verify_differs|runner_verify_faults"
subjects="$subjects|runner_verify_left|runner_verify_random|runner_verify_same"
subjects="$subjects|runner_verify_memory|runner_verify_more"
subjects="$subjects|runner_verify_seeded|verify|verify_errors"
# But not those whose kernels are functions of the host,
but='cells_on_the_device_*|your_own_kernels_*|may_be_written_by_your_own_kernel'
but="$but|that_are_mutated_are_in_place_or_written_back"
but="$but|a_message_stays_while_cells_are_in_use"
but="$but|is_refused_after_an_unannounced_launch_until_it_is_reported"
# which want to hear what CUDA does not tell,
but="$but|refuses_handles_that_are_no_native_graphs"
but="$but|a_recompute_that_finds_a_broken_capture"
but="$but|a_stream_that_is_none_is_the_whole_message"
but="$but|a_broken_capture_names_the_call_that_the_user_made"
# or which look at once for what a graph releases when it is destroyed
but="$but|a_table_stays_on_the_device_while_a_graph_uses_it"
but="$but|a_table_stays_until_the_last_of_its_graphs_is_gone"
but="$but|memory_that_a_graph_held_is_freed_during_a_capture_too"
but="$but|the_log_reports_launches_*"
but="$but|a_native_graph_keeps_its_memory_by_itself"
but="$but|another_exec_of_the_caller_keeps_memory"
but="$but|takes_a_capture_with_a_session_and_no_pass"
but="$but|of_a_capture_whose_graph_is_gone_is_rolled_back"
but="$but|a_session_that_was_rolled_back_is_still_to_be_ended"
# and those with a device that has little memory
but="$but|other_pools_give_back_what_no_graph_needs"
but="$but|in_a_capture_nothing_is_given_back|giving_back_breaks_no_capture"

# What has most to lose by another order
orders='ahead|capture|capture_lives|cells|graph_lives|graph_streams|launch'
orders="$orders|launch_failures|lifetimes|linked|nothing_waits|overlap"
orders="$orders|pool_launch|pool_random|rows_graph|rows_overlap|save_rows"
orders="$orders|backwards|beyond|bodies|bodies_memory|nested|orders|own_nodes"
orders="$orders|runner_random|unannounced"

# promises SUBJECTS: at least a hundred
promises()
{
	(PHILOX_TEST_DEVICE=cuda && export PHILOX_TEST_DEVICE &&
		suites "@($1)/!($but)") &&
		grep -q 'Tested: [1-9][0-9][0-9]' "$WORK/tests"
}

# again SEED: in another order
again()
{
	SIMULATED_SEED=$1 "$simulated/philox" matrix --schedule all \
		--device cuda &&
		SIMULATED_SEED=$1 "$simulated/philox" train --device cuda \
			--steps 2 --runner >"$WORK/again" &&
		grep '^runs agree *yes' "$WORK/again" &&
		(SIMULATED_SEED=$1 && export SIMULATED_SEED &&
			suites '@(device_cuda|drafts_cuda|fused_cuda)/*' &&
			promises "$orders")
}

check "the table of assumptions has a source in each row" is_a_table
check "the simulation names no row that is not there" has_rows
check "it does what the rows say, and the same again for a seed" repeats
check "a GPU that others use too, or that is lost, is as assumed" answers
check "the tool sees two GPUs" sh -c "'$simulated/philox' info |
	grep -c '^cuda:[01] *simulated GPU' | grep -qx 2"
# Checks that would be the same on the second GPU run once, and those that part
# tests runs on host devices do not run again
check "the device contract" "$simulated/philox" selftest --device cuda
check "contexts, kernels, the example and drafts" \
	suites '@(context_cuda|device|device_cuda|drafts_cuda|fused_cuda|priority_cuda|space_cuda)/*'
check "what host devices promise" promises "$subjects"
check "a sequence of events" "$simulated/philox" matrix --device cuda \
	--replay 'F0 F1 B1r B0'
check "branches and loops, in any order" "$simulated/philox" matrix --bodies \
	--device cuda --length 1 --regions 2 --shared 1
check "functions of a runner, in any order" "$simulated/philox" matrix \
	--runner --device cuda --length 1 --regions 2 --shared 1
check "every schedule" "$simulated/philox" matrix --schedule all --device cuda
check "training runs agree, and go on from a file" trains
check "so do they with a loop in the graph" trains_in_a_loop
check "so do they through functions of a runner" trains_by_functions
check "so do they with weights of bf16" trains_in_bf16
for kind in plain expandable; do
	check "functions of a runner with a pool: $kind" \
		trains_by_functions --pool $kind
done
for kind in plain expandable; do
	check "and with memory of a pool: $kind" trains_from_a_pool $kind
done
for driver in 12020 12030; do
	check "a loop that a driver of CUDA $driver does not know" \
		refuses_loops $driver
done
check "training needs no cuBLAS, and says what it uses" trains_without_cublas
for driver in 12.2 12.3; do
	check "bench says that a driver of $driver has no loops" no_loops $driver
done
check "draws are the host's" draws --count 1000 --first 3 --dist normal
for seed in ${SIMULATED_SEEDS:-2}; do
	check "another order of the GPU's work: seed $seed" again "$seed"
done
finish
