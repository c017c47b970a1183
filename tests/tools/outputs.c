/*
 * tests/tools/outputs.c - philox inspect and philox diff of saved outputs
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner_resume.h"
#include "tools/tools.h"

static char folder[] = "/tmp/philox-outputs-XXXXXX";
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

TestSuite(tools_outputs, .init = make_folder, .fini = remove_folder,
	  .timeout = 120);

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

static void write_to(const char *path, const char *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");

	cr_assert(file && fwrite(bytes, 1, n, file) == n && !fclose(file));
}

/* --- inspect -------------------------------------------------------------- */

/* Of a run that stopped in the middle of a step. */
static struct stopped made(void)
{
	struct fixture f;
	struct accum t;
	struct stopped stopped;

	fixture_open(&f, "host:sync");
	accum_make(&t, &f, make_runner_of(&f, "runner", 0));
	accum_stop(&t);
	stopped_save(&stopped, &t);
	fixture_close(&f);
	return stopped;
}

Test(tools_outputs, are_summed_up)
{
	struct stopped stopped = made();

	write_to(path_a, stopped.outputs, stopped.bytes);
	inspected(0, NULL);
	SAID("outputs of runner \"runner\", digest ");
	SAID("\n\noutputs 5, blocks 5, bytes 640\n"
	     "  \"y\" of \"forth\", label \"micro 1\": bytes 128, block 0, "
	     "digest ");
	SAID(", path 1, ticket 2 of region \"layer\"\n"
	     "  \"echo\" of \"forth\", label \"micro 1\": ");
	SAID("  \"sum\" of \"add\", label \"grad\": bytes 128, block 4, "
	     "digest ");
	SAID(", path 3\n\n"
	     "tickets that keep outputs 2\n"
	     "  ticket 2 of region \"layer\": path 1\n"
	     "  ticket 3 of region \"layer\": path 2\n");
	stopped_free(&stopped);
}

Test(tools_outputs, in_memory_of_the_caller_are_said_to_be)
{
	static const char lines[] =
		"philox outputs 1\nrunner \"runner\"\n"
		"output \"a\" \"y\" label \"\" block none at 0 bytes 7 elements "
		"1 path 1 digest cbf29ce484222325\ndata 0\n\n";
	char text[512];

	snprintf(text, sizeof(text), "%schecksum %016" PRIx64 " bytes %zu\n",
		 lines, fnv1a(lines), strlen(lines));
	write_to(path_a, text, strlen(text));
	inspected(0, NULL);
	SAID("outputs 1, blocks 0, bytes 0\n"
	     "  \"y\" of \"a\": bytes 7, in memory of the caller, path 1\n");
	inspected(0, "--json");
	SAID("\"label\":\"\",\"at\":0,\"bytes\":7,");
}

Test(tools_outputs, are_printed_as_json)
{
	struct stopped stopped = made();

	write_to(path_a, stopped.outputs, stopped.bytes);
	inspected(0, "--json");
	SAID("{\"kind\":\"outputs\",\"runner\":\"runner\",\"digest\":\"");
	SAID("\"bytes\":640,\"blocks\":[{\"bytes\":128,\"alignment\":");
	SAID("\"tag\":\"grad\",\"from\":0,\"saved\":128}]");
	SAID("\"outputs\":[{\"function\":\"forth\",\"output\":\"y\",\"label\":"
	     "\"micro 1\",\"block\":0,\"at\":0,\"bytes\":128,\"elements\":0,"
	     "\"path\":1,\"digest\":\"");
	SAID("\"tie\":{\"region\":\"layer\",\"serial\":2}}");
	SAID("\"owed\":[{\"region\":\"layer\",\"serial\":2,\"path\":1},");
	inspected(2, "--svg");
	SAID("is a file of saved outputs: --svg takes");
	stopped_free(&stopped);
}

Test(tools_outputs, that_are_wrong_are_named_by_their_line)
{
	struct stopped stopped = made();

	write_to(path_a, stopped.outputs, stopped.bytes - 1);
	inspected(2, NULL);
	SAID("where the text ends");
	stopped.outputs[40] ^= 1;
	write_to(path_a, stopped.outputs, stopped.bytes);
	inspected(2, NULL);
	SAID("line ");
	stopped_free(&stopped);
}

