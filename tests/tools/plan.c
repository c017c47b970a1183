/*
 * tests/tools/plan.c - philox inspect and philox diff of plans of runners
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner_again.h"
#include "tools/tools.h"

static char folder[] = "/tmp/philox-plan-XXXXXX";
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

TestSuite(tools_plan, .init = make_folder, .fini = remove_folder,
	  .timeout = 120);

#define POLICY                                                               \
	"policy refused eager recordings 64 warmups 1 dry 0 retry 16 keys " \
	"0 verify 0 differs error bytes 0\nwaste wasted 0 patience 0\n"

static const char plan[] =
	"philox plan 2\n"
	"library \"0.1.0\"\n"
	"runner live 8192 mapped 2097152\n"
	"function \"attention\" forward flags 0\n"
	"input \"x\" static flags 0 alignment 16 elements 1\n"
	"input \"rest\" automatic flags 0 alignment 0 elements 0\n"
	"output \"y\" elements 1\n"
	"value \"rate\" bytes 4\n" POLICY "script 0\n"
	"step forward \"block.0\" flags 0\n"
	"step backward \"block.0\" of 0 flags 4\n"
	"step backward \"block.0\" flags 0\n"
	"step alloc 4096 alignment 512\n"
	"step free 0\n"
	"step value 0\n"
	"step output 0 bytes 4096\n"
	"script 1\n"
	"key 6f6e65 script 0 calls 7 warmups 0 dry 0 wasted 0 patience 0 recordings 3 "
	"unplayed 1 prepared 1 bytes 6144 wait 0 label \"batch 32\"\n"
	"takes 4096 moves 0\n"
	"takes 64 moves 3 copied\n"
	"key 00ff script 1 calls 1 warmups 2 dry 0 wasted 0 patience 0 recordings 0 "
	"unplayed 0 prepared 0 bytes 0 wait 14 refused \"it is odd\"\n"
	"takes 1 moves 0\n"
	"takes 2 moves 0\n"
	"key - script none calls 0 warmups 0 dry 0 wasted 0 patience 0 recordings 0 "
	"unplayed 0 prepared 0 bytes 0 wait never refused \"it broke\"\n"
	"takes 1 moves 0\n"
	"takes 2 moves 0\n"
	"function \"mlp\" inference flags 1\n" POLICY
	"barred 9f86d081884c7d65 41 by \"attention\" alive for \"it is odd\"\n"
	"barred 9f86d081884c7d65 42 by \"old\" destroyed for \"it broke\"\n";

static void write_to(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

/* --- running a command ---------------------------------------------------- */

static char said[16384];

