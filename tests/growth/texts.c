/*
 * tests/growth/texts.c - no command's cost grows with the square of what is in a
 * file
 *
 * With 8 n things in it, each command takes at most 12 times the steps that it
 * takes with n (tests/growth/count.h).
 *
 *   texts [TEXT...]    names as "regions"; all of them without
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/base/base.h"
#include "tests/growth/count.h"
#include "tools/tools.h"

#define TIMES 8
#define MOST  12

static const size_t sizes[] = {500, 1500};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static FILE *out; /* the text that is made */

/* --- journals ------------------------------------------------------------- */

static size_t event_number;

#define EVENT(...)                                                          \
	(fprintf(out, "0 %zu ", ++event_number), fprintf(out, __VA_ARGS__), \
	 fputc('\n', out))

static void begin_journal(void)
{
	event_number = 0;
	fputs("philox journal 1\n", out);
	EVENT("context digest 0000000000000000");
}

static void pass(const char *what, size_t region, size_t ticket)
{
	EVENT("%s region \"region %zu\" ticket %zu seed 9f86d081884c7d65 offset "
	      "%zu flags none",
	      what, region, ticket, 4 * ticket);
}

static void whole_pass(const char *kind, size_t region, size_t ticket)
{
	char begin[32], commit[32];

	snprintf(begin, sizeof(begin), "%s-begin", kind);
	snprintf(commit, sizeof(commit), "%s-commit", kind);
	pass(begin, region, ticket);
	pass(commit, region, ticket);
}

/* A forward of each region, then a backward of each. */
static void write_regions(size_t n)
{
	begin_journal();
	for (size_t i = 0; i < n; i++)
		whole_pass("forward", i, 1);
	for (size_t i = 0; i < n; i++)
		whole_pass("backward", i, 1);
}

/* Of one region; the oldest is used up first. */
static void write_tickets(size_t n)
{
	begin_journal();
	for (size_t i = 1; i <= n; i++)
		whole_pass("forward", 0, i);
	for (size_t i = 1; i <= n; i++)
		whole_pass("backward", 0, i);
}

/* Passes that are open at once: the oldest, or the newest, is committed first. */
static void write_open(size_t n)
{
	begin_journal();
	for (size_t i = 1; i <= n; i++)
		pass("forward-begin", 0, i);
	for (size_t i = 1; i <= n; i++)
		pass("forward-commit", 0, i);
}

static void write_nested(size_t n)
{
	begin_journal();
	for (size_t i = 1; i <= n; i++)
		pass("forward-begin", 0, i);
	for (size_t i = n; i; i--)
		pass("forward-commit", 0, i);
}

/* Passes of one ticket that are open at once, which nothing tells apart. */
static void write_readers(size_t n)
{
	begin_journal();
	whole_pass("forward", 0, 1);
	for (size_t i = 0; i < n; i++)
		pass("backward-begin", 0, 1);
	for (size_t i = 0; i < n; i++)
		pass("backward-commit", 0, 1);
}

static void use(size_t i, size_t region, size_t ticket)
{
	EVENT("launch-use use %zu pass forward region \"region %zu\" ticket %zu "
	      "seed 9f86d081884c7d65 offset %zu flags none",
	      i, region, ticket, 4 * ticket);
}

/* Two launches, of as many passes as regions. */
static void write_uses(size_t n)
{
	begin_journal();
	for (size_t k = 1; k <= 2; k++) {
		EVENT("launch-begin graph \"g\" sequence %zu uses %zu", k, n);
		for (size_t i = 0; i < n; i++)
			use(i, i, k);
		EVENT("launch-commit graph \"g\" sequence %zu", k);
	}
}

/* Each pass of a launch is repeated in it. */
static void write_repeats(size_t n)
{
	begin_journal();
	EVENT("launch-begin graph \"g\" sequence 1 uses %zu", 2 * n);
	for (size_t i = 0; i < n; i++)
		use(i, 0, i + 1);
	for (size_t i = 0; i < n; i++)
		EVENT("launch-use use %zu pass repeat region \"region 0\" "
		      "forward %zu",
		      n + i, i);
	EVENT("launch-commit graph \"g\" sequence 1");
}

