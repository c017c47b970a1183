#!/bin/sh
# The programs in README.md compile and run, the example at its top and the loop
# compile; a step does the same by hand and by a runner; its two commands are
# there.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

has_line()
{
	grep -E "$1" README.md
}

compiles()
{
	$CC -std=c11 -Wall -Wextra -Werror -Iinclude -o "${1%.c}" "$1" \
		-L"$BUILD" -lphilox -Wl,-rpath,"$(cd "$BUILD" && pwd)"
}

# The example at the top, the first block without a language, in a function that
# declares the names which the example does not
example()
{
	cat <<-'END'
		#include <stddef.h>
		#include <philox.h>

		static void example(struct philox_context *ctx,
				    philox_stream stream,
				    struct philox_region *layer,
				    struct philox_span span, double p,
				    const float *x, float *y)
		{
			struct philox_pass pass;
			struct philox_ticket placeholder;
			struct philox_graph *forward, *backward = NULL;

	END
	awk '/^```/ { if (plain) exit; plain = !within && /^```$/
			within = !within; next }
		plain' README.md
	echo '}'
}

example_compiles()
{
	example >"$WORK/example.c"
	cat "$WORK/example.c"
	grep -q '^philox_capture_begin(' "$WORK/example.c" &&
		grep -q 'philox_graph_launch(backward' "$WORK/example.c" &&
		$CC -std=c11 -fsyntax-only -Wall -Wextra -Werror -Wno-unused \
			-Iinclude "$WORK/example.c"
}

# The first block below "Branches and loops", in the same way
loop()
{
	cat <<-'END'
		#include <stddef.h>
		#include <philox.h>

		static void loop_example(struct philox_context *ctx,
					 philox_stream stream,
					 philox_stream inner,
					 struct philox_region *sampler,
					 const uint32_t *more)
		{
			struct philox_conditional loop;
			struct philox_pass pass;
			struct philox_ticket placeholder;
			struct philox_graph *graph;

	END
	awk '/^## / { section = /^## Branches and loops$/ }
		section && /^```$/ { if (within++) exit; next }
		within' README.md
	echo '}'
}

loop_compiles()
{
	loop >"$WORK/loop.c"
	cat "$WORK/loop.c"
	grep -q '^philox_conditional_set(' "$WORK/loop.c" &&
		grep -q '^philox_conditional_end(' "$WORK/loop.c" &&
		$CC -std=c11 -fsyntax-only -Wall -Wextra -Werror -Wno-unused \
			-Iinclude "$WORK/loop.c"
}

# runner_block N FIRST [BEYOND]: of the N-th block below "Runners" what follows
# the line that begins with FIRST, up to the one that begins with BEYOND
runner_block()
{
	awk -v n="$1" -v first="$2" -v beyond="${3-none}" '
		/^## / { section = /^## Runners$/ }
		section && /^```/ { within = /^```$/ && !within; blocks += within
			on = 0; next }
		!within || blocks != n { next }
		index($0, beyond) == 1 { exit }
		on
		index($0, first) == 1 { on = 1; if (first !~ /^\/\*/) print }' README.md
}

# steps_with PROGRAM FLAG...: trains, which prints losses and weights
steps_with()
{
	program=$1
	shift
	$CC -std=c11 -Wall -Wextra -Werror -Wno-unused-parameter -Iinclude \
		-I"$WORK" "$@" \
		-o "$WORK/$program" tests/readme/step.c \
		-L"$BUILD" -lphilox -Wl,-rpath,"$(cd "$BUILD" && pwd)" &&
		"$WORK/$program" >"$WORK/$program.out" &&
		[ "$(grep -c '^loss 0x' "$WORK/$program.out")" -eq 10 ] &&
		[ "$(grep '^loss' "$WORK/$program.out" | sort -u | wc -l)" -eq 10 ]
}

steps_agree()
{
	runner_block 1 '/* once' '/* each step' >"$WORK/capture.inc"
	runner_block 1 '/* each step' >"$WORK/launch.inc"
	runner_block 2 'enum philox_status step(' >"$WORK/body.inc"
	runner_block 3 '/* once' '/* each step' >"$WORK/once.inc"
	runner_block 3 '/* each step' >"$WORK/call.inc"
	wc -l "$WORK"/*.inc
	steps_with before && steps_with after -DWITH_RUNNER &&
		diff "$WORK/before.out" "$WORK/after.out"
}

# Each block of C goes to a file of its own
[ -f README.md ] && awk -v work="$WORK" '
	/^```c$/ { file = work "/block" ++n ".c"; next }
	/^```/ { file = "" }
	file { print > file }' README.md

install='^(sudo )?apt-get update && (sudo )?apt-get install -y [a-z0-9+ -]+ && '
check "one command installs and runs the main job" \
	has_line "${install}make( .*)? && build/philox train"
check "one command installs and passes the tests" \
	has_line "${install}make( .*)? check\$"
check "the example at the top compiles" example_compiles
check "the loop compiles" loop_compiles
check "a step by hand and by a runner has the same bits" steps_agree
programs=0
for block in "$WORK"/block*.c; do
	[ -f "$block" ] && grep -q '^int main' "$block" || continue
	programs=$((programs + 1))
	check "program $programs compiles" compiles "$block"
	check "program $programs runs" "${block%.c}"
done
check "there is a program" test $programs -gt 0
finish