static int run_tool(int (*tool)(int argc, char **argv), int argc, char **argv)
{
	int out = dup(1), error = dup(2), file, status;
	ssize_t size;

	fflush(stdout);
	file = open(path_out, O_RDWR | O_CREAT | O_TRUNC, 0600);
	cr_assert(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
	status = tool(argc, argv);
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

static void inspected(int wanted, const char *option)
{
	char *argv[] = {(char *)"inspect", path_a, NULL, NULL};
	int status;

	if (option) {
		argv[1] = (char *)(uintptr_t)option;
		argv[2] = path_a;
	}
	status = run_tool(tool_inspect, option ? 3 : 2, argv);
	cr_assert_eq(status, wanted, "status %d: %s", status, said);
}

static void compared(int wanted)
{
	char *argv[] = {(char *)"diff", path_a, path_b, NULL};
	int status = run_tool(tool_diff, 3, argv);

	cr_assert_eq(status, wanted, "status %d: %s", status, said);
}

#define SAID(part) cr_assert(strstr(said, part), "no '%s' in %s", part, said)

/* --- inspect -------------------------------------------------------------- */

Test(tools_plan, is_summed_up)
{
	write_to(path_a, plan_signed(plan));
	inspected(0, NULL);
	cr_assert_str_eq(
		said,
		"plan\n"
		"\n"
		"library \"0.1.0\"\n"
		"pool at its peak: live 8192, mapped 2097152\n"
		"\n"
		"functions 2, keys 3, calls 8, recordings 3 (never replayed 1, "
		"prepared 1), bytes 6144\n"
		"  \"attention\": forward, inputs 2, outputs 1, values 1\n"
		"    keys 3, calls 8, recordings 3 (never replayed 1, prepared "
		"1), bytes 6144\n"
		"    automatic inputs that are copied 1\n"
		"    key -: calls 0, not recorded any more: \"it broke\"\n"
		"    key 00ff: calls 1, warm-ups to come 2, not recorded for "
		"14 calls: \"it is odd\"\n"
		"    key 6f6e65 'one', label \"batch 32\": calls 7, recordings 3 "
		"(never replayed 1)\n"
		"  \"mlp\": inference, eager, inputs 0, outputs 0, values 0\n"
		"    keys 0, calls 0, recordings 0 (never replayed 0, prepared "
		"0), bytes 0\n"
		"\n"
		"barred tickets 2\n"
		"  ticket 41 of region 9f86d081884c7d65, by \"attention\": "
		"\"it is odd\"\n"
		"  ticket 42 of region 9f86d081884c7d65, by \"old\", "
		"destroyed: \"it broke\"\n");
}

/* Texts of others cannot end a line, or speak to the terminal. */
Test(tools_plan, shows_texts_of_others_in_quotation_marks)
{
	write_to(path_a, plan_changed(plan, "14 refused \"it is odd\"",
				      "14 refused \"\\x1b[2J\\x0a\""));
	inspected(0, NULL);
	SAID("not recorded for 14 calls: \"\\x1b[2J\\x0a\"\n");
	write_to(path_b, plan_signed(plan));
	compared(1);
	SAID("since \"\\x1b[2J\\x0a\" in A, since \"it is odd\" in B\n");
	write_to(path_a, plan_changed(plan, "alive for \"it is odd\"",
				      "alive for \"\\x1b\""));
	inspected(0, NULL);
	SAID(", by \"attention\": \"\\x1b\"\n");
	write_to(path_a,
		 plan_changed(plan, "library \"0.1.0\"", "library \"\\x1b\""));
	inspected(0, NULL);
	SAID("library \"\\x1b\"\n");
}

Test(tools_plan, is_printed_as_json)
{
	write_to(path_a, plan_signed(plan));
	inspected(0, "--json");
	SAID("{\"kind\":\"plan\",\"library\":\"0.1.0\",\"live_peak\":8192,"
	     "\"mapped_peak\":2097152,\"functions\":[{\"name\":\"attention\","
	     "\"mode\":\"forward\",\"eager\":false,\"collective\":false,"
	     "\"inputs\":[{\"name\":\"x\",\"kind\":\"static\",\"mutated\":false,"
	     "\"write_back\":false,\"fixed\":false,\"alignment\":16,"
	     "\"elements\":1}");
	SAID("\"policy\":{\"refused\":\"eager\",\"recordings\":64,");
	SAID("\"scripts\":[[\"a forward of region \\\"block.0\\\", flags 0\","
	     "\"a backward of its pass 0 of region \\\"block.0\\\", flags 4\"");
	SAID("{\"hex\":\"6f6e65\",\"label\":\"batch 32\",\"script\":0,\"calls\":7,\"warmups\":0,");
	SAID("\"dry\":0,\"retry\":16,");
	SAID("\"wait\":null,\"refused\":\"it broke\"");
	SAID("{\"bytes\":64,\"moves\":3,\"copied\":true,\"pinned\":false}");
	SAID("{\"hex\":\"\",\"calls\":0,");
	SAID("\"wait\":14,\"refused\":\"it is odd\"");
	SAID("{\"region\":\"9f86d081884c7d65\",\"serial\":42,\"function\":"
	     "\"old\",\"alive\":false,\"reason\":\"it broke\"}]}\n");
}

static enum philox_status refuse_it(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "as it likes");
}

/* A function with flags, and a key that waits. */
static void use_function(struct fixture *f, struct philox_runner *r)
{
	static struct layer layer;
	struct philox_input_desc input = {.name = "x",
					  .kind = PHILOX_INPUT_AUTOMATIC,
					  .flags = PHILOX_INPUT_MUTATED |
						   PHILOX_INPUT_WRITE_BACK,
					  .alignment = 4,
					  .elements = 2};
	struct philox_function_desc options;

	layer = make_layer(f, r, "layer");
	options = layer_options("layer", &layer);
	options.inputs = &input;
	options.policy = (struct philox_policy){.recordings = PHILOX_NEVER,
						.warmups = 3,
						.differs = PHILOX_DIFFERS_EAGER,
						.bytes = 100000000};
	layer.hook = refuse_it;
	make_function_of(&layer, r, &options);
	KIND(&layer, make_words(f, 3), 0, PHILOX_CALL_WARMUP);
}

/* What both say of a runner they say in the same words. */
RUNNER_PROMISE(tools_plan, json_spells_things_as_that_of_a_snapshot_does)
{
	static const char *const both[] = {
		"\"mode\":\"forward\",",
		"\"eager\":false,\"collective\":false",
		"{\"name\":\"x\",\"kind\":\"automatic\",\"mutated\":true,"
		"\"write_back\":true,\"fixed\":false,\"alignment\":4,"
		"\"elements\":2",
		"\"policy\":{\"refused\":\"eager\",\"recordings\":null,"
		"\"warmups\":3,\"dry\":0,\"retry\":16,\"keys\":0,\"verify\":0,"
		"\"differs\":\"eager\",\"bytes\":100000000}",
		"\"keys\":[{\"hex\":\"00000000\",",
		"\"calls\":1,\"warmups\":2,\"dry\":0,",
		"\"wait\":16,\"refused\":\"its body refused to be recorded: "};

	use_function(f, r);
	for (int snapshot = 0; snapshot < 2; snapshot++) {
		if (snapshot)
			OK(philox_runner_snapshot(r, path_a));
		else
			OK(philox_plan_save(r, path_a));
		inspected(0, "--json");
		for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
			SAID(both[i]);
	}
}

Test(tools_plan, of_many_keys_is_still_short)
{
	static char text[1 << 16];
	size_t length = (size_t)snprintf(
		text, sizeof(text),
		"philox plan 2\nlibrary \"0.1.0\"\nrunner live 0 mapped 0\n"
		"function \"f\" forward flags 0\n" POLICY);

	for (int i = 0; i < 200; i++)
		length += (size_t)snprintf(
			text + length, sizeof(text) - length,
			"key %02x script none calls 1 warmups 0 dry 0 wasted "
			"0 patience 0 recordings 1 unplayed 0 prepared 0 bytes 1 wait 0\n",
			i);
	write_to(path_a, plan_signed(text));
	inspected(0, NULL);
	SAID("    key c7: calls 1, recordings 1\n");
	SAID("    and 188 more\n");
	cr_assert_lt(strlen(said), 1500u);
}

Test(tools_plan, that_is_wrong_is_named_by_its_line)
{
	write_to(path_a, plan_changed(plan, "refused eager", "refused eagle"));
	inspected(2, NULL);
	SAID("line 9: 'eager' or 'error' expected");
	write_to(path_a, "philox plan 3\n");
	inspected(2, "--json");
	SAID("the text has version 3, the newest this library reads is 2");
	write_to(path_a, plan_signed(plan));
	inspected(2, "--svg");
	SAID("is a plan: --svg takes");
}

/* One that another library wrote cannot be loaded, but read. */
Test(tools_plan, of_another_library_is_shown)
{
	write_to(path_a, plan_changed(plan, "0.1.0", "9.0.0"));
	inspected(0, NULL);
	SAID("library \"9.0.0\"\n");
}

/* --- diff ----------------------------------------------------------------- */

static const struct {
	const char *from, *to, *says;
} differences[] = {
	{"library \"0.1.0\"", "library \"0.2.0\"",
	 "the plan: library \"0.1.0\" in A, \"0.2.0\" in B\n"},
	{"runner live 8192", "runner live 4096",
	 "the pool: live at its peak 8192 in A, 4096 in B\n"},
	{"mapped 2097152", "mapped 0",
	 "the pool: mapped at its peak 2097152 in A, 0 in B\n"},
	{"\"mlp\"", "\"norm\"", "function \"mlp\" is in A only\n"},
	{"\"mlp\"", "\"gelu\"", "function \"gelu\" is in B only\n"},
	{"inference", "forward",
	 "function \"mlp\": mode \"inference\" in A, \"forward\" in B\n"},
	{"flags 1\n", "flags 0\n", "function \"mlp\": flags 1 in A, 0 in B\n"},
	{"input \"x\"", "input \"z\"",
	 "function \"attention\", input 0: name \"x\" in A, \"z\" in B\n"},
	{"automatic flags 0", "automatic flags 3",
	 "function \"attention\", input 1: flags 0 in A, 3 in B\n"},
	{"alignment 16", "alignment 32",
	 "function \"attention\", input 0: alignment 16 in A, 32 in B\n"},
	{"output \"y\" elements 1", "output \"y\" elements 2",
	 "function \"attention\", output 0: elements 1 in A, 2 in B\n"},
	{"\"rate\" bytes 4", "\"rate\" bytes 8",
	 "function \"attention\", value 0: bytes 4 in A, 8 in B\n"},
	{"output \"y\" elements 1\n",
	 "output \"y\" elements 1\noutput \"z\" elements 1\n",
	 "function \"attention\": outputs 1 in A, 2 in B\n"},
	{"recordings 64 warmups", "recordings 66 warmups",
	 "function \"attention\": policy.recordings 64 in A, 66 in B\n"},
	{"refused eager", "refused error",
	 "function \"attention\": policy.refused 0 in A, 1 in B\n"},
	{"waste wasted 0 patience 0", "waste wasted 0 patience 8",
	 "function \"attention\": its patience 0 in A, 8 in B\n"},
	{"retry 16", "retry never",
	 "function \"attention\": policy.retry 16 in A, never in B\n"},
	{"step free 0\n", "",
	 "key 6f6e65 'one', step 4 of its body: a free of its allocation 0 in "
	 "A, value \"rate\" in B\n"},
	{"step alloc 4096", "step alloc 8192",
	 "step 3 of its body: an allocation of 4096 bytes, alignment 512 in A, "
	 "an allocation of 8192 bytes, alignment 512 in B\n"},
	{"step output 0 bytes 4096\n", "",
	 "step 6 of its body: output \"y\" of 4096 bytes in A, the end in B\n"},
	{"key - script none", "key - script 0",
	 "key -: what its body does is known in B only\n"},
	{"key 6f6e65", "key 6f6e",
	 "function \"attention\", key 6f6e 'on' is in B only\n"},
	{" label \"batch 32\"", " label \"batch 64\"",
	 "function \"attention\", key 6f6e65 'one': label \"batch 32\" in A, "
	 "\"batch 64\" in B\n"},
	{" label \"batch 32\"", "",
	 "key 6f6e65 'one': label \"batch 32\" in A, \"\" in B\n"},
	{"key 00ff", "key 00fe",
	 "function \"attention\", key 00fe is in B only\n"},
	{"calls 7", "calls 8", "key 6f6e65 'one': calls 7 in A, 8 in B\n"},
	{"warmups 2", "warmups 1",
	 "key 00ff: warm-ups to come 2 in A, 1 in B\n"},
	{"recordings 3", "recordings 4", ": recordings 3 in A, 4 in B\n"},
	{"unplayed 1", "unplayed 0", ": never replayed 1 in A, 0 in B\n"},
	{"prepared 1", "prepared 0", ": prepared 1 in A, 0 in B\n"},
	{"bytes 6144", "bytes 6145", ": bytes 6144 in A, 6145 in B\n"},
	{"wait 14", "wait 13", "key 00ff: wait 14 in A, 13 in B\n"},
	{"wait never", "wait 5", "key -: wait never in A, 5 in B\n"},
	{"14 refused \"it is odd\"", "14 refused \"it is even\"",
	 "key 00ff: it waits, since \"it is odd\" in A, since \"it is even\" in B\n"},
	{"takes 64 moves 3", "takes 64 moves 4",
	 "key 6f6e65 'one', input 1: moves 3 in A, 4 in B\n"},
	{"moves 3 copied", "moves 3",
	 "key 6f6e65 'one', input 1 is copied in A only\n"},
	{"barred 9f86d081884c7d65 41", "barred 9f86d081884c7d65 40",
	 "barred ticket 0: serial 41 in A, 40 in B\n"},
	{"barred 9f86d081884c7d65 42", "barred 9f86d081884c7d66 42",
	 "barred ticket 1: region 9f86d081884c7d65 in A, 9f86d081884c7d66 in"},
	{"by \"old\" destroyed", "by \"mlp\" destroyed",
	 "barred ticket 1: function \"old\" in A, \"mlp\" in B\n"},
	{"barred 9f86d081884c7d65 42 by \"old\" destroyed for \"it broke\"\n",
	 "", "the runner: barred tickets 2 in A, 1 in B\n"},
};

Test(tools_plan, that_differs_is_told_by_its_first_difference)
{
	write_to(path_a, plan_signed(plan));
	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]);
	     i++) {
		write_to(path_b, plan_changed(plan, differences[i].from,
					      differences[i].to));
		compared(1);
		SAID(differences[i].says);
	}
}