/* Launches of as many graphs that are under way at once. */
static void begin_launches(size_t n)
{
	begin_journal();
	for (size_t i = 0; i < n; i++) {
		EVENT("launch-begin graph \"graph %zu\" sequence 1 uses 1", i);
		use(0, 0, i + 1);
	}
}

static void write_launches(size_t n)
{
	begin_launches(n);
	for (size_t i = 0; i < n; i++)
		EVENT("launch-commit graph \"graph %zu\" sequence 1", i);
}

static void write_aborts(size_t n)
{
	begin_launches(n);
	for (size_t i = 0; i < n; i++)
		EVENT("launch-abort graph \"graph %zu\" sequence 1 status "
		      "PHILOX_ERROR_DEVICE",
		      i);
}

/* Launches that nothing tells apart: of graphs of one name, at once. */
static void write_twins(size_t n)
{
	begin_journal();
	for (size_t i = 0; i < n; i++) {
		EVENT("launch-begin graph \"g\" sequence 1 uses 1");
		use(0, 0, i + 1);
	}
	for (size_t i = 0; i < n / 2; i++)
		EVENT("launch-commit graph \"g\" sequence 1");
	for (size_t i = n / 2; i < n; i++)
		EVENT("launch-abort graph \"g\" sequence 1 status "
		      "PHILOX_ERROR_DEVICE");
}

static void write_captures(size_t n)
{
	begin_journal();
	for (size_t i = 1; i <= n; i++)
		EVENT("capture-begin capture %zu", i);
	for (size_t i = 1; i <= n; i++)
		EVENT("capture-drop capture %zu passes 0", i);
}

/* All regions have tickets pending, and no load forgets more than there are. */
static void write_loads(size_t n)
{
	begin_journal();
	for (size_t i = 0; i < n; i++)
		whole_pass("forward", i, 1);
	for (size_t i = 0; i < n; i++)
		EVENT("context-load digest 0000000000000000");
}

static void write_contexts(size_t n)
{
	fputs("philox journal 1\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%zu 1 context digest 0000000000000000\n", i);
		fprintf(out,
			"%zu 2 forward-begin region \"r\" ticket 1 seed "
			"9f86d081884c7d65 offset 4 flags none\n",
			i);
		fprintf(out,
			"%zu 3 forward-commit region \"r\" ticket 1 seed "
			"9f86d081884c7d65 offset 4 flags none\n",
			i);
	}
}

/* --- runners -------------------------------------------------------------- */

static void begin_runner(size_t recordings, size_t functions)
{
	fprintf(out,
		"philox runner 2\nrunner \"r\" mode plain calls %zu made %zu "
		"functions %zu live 0\n",
		recordings, recordings, functions);
}

static void write_function(size_t i, size_t keys, size_t recordings)
{
	fprintf(out,
		"function %zu \"function %zu\" there inference flags 0 inputs 0 "
		"outputs 0 values 0 keys %zu recordings %zu\n",
		i, i, keys, recordings);
	fputs("policy refused error recordings never warm-ups 0 dry 0 retry 0 "
	      "keys 0 verify 0 differs error bytes 0\n"
	      "calls eager 0 warm-up 0 record 0 replay 0 failed 0\n"
	      "bodies 0 dry 0 checking 0 prepared 0\n"
	      "misses new 0 moved 0 live 0 stale 0 evicted 0 bound 0 refused 0 "
	      "eager 0 agreed 0\n"
	      "verified 0 differed 0 unverified 0\n"
	      "kept dropped 0 evicted 0 unplayed 0 bytes 0 pool 0 copies 0\n"
	      "reason \"\"\n",
	      out);
	for (size_t k = 1; k <= keys; k++)
		fprintf(out,
			"key %zu size 4 %08zx calls 1 warm-ups 0 dry 0 wait 0 "
			"refused \"\"\n",
			k, k);
}

static void write_recording(size_t number, size_t key)
{
	fprintf(out,
		"recording %zu key %zu replays 1 by call bytes 0 passes 0 "
		"writes 0 ranges 0\n",
		number, key);
}

