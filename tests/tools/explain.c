/*
 * tests/tools/explain.c - philox explain: programs of snapshots and plans, and
 * two of them side by side
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner_scene.h"
#include "tools/explain/explain.h"
#include "tools/tools.h"

static char folder[] = "/tmp/philox-explain-XXXXXX";
static char path_a[64], path_b[64], path_out[64];

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(path_a, sizeof(path_a), "%s/a", folder);
	snprintf(path_b, sizeof(path_b), "%s/b", folder);
	snprintf(path_out, sizeof(path_out), "%s/out", folder);
}

static void remove_folder(void)
{
	unlink(path_a);
	unlink(path_b);
	unlink(path_out);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(tools_explain, .init = make_folder, .fini = remove_folder,
	  .timeout = 120);

/* --- running the command -------------------------------------------------- */

static char said[65536];

static int run_tool(int argc, char **argv)
{
	int out = dup(1), error = dup(2), file, status;
	ssize_t size;

	fflush(stdout);
	file = open(path_out, O_RDWR | O_CREAT | O_TRUNC, 0600);
	cr_assert(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
	status = tool_explain(argc, argv);
	fflush(stdout);
	dup2(out, 1);
	dup2(error, 2);
	close(out);
	close(error);
	size = pread(file, said, sizeof(said) - 1, 0);
	cr_assert_geq(size, 0);
	said[size] = '\0';
	close(file);
	return status;
}

static void explained(int wanted, const char *path, const char *which)
{
	char argument[200];
	char *argv[] = {(char *)"explain", argument, NULL};
	int status;

	snprintf(argument, sizeof(argument), "%s%s", path, which);
	status = run_tool(2, argv);
	cr_assert_eq(status, wanted, "status %d: %s", status, said);
}

static void compared(int wanted, const char *which_a, const char *which_b)
{
	char a[200], b[200];
	char *argv[] = {(char *)"explain", (char *)"--diff", a, b, NULL};
	int status;

	snprintf(a, sizeof(a), "%s%s", path_a, which_a);
	snprintf(b, sizeof(b), "%s%s", path_b, which_b);
	status = run_tool(4, argv);
	cr_assert_eq(status, wanted, "status %d: %s", status, said);
}

#define SAID(part) cr_assert(strstr(said, part), "no '%s' in %s", part, said)
#define SAID_NOT(part) cr_assert(!strstr(said, part), "'%s' in %s", part, said)

/* --- snapshots ------------------------------------------------------------ */

static enum philox_status draw_once_more(struct layer *layer,
					 struct philox_run *run)
{
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *made;

	OK(philox_run_alloc(run, 64, 64, "more", &made));
	OK(philox_run_forward_begin(run, layer->region, PHILOX_PASS_INFERENCE,
				    &pass));
	OK(philox_pass_uniform(&pass, 0, PHILOX_DTYPE_F32, philox_span_elements(0, 8), 0,
			       1, made));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return PHILOX_OK;
}

static void call_twice(struct layer *layer, const void *x, uint32_t key)
{
	struct philox_launch_pass uses[2] = {{.flags = 0}};

	for (int i = 0; i < 2; i++) {
		struct layer_call call = new_call(layer, x, key);

		call.call.inputs = &call.x;
		call.call.passes = uses;
		call.call.n_passes = layer->hook ? 2 : 1;
		call.call.outputs = NULL;
		call.call.n_outputs = 0;
		OK(philox_function_call(layer->function, &call.call));
	}
}

/* Key 1 does one thing, and key 2 does more. */
static void make_two(struct fixture *f, struct philox_runner *r,
		     struct layer *layer)
{
	*layer = make_layer(f, r, "a");
	make_function(layer, r, "layer");
	call_twice(layer, make_words(f, 1), 1);
	layer->hook = draw_once_more;
	call_twice(layer, make_words(f, 1), 2);
}

RUNNER_PROMISE(tools_explain, a_snapshot_is_printed_whole_or_in_part)
{
	struct layer layer;

	make_two(f, r, &layer);
	OK(philox_runner_snapshot(r, path_a));
	explained(0, path_a, "");
	SAID("recording 1 of function 'layer' (forward), key 1 {01000000}\n");
	SAID("recording 2 of function 'layer' (forward), key 2 {02000000}\n");
	SAID(" = draw uniform f32 [0, 8) low=0 high=1  region 'a' op 0 'first' "
	     " cells %");
	SAID_NOT("times");
	explained(0, path_a, "@2");
	SAID("recording 2 ");
	SAID_NOT("recording 1 ");
	explained(0, path_a, "@layer:1");
	SAID("recording 1 ");
	SAID_NOT("recording 2 ");
	explained(0, path_a, "@layer:{02000000}");
	SAID("recording 2 ");
	SAID_NOT("recording 1 ");
	explained(0, path_a, "@layer");
	SAID("recording 1 ");
	OK(philox_runner_snapshot_with(r, PHILOX_SNAPSHOT_TIMES, path_a));
	explained(0, path_a, "");
	SAID("\n  times (ns): body ");
	SAID("\ntimes of function 'layer' (ns): create ");
}

RUNNER_PROMISE(tools_explain, what_is_wrong_is_said)
{
	struct layer layer;
	FILE *file;

	unlink(path_b);
	make_two(f, r, &layer);
	OK(philox_runner_snapshot(r, path_a));
	explained(2, path_a, "@3");
	SAID("/a' has nothing like that\n");
	explained(2, path_a, "@layer:9");
	SAID("/a' has nothing like that\n");
	explained(2, path_a, "@");
	SAID("after the @ give the number of a recording");
	explained(2, path_a, "@0");
	SAID("after the @ give the number of a recording");
	explained(2, path_b, "");
	SAID("/b': cannot be opened");
	OK(philox_context_save(f->context, path_b));
	explained(2, path_b, "");
	SAID("/b' is a saved context: give a plan or the snapshot of a runner");
	OK(philox_plan_save(r, path_b));
	compared(2, "", "");
	SAID("/b' is not: they cannot be compared\n");
	explained(2, path_b, "@1");
	SAID("is a plan, which has no recordings by number: give function:key");
	file = fopen(path_b, "w");
	cr_assert(file && fputs("philox runner 2\n", file) >= 0 &&
		  !fclose(file));
	explained(2, path_b, "");
	SAID("line 2");
}

RUNNER_PROMISE(tools_explain, a_plan_has_the_steps_of_bodies_and_says_so)
{
	struct layer layer;

	make_two(f, r, &layer);
	OK(philox_plan_save(r, path_a));
	explained(0, path_a, "@layer:{02000000}");
	cr_assert_str_eq(
		said,
		"A plan has the steps of bodies, without draws, commits, "
		"places, nodes and times.\n"
		"\n"
		"function 'layer' (forward), key 2 {02000000}\n"
		"  %1 = input 'x'  128 bytes  static\n"
		"  %2 = alloc 128 bytes\n"
		"  %3 = alloc 128 bytes\n"
		"  %4 = alloc 128 bytes\n"
		"  %5 = forward region 'a'\n"
		"  %6 = alloc 64 bytes alignment 64\n"
		"  %7 = forward region 'a', inference\n"
		"  %8 = free %4\n"
		"  %9 = output 'y'  128 bytes\n"
		"  %10 = output 'echo'  128 bytes\n"
		"  calls: 2, recordings: 1\n"
		"\n");
}

/* --- side by side --------------------------------------------------------- */

RUNNER_PROMISE(tools_explain, two_keys_are_compared_side_by_side)
{
	struct layer layer;

	make_two(f, r, &layer);
	OK(philox_runner_snapshot_with(r, PHILOX_SNAPSHOT_TIMES, path_a));
	OK(philox_runner_snapshot(r, path_b));
	compared(0, "", "");
	SAID("\nno difference\n");
	compared(0, "@1", "@layer:1");
	SAID("\nno difference\n");
	compared(1, "@1", "@2");
	SAID(" > ");
	SAID("> ");
	SAID("= draw uniform f32 [0, 8) low=0 high=1");
	SAID_NOT("times");
	SAID_NOT("replays");
	/* an allocation, a pass with its draw and commit; an input that is
	 * elsewhere is no difference, but the kernels are one */
	SAID("\n5 lines differ\n");
	OK(philox_plan_save(r, path_a));
	OK(philox_plan_save(r, path_b));
	compared(0, "", "");
	compared(1, "@layer:1", "@layer:2");
	SAID("\n2 lines differ\n");
}

static void label_key(struct layer *layer, const void *x, const char *label)
{
	struct layer_call call = new_call(layer, x, 1);

	call.call.label = label;
	OK(try_call(layer, &call));
	release_outputs(layer, &call);
}

/* Of plans and of snapshots. */
RUNNER_PROMISE(tools_explain, a_label_is_beside_its_key)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "layer");
	for (int plan = 0; plan < 2; plan++) {
		enum philox_status (*save)(struct philox_runner *runner,
					   const char *path) =
			plan ? philox_plan_save : philox_runner_snapshot;

		OK(save(r, path_a));
		if (!plan)
			label_key(&layer, x, "batch 32");
		OK(save(r, path_b));
		explained(0, path_b, "");
		SAID("function 'layer' (forward), key 1 {01000000} 'batch 32'\n");
		compared(!plan, "", "");
		SAID("function 'layer' (forward), key {01000000} 'batch 32'");
	}
}