/* The text of a context says which outputs belong to it. */
Test(tools_outputs, are_named_by_the_text_of_a_context)
{
	struct stopped stopped = made();
	char digest[64];
	const char *line =
		strstr(stopped.context, "outputs \"runner\" digest ");

	cr_assert(line);
	snprintf(digest, sizeof(digest), "  \"runner\": digest %.16s\n",
		 line + strlen("outputs \"runner\" digest "));
	write_to(path_a, stopped.context, strlen(stopped.context));
	inspected(0, NULL);
	SAID("\noutputs of runners 1\n");
	SAID(digest);
	inspected(0, "--json");
	SAID("\"outputs\":[{\"runner\":\"runner\",\"digest\":\"");
	stopped_change(&stopped, "micro 2", "micro 7");
	write_to(path_b, stopped.context, strlen(stopped.context));
	compared(1);
	SAID("outputs \"runner\": digest ");
	stopped_free(&stopped);
}

/* --- diff ----------------------------------------------------------------- */

static const struct {
	const char *from, *to, *says;
} differences[] = {
	{"runner \"runner\"", "runner \"other\"",
	 "runner \"runner\" in A, \"other\" in B\n"},
	{"label \"micro 1\" block 1", "label \"\" block 1",
	 "output \"echo\" of \"forth\", label \"micro 1\": it is in A where B "
	 "has another\n"},
	{"elements 3", "elements 4",
	 "output \"sum\" of \"add\", label \"grad\": elements 3 in A, 4 in B\n"},
	{" tie \"layer\" 2\n", "\n",
	 "output \"y\" of \"forth\", label \"micro 1\": is tied to a ticket in "
	 "A only\n"},
	{"tie \"layer\" 2", "tie \"layer\" 4",
	 "output \"y\" of \"forth\", label \"micro 1\": ticket 2 in A, 4 in "
	 "B\n"},
	{"tie \"layer\" 2", "tie \"other\" 2",
	 "region \"layer\" in A, "
	 "\"other\" in B\n"},
	{"owed \"layer\" 3", "owed \"layer\" 9",
	 "outputs are kept for ticket 3 of region \"layer\" in A, for ticket 9 "
	 "of region \"layer\" in B\n"},
	{"owed \"layer\" 3 path 2\n", "",
	 "tickets that keep outputs 2 in A, 1 in B\n"},
	{"alignment 512", "alignment 2048", NULL},
};

Test(tools_outputs, that_differ_are_named)
{
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences);
	     i++) {
		struct stopped stopped = made();

		write_to(path_a, stopped.outputs, stopped.bytes);
		stopped_change(&stopped, differences[i].from,
			       differences[i].to);
		write_to(path_b, stopped.outputs, stopped.bytes);
		compared(differences[i].says != NULL);
		SAID(differences[i].says
			     ? differences[i].says
			     : "no difference: outputs 5, bytes 640\n");
		stopped_free(&stopped);
	}
}

/* Two runs whose forwards drew other numbers. */
Test(tools_outputs, of_other_bytes_are_named_by_the_first)
{
	struct stopped stopped = made();
	struct fixture f;
	struct accum t;
	struct numbers one, other;
	char text[64];
	size_t at = 0;

	write_to(path_a, stopped.outputs, stopped.bytes);
	stopped_free(&stopped);
	fixture_open(&f, "host:sync");
	accum_make(&t, &f, make_runner_of(&f, "runner", 0));
	accum_stop(&t);
	one = read_numbers(&f, t.y[1].address);
	fixture_close(&f);
	fixture_open(&f, "host:sync");
	OK(philox_generator_seed(philox_context_generator(f.context), 8));
	accum_make(&t, &f, make_runner_of(&f, "runner", 0));
	accum_stop(&t);
	other = read_numbers(&f, t.y[1].address);
	stopped_save(&stopped, &t);
	write_to(path_b, stopped.outputs, stopped.bytes);
	fixture_close(&f);
	while (((unsigned char *)&one)[at] == ((unsigned char *)&other)[at])
		at++;
	snprintf(text, sizeof(text), "byte %zu is 0x%02x in A, 0x%02x in B\n",
		 at, ((unsigned char *)&one)[at],
		 ((unsigned char *)&other)[at]);
	compared(1);
	SAID("output \"y\" of \"forth\", label \"micro 1\": ");
	SAID(text);
	stopped_free(&stopped);
}