static void write_keeping(size_t serial, size_t recording)
{
	fprintf(out, "ticket \"region\" serial %zu keeps 1 bytes 8 function 1",
		serial);
	if (recording)
		fprintf(out, " recording %zu", recording);
	fputs(" call 1\nkeep \"mask\" function \"\" elements 0 bytes 8\n", out);
}

static void write_program(size_t recording, size_t bodies)
{
	fprintf(out, "program %zu takes 0 steps %zu lost 0 nodes %zu\n",
		recording, 2 * bodies, bodies);
	for (size_t i = 1; i <= bodies; i++)
		fprintf(out,
			"step body %zu node %zu of if limit 0\nstep end %zu\n",
			i, i, i);
	for (size_t i = 1; i <= bodies; i++)
		fprintf(out, "nodes 1 of kernel named \"\" body %zu\n", i);
}

static void end_runner(void)
{
	fputs("begin pool\n"
	      "philox pool 1\n"
	      "pool \"r\" plain flags 0 unit 512 step 0 limit 0\n"
	      "session none graphs 0\n"
	      "mapped 0 peak 0 pinned 0\n"
	      "live 0 peak 0 requested 0 blocks 0\n"
	      "free 0 largest 0\n"
	      "counts allocations 0 frees 0 growths 0 trims 0 checkpoints 0 "
	      "restores 0 rollbacks 0 waits 0\n"
	      "end pool\n",
	      out);
}

/* A recording of each key, and a ticket of each recording. */
static void write_recordings(size_t n)
{
	begin_runner(n, 1);
	write_function(1, n, n);
	for (size_t i = 1; i <= n; i++)
		write_recording(i, i);
	for (size_t i = 1; i <= n; i++)
		write_keeping(i, i);
	for (size_t i = 1; i <= n; i++)
		write_program(i, 0);
	end_runner();
}

/* Functions without recordings; the first has all tickets. */
static void write_functions(size_t n)
{
	begin_runner(n, n);
	for (size_t i = 1; i <= n; i++)
		write_function(i, 0, 0);
	for (size_t i = 1; i <= n; i++)
		write_keeping(i, 0);
	end_runner();
}

static void write_bodies(size_t n)
{
	begin_runner(1, 1);
	write_function(1, 1, 1);
	write_recording(1, 1);
	write_program(1, n);
	end_runner();
}

/* --- contexts ------------------------------------------------------------- */

static void write_context(size_t n)
{
	fputs("philox context 1\n", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"generator %zu state 000000000000002a "
			"0000000000000000\n",
			i);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"region \"region %08zu\" alive generator %zu flags 0 "
			"next 9f86d081884c7d65 0000000000000008 serial 3\n"
			"op \"op\" calls 1 advance 4\n"
			"ticket 2 state 9f86d081884c7d65 0000000000000004\n",
			i, i);
}

static void write_pool(size_t n)
{
	fprintf(out,
		"philox pool 1\n"
		"pool \"p\" plain flags 0 unit 512 step 0 limit 0\n"
		"session none graphs 0\n"
		"mapped %zu peak %zu pinned 0\n"
		"live %zu peak %zu requested %zu blocks %zu\n"
		"free 0 largest 0\n"
		"counts allocations %zu frees 0 growths 0 trims 0 checkpoints 0 "
		"restores 0 rollbacks 0 waits 0\n",
		512 * n, 512 * n, 512 * n, 512 * n, n, n, n);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"segment %zu extents 1 bytes 512\n"
			"extent %zu offset 0 bytes 512 loose\n"
			"block offset 0 bytes 512 live %zu size 1 tag \"tag "
			"%zu\"\n",
			i, i + 1, i + 1, i);
}

/* --- sets ----------------------------------------------------------------- */

static char text_path[64], other_path[64];

/* Ends a text that began at a size, and puts it into the file of its rank. */
static void end_rank(const char *bytes, size_t size, size_t rank)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%zu", text_path, rank);
	file = fopen(path, "w");
	if (!file)
		exit(1);
	fwrite(bytes, 1, size, file);
	fprintf(file, "checksum %016" PRIx64 " bytes %zu\n",
		hash_text(bytes, size), size);
	fclose(file);
}