static void keep_saved(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
}

/* A call whose ticket keeps a mask. */
static struct layer_call call_and_keep(struct layer *layer, const void *x,
				       uint64_t bytes)
{
	const struct philox_saved_desc mask = {
		.name = "mask",
		.elements = PHILOX_ELEMENTS(PHILOX_DTYPE_BF16),
		.bytes = bytes};
	struct layer_call call = made_call(layer, x, 1);

	release_outputs(layer, &call);
	OK(philox_ticket_attach(layer->region, call.use.ticket, NULL,
				keep_saved));
	OK(philox_ticket_describe(layer->region, call.use.ticket, &mask, 1));
	return call;
}

RUNNER_PROMISE(tools_explain, what_tickets_keep_is_compared_and_serials_are_not)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct layer_call call;

	make_function(&layer, r, "layer");
	kind_of_call(&layer, x, 1);
	call = call_and_keep(&layer, x, 64);
	OK(philox_runner_snapshot(r, path_a));
	let_go(&layer, &call);
	call = call_and_keep(&layer, x, 64);
	OK(philox_runner_snapshot(r, path_b));
	compared(0, "", "");
	SAID("  ticket of region 'a' keeps 1 item, 64 bytes ");
	SAID("\nno difference\n");
	let_go(&layer, &call);
	call = call_and_keep(&layer, x, 2);
	OK(philox_runner_snapshot(r, path_b));
	compared(1, "", "");
	SAID(" |   ticket of region 'a' keeps 1 item, 2 bytes\n");
	SAID(" |     'mask'  2 bytes bf16[1]\n");
	SAID("\n2 lines differ\n");
	let_go(&layer, &call);
	OK(philox_runner_snapshot(r, path_b));
	compared(1, "@1", "@1");
	SAID("    'mask'  64 bytes bf16[32] ");
	SAID(" <\n");
	SAID("\n2 lines differ\n");
}