Test(tools_plan, with_keys_called_in_another_order_differs)
{
	static const char keys[] =
		"philox plan 2\nlibrary \"0.1.0\"\nrunner live 0 mapped 0\n"
		"function \"f\" forward flags 0\n" POLICY
		"key 00 script none calls 1 warmups 0 dry 0 wasted 0 patience 0 "
		"recordings 0 unplayed 0 prepared 0 bytes 0 wait 0\n"
		"key 01 script none calls 1 warmups 0 dry 0 wasted 0 patience 0 "
		"recordings 0 unplayed 0 prepared 0 bytes 0 wait 0\n";
	static char other[sizeof(keys)];

	memcpy(other, keys, sizeof(keys));
	*(strstr(other, "key 00") + 5) = '1';
	*(strstr(strstr(other, "key 01") + 1, "key 01") + 5) = '0';
	write_to(path_a, plan_signed(keys));
	write_to(path_b, plan_signed(other));
	compared(1);
	SAID("function \"f\": the order of the last calls of its keys: number 1 "
	     "is 00 in A, 01 in B\n");
}

Test(tools_plan, that_is_the_same_is_told_so)
{
	char *argv[] = {(char *)"diff", (char *)"--passes", path_a, path_b,
			NULL};

	write_to(path_a, plan_signed(plan));
	write_to(path_b, plan_signed(plan));
	compared(0);
	SAID("no difference: functions 2, keys 3, barred tickets 2\n");
	cr_assert_eq(run_tool(tool_diff, 4, argv), 2);
	SAID("are plans, not journals");
	write_to(path_b, "philox context 1\nchecksum 0 bytes 0\n");
	compared(2);
}