/* Each rank has a name that no other has had. */
static void write_rank(FILE *file, size_t rank, size_t ranks)
{
	fprintf(file,
		"philox context 4\n"
		"axis \"data\" size %zu at %zu\n"
		"generator 0 state 000000000000002a 0000000000000000\n"
		"region \"gone %08zu\" destroyed generator 0 next "
		"9f86d081884c7d65 0000000000000008 serial 3\n"
		"region \"noise\" alive generator 0 flags 0 next "
		"%016zx 0000000000000008 serial 3\n"
		"differs \"data\"\n"
		"op \"op\" calls 1 advance 4\n"
		"region \"shared\" alive generator 0 flags 0 next "
		"9f86d081884c7d65 0000000000000008 serial 3\n"
		"op \"op\" calls 1 advance 4\n",
		ranks, rank, rank, rank);
}

/* All their texts differ, so that all are needed. */
static void write_set(size_t n)
{
	fprintf(out, "philox set 1\naxis \"data\" size %zu\n", n);
	for (size_t rank = 0; rank < n; rank++) {
		size_t size;
		char *bytes;
		FILE *file = open_memstream(&bytes, &size);

		if (!file)
			exit(1);
		write_rank(file, rank, n);
		fclose(file);
		end_rank(bytes, size, rank);
		fprintf(out, "text %zu checksum %016" PRIx64 " bytes %zu\n",
			rank, hash_text(bytes, size), size);
		free(bytes);
	}
}

/* --- texts and commands --------------------------------------------------- */

/* What a text is: a journal, the snapshot of a runner, ... */
#define JOURNAL "journal"
#define RUNNER  "runner"
#define CONTEXT "context"
#define POOL    "pool"
#define SET     "set"

static const struct text {
	const char *name;
	const char *kind;
	void (*write)(size_t n);
	size_t n; /* else the usual ones */
} texts[] = {
	{"regions", JOURNAL, write_regions, 0},
	{"tickets", JOURNAL, write_tickets, 0},
	{"open", JOURNAL, write_open, 0},
	{"nested", JOURNAL, write_nested, 0},
	{"readers", JOURNAL, write_readers, 0},
	{"uses", JOURNAL, write_uses, 0},
	{"repeats", JOURNAL, write_repeats, 0},
	{"launches", JOURNAL, write_launches, 0},
	{"aborts", JOURNAL, write_aborts, 0},
	{"twins", JOURNAL, write_twins, 0},
	{"captures", JOURNAL, write_captures, 0},
	{"loads", JOURNAL, write_loads, 0},
	{"contexts", JOURNAL, write_contexts, 0},
	{"recordings", RUNNER, write_recordings, 0},
	{"functions", RUNNER, write_functions, 0},
	{"bodies", RUNNER, write_bodies, 0},
	{"context", CONTEXT, write_context, 0},
	{"pool", POOL, write_pool, 0},
	{"set", SET, write_set, 24},
};

#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

/* What is done with each text of some kinds. */
static const struct line {
	const char *name;
	const char *kinds;
	int (*tool)(int argc, char **argv);
	const char *words[6]; /* "A": the text, "OUT": another file */
} lines[] = {
	{"inspect",
	 JOURNAL RUNNER CONTEXT POOL,
	 tool_inspect,
	 {"inspect", "A"}},
	{"inspect --json",
	 JOURNAL RUNNER CONTEXT POOL,
	 tool_inspect,
	 {"inspect", "--json", "A"}},
	{"inspect --trace",
	 JOURNAL,
	 tool_inspect,
	 {"inspect", "--trace", "OUT", "A"}},
	{"inspect --svg",
	 JOURNAL POOL,
	 tool_inspect,
	 {"inspect", "--svg", "A"}},
	{"diff", JOURNAL CONTEXT, tool_diff, {"diff", "A", "A"}},
	{"diff --passes", JOURNAL, tool_diff, {"diff", "--passes", "A", "A"}},
	{"explain", RUNNER, tool_explain, {"explain", "A"}},
	{"explain --diff",
	 RUNNER,
	 tool_explain,
	 {"explain", "--diff", "A", "A"}},
	{"merge of contexts",
	 CONTEXT,
	 tool_merge,
	 {"merge", "--mesh", "data=2", "A", "OUT"}},
	{"merge", SET, tool_merge, {"merge", "--mesh", "data=2", "A", "OUT"}},
	{"inspect of a set", SET, tool_inspect, {"inspect", "A"}},
};