/* The pass is none of the runner's. */
RUNNER_PROMISE(tools_explain, a_ticket_of_no_call_is_below_all_functions)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct layer_call call;
	char lines[300];

	make_function(&layer, r, "layer");
	kind_of_call(&layer, x, 1);
	call = made_call(&layer, x, 1);
	OK(philox_forward_begin(layer.region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_output_tie(r, &call.outputs[0], layer.region, ticket));
	OK(philox_runner_snapshot(r, path_a));
	explained(0, path_a, "");
	snprintf(lines, sizeof(lines),
		 "  alive: 'y' of call 2, tied to ticket %" PRIu64
		 " of region 'a'\n"
		 "  alive: 'echo' of call 2\n"
		 "\n"
		 "tickets of no call that is known\n"
		 "  ticket %" PRIu64 " of region 'a' keeps 1 item, 128 bytes\n"
		 "    'y' of function 'layer'  128 bytes\n"
		 "\n",
		 ticket.serial, ticket.serial);
	SAID(lines);
	explained(0, path_a, "@layer");
	SAID_NOT("keeps");
	OK(philox_ticket_release(layer.region, f->stream, ticket));
	let_go(&layer, &call);
}

static const char *side_by_side(const char *a, const char *b, long wanted)
{
	static char *text;
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	cr_assert_eq(compare_programs(out, a, b, 0), wanted);
	fclose(out);
	return text;
}

Test(tools_explain, a_step_more_renumbers_the_rest_and_is_the_only_difference)
{
	cr_assert_str_eq(side_by_side("head\n"
				      "  %1 = alloc\n"
				      "  %2 = forward\n"
				      "  %3 = draw  cells %2\n",
				      "head\n"
				      "  %1 = alloc\n"
				      "  %2 = alloc of '%9'\n"
				      "  %3 = forward\n"
				      "  %4 = draw  cells %3\n",
				      1),
			 "head                    head\n"
			 "  %1 = alloc              %1 = alloc\n"
			 "                      >   %2 = alloc of '%9'\n"
			 "  %2 = forward            %3 = forward\n"
			 "  %3 = draw  cells %2     %4 = draw  cells %3\n");
}

Test(tools_explain, a_number_that_names_another_line_is_a_difference)
{
	cr_assert_str_eq(side_by_side("head\n"
				      "  %1 = alloc\n"
				      "  %2 = alloc\n"
				      "  %3 = free %1\n",
				      "head\n"
				      "  %1 = alloc\n"
				      "  %2 = alloc\n"
				      "  %3 = free %2\n",
				      1),
			 "head             head\n"
			 "  %1 = alloc       %1 = alloc\n"
			 "  %2 = alloc       %2 = alloc\n"
			 "  %3 = free %1 |   %3 = free %2\n");
}

Test(tools_explain, lines_that_only_one_has_are_all_shown)
{
	cr_assert_str_eq(side_by_side("a\nb\nc\n", "a\nx\ny\nc\nd\n", 3),
			 "a   a\n"
			 "b | x\n"
			 "  > y\n"
			 "c   c\n"
			 "  > d\n");
	cr_assert_str_eq(side_by_side("a\nb\n", "", 2), "a <\nb <\n");
}