#define N_LINES (sizeof(lines) / sizeof(lines[0]))

/* --- files ---------------------------------------------------------------- */

static char folder[] = "/tmp/philox-growth-XXXXXX";
static void make_folder(void)
{
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(1);
	}
	snprintf(text_path, sizeof(text_path), "%s/text", folder);
	snprintf(other_path, sizeof(other_path), "%s/other", folder);
}

static void remove_all_of(const char *path)
{
	char of_rank[96];
	size_t rank = 0;

	unlink(path);
	do
		snprintf(of_rank, sizeof(of_rank), "%s.%zu", path, rank++);
	while (!unlink(of_rank));
}

static void remove_folder(void)
{
	remove_all_of(text_path);
	rmdir(folder);
}

static void write_file(const struct text *text, size_t n)
{
	FILE *file = fopen(text_path, "w");
	size_t size;
	char *bytes;

	out = open_memstream(&bytes, &size);
	if (!out || !file)
		exit(1);
	text->write(n);
	fflush(out);
	if (strcmp(text->kind, JOURNAL) != 0)
		fprintf(out, "checksum %016" PRIx64 " bytes %zu\n",
			hash_text(bytes, size), size);
	fclose(out);
	fwrite(bytes, 1, size, file);
	fclose(file);
	free(bytes);
}

/* --- runs ----------------------------------------------------------------- */

static unsigned passed, failed;
static FILE *report; /* where standard output was */

/* The steps of a command, whose output nobody reads. */
static uint64_t count(const struct line *line)
{
	char *argv[7] = {NULL};
	int argc = 0, status;

	for (; line->words[argc]; argc++)
		argv[argc] = !strcmp(line->words[argc], "A") ? text_path
			     : !strcmp(line->words[argc], "OUT")
				     ? other_path
				     : (char *)(uintptr_t)line->words[argc];
	steps = 0;
	status = line->tool(argc, argv);
	fflush(stdout);
	remove_all_of(other_path);
	if (!status)
		return steps;
	fprintf(report, "FAILED  %s: exit status %d\n", line->name, status);
	exit(1);
}

static void check(const struct text *text, const struct line *line, size_t n,
		  uint64_t few, uint64_t many)
{
	int fine = few > 0 && many <= MOST * few;

	passed += fine;
	failed += !fine;
	fprintf(report,
		"%s  %s, %s: %.1f steps each of %zu, %.2f times as many in all "
		"for %d times as many\n",
		fine ? "ok    " : "FAILED", text->name, line->name,
		(double)few / (double)n, n, (double)many / (double)few, TIMES);
	fflush(report);
}

static void check_text(const struct text *text, size_t n)
{
	uint64_t few[N_LINES] = {0};

	write_file(text, n);
	for (size_t i = 0; i < N_LINES; i++)
		if (strstr(lines[i].kinds, text->kind))
			few[i] = count(&lines[i]);
	write_file(text, TIMES * n);
	for (size_t i = 0; i < N_LINES; i++)
		if (strstr(lines[i].kinds, text->kind))
			check(text, &lines[i], n, few[i], count(&lines[i]));
}

static void check_sizes(const struct text *text)
{
	if (text->n)
		check_text(text, text->n);
	for (size_t i = 0; !text->n && i < N_SIZES; i++)
		check_text(text, sizes[i]);
}

static int is_named(const struct text *text, char **names)
{
	char **name = names;

	while (*name && strcmp(*name, text->name))
		name++;
	return *name || !*names;
}

int main(int argc, char **argv)
{
	(void)argc;
	report = fdopen(dup(1), "w");
	if (!report || !freopen("/dev/null", "w", stdout))
		return 1;
	make_folder();
	for (size_t i = 0; i < N_TEXTS; i++)
		if (is_named(&texts[i], argv + 1))
			check_sizes(&texts[i]);
	remove_folder();
	fprintf(report, "%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
