/*
 * tests/tools/diff.c - philox diff names the first difference, philox inspect
 * the contents
 *
 * The commands are called as functions; their output goes into a file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/support.h"
#include "tools/tools.h"

static char folder[] = "/tmp/philox-diff-XXXXXX";
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

TestSuite(diff, .init = make_folder, .fini = remove_folder, .timeout = 120);

/* --- running a command ---------------------------------------------------- */

static struct {
	int status;
	char text[16384]; /* of both streams */
} said;

static void run_line(int (*tool)(int argc, char **argv), int argc,
		     char **arguments)
{
	int out = dup(1), error = dup(2), file;
	ssize_t size;

	fflush(stdout);
	file = open(path_out, O_RDWR | O_CREAT | O_TRUNC, 0600);
	cr_assert(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2);
	said.status = tool(argc, arguments);
	fflush(stdout);
	dup2(out, 1);
	dup2(error, 2);
	close(out);
	close(error);
	size = pread(file, said.text, sizeof(said.text) - 1, 0);
	cr_assert_geq(size, 0);
	said.text[size] = '\0';
	close(file);
}

static void run(int (*tool)(int argc, char **argv), const char *name,
		const char *first, const char *second)
{
	char *arguments[] = {(char *)name, (char *)first, (char *)second, NULL};

	run_line(tool, second ? 3 : first ? 2 : 1, arguments);
}

static void expect(int status, const char *part)
{
	cr_assert(said.status == status, "status %d, not %d: %s", said.status,
		  status, said.text);
	cr_assert(strstr(said.text, part), "no \"%s\" in: %s", part, said.text);
}

static void diff(int status, const char *part)
{
	run(tool_diff, "diff", path_a, path_b);
	expect(status, part);
}

/* --- saved contexts ------------------------------------------------------- */

/* The difference between the two; each is made in its own context. */
struct setup {
	const char *says; /* of A, the plain one, and B, this one */
	uint64_t seed, advance;
	unsigned generators, forwards, consumed, named, flags;
	int destroyed;
	const char *region, *other, *op;
	uint32_t calls;
};

static const struct setup setups[] = {
	{"no difference: generators 1, regions 1, tickets 2\n", .forwards = 2},
	{"generator 0: seed 0000000000000000 in A, 0000000000000005 in B\n",
	 .seed = 5, .forwards = 2},
	{"generator 0: offset 0 in A, 8 in B\n", .advance = 8, .forwards = 2},
	{"generator 1 is in B only\n", .generators = 1, .forwards = 2},
	{"region \"layer\" is in A only\n", .region = "storey"},
	{"region \"another\" is in B only\n", .other = "another",
	 .forwards = 2},
	{"region \"more\" is in B only\n", .other = "more", .forwards = 2},
	{"region \"layer\" was destroyed in B only\n", .destroyed = 1,
	 .forwards = 2},
	{"region \"layer\": flags 0 in A, 1 in B\n",
	 .flags = PHILOX_REGION_SHARED},
	{"region \"layer\", op 0: \"draw\" in A, \"drop\" in B\n", .op = "drop",
	 .forwards = 2},
	{"region \"layer\", op 0: calls 1 in A, 3 in B\n", .calls = 3,
	 .forwards = 2},
	{"region \"layer\": offset 8 in A, 12 in B\n", .forwards = 3},
	{"region \"layer\", ticket 1 is pending in A only\n", .forwards = 2,
	 .consumed = 1},
	{"region \"layer\", ticket 2 is pending in A only\n", .forwards = 2,
	 .consumed = 2},
};

static struct philox_region *add_region(struct philox_context *context,
					const struct setup *setup,
					const char *name)
{
	const struct philox_op_desc op = {setup->op ? setup->op : "draw",
					  setup->calls, 0};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = &op,
					     .n_ops = 1,
					     .flags = setup->flags};
	struct philox_region *region;

	OK(philox_region_create(context, &options, &region));
	return region;
}

static void step(struct philox_region *region, philox_stream stream,
		 int consume)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	if (!consume)
		return;
	OK(philox_backward_begin(region, stream, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void save(struct fixture *f, const struct setup *setup, const char *path)
{
	struct philox_context *context;
	struct philox_generator *generator;
	struct philox_region *region;

	OK(philox_context_create(f->device, &context));
	generator = philox_context_generator(context);
	OK(philox_generator_seed(generator, setup->seed));
	OK(philox_generator_advance(generator, setup->advance, NULL));
	for (unsigned i = 0; i < setup->generators; i++)
		OK(philox_generator_create(context, 9, &generator));
	region = add_region(context, setup,
			    setup->region ? setup->region : "layer");
	for (unsigned i = 1; i <= setup->forwards; i++)
		step(region, f->stream, setup->consumed == i);
	if (setup->other)
		add_region(context, setup, setup->other);
	if (setup->destroyed)
		OK(philox_region_destroy(region));
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_the_first_difference_of_saved_contexts)
{
	for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
		save(f, &setups[0], path_a);
		save(f, &setups[i], path_b);
		diff(i ? 1 : 0, setups[i].says);
		if (i) /* the other way round it is as different */
			run(tool_diff, "diff", path_b, path_a);
		cr_assert_eq(said.status, i ? 1 : 0, "%zu", i);
	}
}

static void save_generator(struct fixture *f, uint32_t flags, uint64_t words,
			   const char *path)
{
	struct philox_context *context;
	struct philox_generator *made;

	OK(philox_context_create(f->device, &context));
	OK(philox_generator_create_flags(context, 9, flags, &made));
	OK(philox_generator_advance(made, words, NULL));
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_a_generator_that_differs_between_ranks)
{
	save_generator(f, 0, 4, path_a);
	save_generator(f, PHILOX_GENERATOR_DIFFERS, 4, path_b);
	diff(1, "generator 1 differs between ranks in B only\n");
	run(tool_diff, "diff", path_b, path_a);
	expect(1, "generator 1 differs between ranks in A only\n");
	run(tool_inspect, "inspect", path_b, NULL);
	expect(0, "generators 2\n  0: seed 0000000000000000, offset 0\n"
		  "  1: seed 0000000000000009, offset 4, differs between "
		  "ranks\n");
	run(tool_inspect, "inspect", path_b, "--json");
	expect(0, "\"generators\":[{\"seed\":\"0000000000000000\",\"offset\":"
		  "0},{\"seed\":\"0000000000000009\",\"offset\":4,"
		  "\"differs\":true}]");
	save_generator(f, PHILOX_GENERATOR_DIFFERS, 8, path_a);
	diff(1, "generator 1: offset 8 in A, 4 in B\n");
}

PROMISE(diff, names_a_ticket_that_draws_otherwise)
{
	struct setup setup = setups[0];
	struct philox_context *context;
	struct philox_region *region;

	save(f, &setup, path_a);
	OK(philox_context_create(f->device, &context));
	region = add_region(context, &setup, "layer");
	OK(philox_generator_seed(philox_context_generator(context), 5));
	step(region, f->stream, 0);
	OK(philox_generator_seed(philox_context_generator(context), 0));
	step(region, f->stream, 1);
	OK(philox_context_save(context, path_b));
	diff(1, "region \"layer\": offset 8 in A, 4 in B\n");
	step(region, f->stream, 0);
	OK(philox_context_save(context, path_b));
	philox_context_destroy(context);
	diff(1, "region \"layer\": next serial 3 in A, 4 in B\n");
}

/* A forward of two iterations, and two forwards of one, the second of inference. */
static void save_loop(struct fixture *f, uint32_t limit, const char *path)
{
	struct philox_context *context;
	struct philox_region *region;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_context_create(f->device, &context));
	region = add_region(context, &setups[0], "layer");
	OK(philox_forward_begin_loop(region, f->stream, 0, limit, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	if (limit == 1) {
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_INFERENCE, &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_a_ticket_with_other_iterations)
{
	save_loop(f, 2, path_a);
	save_loop(f, 1, path_b);
	diff(1, "region \"layer\", ticket 1: iterations 2 in A, 1 in B\n");
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, ", 1 forward ago, iterations 2\n");
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0, "\"iterations\":2}");
	run(tool_inspect, "inspect", path_b, NULL);
	expect(0, ", 1 forward ago\n");
}

PROMISE(diff, inspects_a_saved_context)
{
	save(f,
	     &(struct setup){.forwards = 3,
			     .consumed = 2,
			     .seed = 5,
			     .region = "a \"layer\""},
	     path_a);
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "generators 1\n  0: seed 0000000000000005, offset 0\n");
	expect(0, "regions 1, destroyed 0, tickets pending 2\n");
	expect(0, "\"a \\x22layer\\x22\": generator 0, next offset 12, next "
		  "serial 4, operators 1, pending 2\n");
	expect(0, "    ticket 1: offset 0, seed ");
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0, "{\"kind\":\"context\",\"pending\":2,\"generators\":[{"
		  "\"seed\":\"0000000000000005\",\"offset\":0}],\"regions\":[{"
		  "\"name\":\"a \\\"layer\\\"\",\"alive\":true,");
}

/* Saves a context with two tables, of which the second has its own state. */
static void save_rows(struct fixture *f, const char *name, uint32_t count,
		      struct philox_state state, const char *path)
{
	struct philox_rows_desc options = {.size = sizeof(options), .count = 3};
	struct philox_context *context;
	struct philox_rows *rows;

	OK(philox_context_create(f->device, &context));
	options.name = "first";
	OK(philox_rows_create(context, &options, &rows));
	options.name = name;
	options.count = count;
	OK(philox_rows_create(context, &options, &rows));
	OK(philox_rows_set(rows, f->stream, (uint32_t[]){1}, &state, 1));
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_the_first_row_that_differs)
{
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_a);
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_b);
	diff(0, "no difference: generators 1, regions 0, tickets 0, tables of "
		"rows 2\n");
	save_rows(f, "last", 2, (struct philox_state){5, 12}, path_b);
	diff(1, "rows \"last\", row 1: offset 8 in A, 12 in B\n");
	save_rows(f, "last", 3, (struct philox_state){5, 8}, path_b);
	diff(1, "rows \"last\": count 2 in A, 3 in B\n");
	save_rows(f, "late", 2, (struct philox_state){5, 8}, path_b);
	diff(1, "rows \"last\" are in A only\n");
}

PROMISE(diff, inspects_tables_of_rows)
{
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_a);
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "tables of rows 2\n  \"first\": generator 0, rows 3, offsets "
		  "0 .. 0\n  \"last\": generator 0, rows 2, offsets 0 .. "
		  "8\n");
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0, "\"rows\":[{\"name\":\"first\",\"generator\":0,");
	expect(0, "{\"seed\":\"0000000000000005\",\"offset\":8}]}]}");
}

/* Saves a context with data at a position. */
static void save_data(struct fixture *f, uint64_t samples, uint64_t block,
		      uint64_t position, const char *path)
{
	const struct philox_source_desc sources[] = {{samples, 1, 0},
						     {90, 2, 10}};
	const struct philox_data_desc options = {.size = sizeof(options),
						 .name = "train",
						 .sources = sources,
						 .n_sources = 2,
						 .block = block};
	struct philox_context *context;
	struct philox_data *data;

	OK(philox_context_create(f->device, &context));
	OK(philox_data_create(context, &options, &data));
	OK(philox_data_seek(data, position));
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_the_first_difference_of_data)
{
	save_data(f, 50, 6, 12, path_a);
	save_data(f, 50, 6, 12, path_b);
	diff(0, "tickets 0, data 1\n");
	save_data(f, 50, 6, 13, path_b);
	diff(1, "data \"train\": position 12 in A, 13 in B\n");
	save_data(f, 50, 3, 12, path_b);
	diff(1, "data \"train\": block 6 in A, 3 in B\n");
	save_data(f, 51, 6, 12, path_b);
	diff(1, "data \"train\": order ");
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_a);
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_b);
	diff(0, "tables of rows 2\n");
}

PROMISE(diff, inspects_data)
{
	save_data(f, 50, 6, 12, path_a);
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0,
	       "data 1\n  \"train\": generator 0, sources 2, block 6, order ");
	expect(0, ", position 12\n");
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0, "\"data\":[{\"name\":\"train\",\"generator\":0,"
		  "\"sources\":2,\"block\":6,\"order\":\"");
	expect(0, "\"position\":12}]}");
}

/* Saves a rank with a region that differs along some axes. */
static void save_rank(struct fixture *f, const char *axis, uint32_t size,
		      uint32_t coordinate, uint32_t flags, size_t n_differs,
		      const char *path)
{
	const struct philox_op_desc op = {.name = "only"};
	const char *names[] = {"tensor", axis};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "noise",
					     .ops = &op,
					     .n_ops = 1,
					     .differs = names,
					     .n_differs = n_differs};
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_context *context;
	struct philox_region *region;

	mesh.n_axes = size ? 2 : 0;
	mesh.axes[0] = (struct philox_axis){.name = axis,
					    .n_ranks = size,
					    .coordinate = coordinate,
					    .flags = flags};
	mesh.axes[1] = (struct philox_axis){
		.name = "tensor", .n_ranks = 3, .coordinate = 2};
	OK(philox_context_create(f->device, &context));
	OK(philox_context_set_mesh(context, &mesh));
	OK(philox_region_create(context, &options, &region));
	OK(philox_context_save(context, path));
	philox_context_destroy(context);
}

PROMISE(diff, names_the_first_difference_of_ranks)
{
	save_rank(f, "data", 4, 1, 0, 1, path_a);
	save_rank(f, "data", 4, 1, 0, 1, path_b);
	diff(0, "no difference: generators 1, regions 1, tickets 0\n");
	save_rank(f, "d\"ta", 4, 1, 0, 1, path_b);
	diff(1, "mesh: axis \"data\" in A, \"d\\x22ta\" in B\n");
	save_rank(f, "data", 5, 1, 0, 1, path_b);
	diff(1, "mesh: axis \"data\": size 4 in A, 5 in B\n");
	save_rank(f, "data", 4, 3, 0, 1, path_b);
	diff(1, "mesh: axis \"data\": coordinate 1 in A, 3 in B\n");
	save_rank(f, "data", 4, 1, PHILOX_AXIS_STAGES, 1, path_b);
	diff(1, "mesh: axis \"data\": flags 0 in A, 1 in B\n");
	save_rank(f, "data", 0, 0, 0, 1, path_b);
	diff(1, "mesh: axes 2 in A, 0 in B\n");
	save_rank(f, "data", 4, 1, 0, 2, path_b);
	diff(1, "region \"noise\" differs along axis \"data\" in B only\n");
	save_rank(f, "data", 4, 1, 0, 0, path_b);
	diff(1, "region \"noise\" differs along axis \"tensor\" in A only\n");
}

PROMISE(diff, inspects_a_rank)
{
	save_rank(f, "data", 4, 1, PHILOX_AXIS_STAGES, 2, path_a);
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "saved context\n\nrank 5 of 12\n  \"data\": 1 of 4, stages\n"
		  "  \"tensor\": 2 of 3\n\ngenerators 1\n");
	expect(0, ", pending 0\n    differs along \"data\", \"tensor\"\n");
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0,
	       "{\"kind\":\"context\",\"mesh\":[{\"name\":\"data\",\"size\":4,"
	       "\"coordinate\":1,\"stages\":true},{\"name\":\"tensor\",");
	expect(0, "\"differs\":[\"data\",\"tensor\"],\"operators\":1");
	save_rank(f, "data", 0, 0, 0, 0, path_a);
	run(tool_inspect, "inspect", "--json", path_a);
	expect(0, "{\"kind\":\"context\",\"pending\":0");
}

static int written_has(const char *path, const char *part)
{
	static char text[16384];
	FILE *file = fopen(path, "r");

	cr_assert(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return strstr(text, part) != NULL;
}

/* Two ranks that write journals, and are drawn as a trace. */
static void journal_rank(struct fixture *f, uint32_t coordinate,
			 const char *path)
{
	const char *const differs = "data";
	const struct philox_op_desc op = {.name = "only"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "noise",
					     .ops = &op,
					     .n_ops = 1,
					     .differs = &differs,
					     .n_differs = 1};
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct philox_context *context;
	struct philox_region *region;

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){
		.name = "data", .n_ranks = 4, .coordinate = coordinate};
	OK(philox_context_create(f->device, &context));
	OK(philox_context_set_journal(context, path));
	OK(philox_context_set_mesh(context, &mesh));
	OK(philox_region_create(context, &options, &region));
	step(region, f->stream, 1);
	philox_context_destroy(context);
}

PROMISE(diff, follows_journals_of_ranks)
{
	journal_rank(f, 1, path_a);
	journal_rank(f, 1, path_b);
	diff(0, "no difference: events ");
	journal_rank(f, 3, path_b);
	diff(1,
	     "mesh-set: mesh \"data=1/4\" in A, \"data=3/4\" in B; rank 1 in "
	     "A, 3 in B\n");
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "mesh-set");
	run_line(tool_inspect, 4,
		 (char *[]){"inspect", "--trace", path_b, path_a, NULL});
	expect(0, "");
	cr_assert_eq(written_has(path_b, "\"mesh-set\""), 1);
	cr_assert_eq(written_has(path_b, "\"differs\":\"data\""), 1);
	run_line(tool_inspect, 3,
		 (char *[]){"inspect", "--json", path_a, NULL});
	expect(0, "\"mesh-set\"");
}

static void write_text(const char *path, const char *text);

/* What coordinates that are gone have issued, as a merge writes it. */
Test(diff, names_what_others_have_issued)
{
	static const char start[] =
		"philox context 4\n"
		"generator 0 state 0000000000000000 0000000000000000\n"
		"region \"noise\" alive generator 0 flags 0 next "
		"0000000000000001 0000000000000000 serial 1\n"
		"differs \"data\"\n";
	static const char *const issued[] = {"", "issued 8 serial 3\n",
					     "issued 8 serial 4\n"};
	char text[3][1024];

	for (int i = 0; i < 3; i++) {
		size_t size = (size_t)snprintf(text[i], sizeof(text[i]),
					       "%s%sop - calls 1 advance 4\n",
					       start, issued[i]);

		snprintf(text[i] + size, sizeof(text[i]) - size,
			 "checksum %016llx bytes %zu\n",
			 (unsigned long long)fnv1a(text[i]), size);
	}
	write_text(path_a, text[0]);
	write_text(path_b, text[1]);
	diff(1, "region \"noise\": issued offset 0 in A, 8 in B\n");
	run(tool_inspect, "inspect", path_b, NULL);
	expect(0, "    differs along \"data\"; others have issued up to offset "
		  "8, serial 3\n");
	run(tool_inspect, "inspect", "--json", path_b);
	expect(0, "\"issued_offset\":8,\"issued_serial\":3,");
	write_text(path_a, text[2]);
	diff(1, "region \"noise\": issued serial 4 in A, 3 in B\n");
}

/* --- journals ------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

#define HEX(digits) "00000000000000" digits
#define FIRST_AT(n) "philox journal 1\n0 " #n " context digest " HEX("00") "\n"
#define FIRST       FIRST_AT(1)
#define OTHER(c, n) #c " " #n " context digest " HEX("00") "\n"
#define REGION(n, name, end)                                                 \
	"0 " #n " region-create region \"" name "\" generator 0 flags none " \
	"cells 1 advance 4 seed " HEX("0a") " offset 0 serial 1" end "\n"
#define BEGIN_AT(n, name, ticket, offset)                            \
	"0 " #n " forward-begin region \"" name "\" ticket " #ticket \
	" seed " HEX("0a") " offset " #offset " flags none\n"
#define BEGIN BEGIN_AT(2, "x", 1, 16)
#define SET(c, n, offset)                                                  \
#c " " #n                                                          \
	   " generator-set generator 0 seed " HEX("0a") " offset " #offset \
							"\n"

static const struct {
	const char *a, *b, *says;
	int status;
} journals[] = {
	{FIRST, FIRST, "no difference: events 1\n", 0},
	{FIRST BEGIN, FIRST BEGIN, "no difference: events 2\n", 0},
	{FIRST BEGIN OTHER(1, 1), FIRST OTHER(1, 1) BEGIN,
	 "no difference: events 3\n", 0}, /* mixed in another way */
	{FIRST BEGIN, FIRST BEGIN "0 3 cut", "no difference: events 2\n", 0},
	{FIRST BEGIN, FIRST BEGIN_AT(2, "x", 1, 20),
	 "context 0, event 2: forward-begin of region \"x\": offset 16 in A, "
	 "20 in B\n  A: forward-begin ",
	 1},
	{FIRST BEGIN, FIRST_AT(2) BEGIN_AT(3, "y", 2, 16),
	 "context 0, event 2 of A and 3 of B: forward-begin: region \"x\" in "
	 "A, \"y\" in B; ticket 1 in A, 2 in B\n",
	 1},
	{FIRST BEGIN, FIRST "0 2 context-destroy\n",
	 "context 0, event 2: forward-begin in A, context-destroy in B\n", 1},
	{FIRST BEGIN, FIRST,
	 "context 0: B has ended, A continues with event 2:\n  A: forward-begin",
	 1},
	{FIRST, FIRST OTHER(3, 7), "context 3 is in B only, from event 7 on:\n",
	 1},
	{FIRST OTHER(2, 1) SET(2, 2, 4), FIRST OTHER(1, 4) SET(1, 5, 8),
	 "context 2 of A and 1 of B, event 2 of A and 5 of B: generator-set: "
	 "offset 4 in A, 8 in B\n",
	 1},
	{FIRST SET(0, 2, 0) OTHER(1, 1), FIRST OTHER(1, 1),
	 "context 0: B has ended, A continues with event 2:\n", 1},
	{FIRST OTHER(1, 1), FIRST SET(0, 2, 0) OTHER(1, 1),
	 "context 0: A has ended, B continues with event 2:\n", 1},
	{FIRST "0 2 mesh-set mesh \"data=1/4\" rank 1\n",
	 FIRST "0 2 mesh-set mesh \"data=3/4\" rank 3\n",
	 "context 0, event 2: mesh-set: mesh \"data=1/4\" in A, \"data=3/4\" in "
	 "B; rank 1 in A, 3 in B\n",
	 1},
	{FIRST REGION(2, "x", " differs \"data\""),
	 FIRST REGION(2, "x", " differs \"tensor\""),
	 "context 0, event 2: region-create of region \"x\": differs \"data\" "
	 "in A, \"tensor\" in B\n",
	 1},
	{FIRST REGION(2, "x", " differs \"data\""), FIRST REGION(2, "x", ""),
	 "context 0, event 2: region-create", 1},
	{FIRST, "", "/b': neither a saved context nor a journal nor the", 2},
	{FIRST, "philox context 1\n", "/b': ", 2},
	{"philox context 99\n", FIRST, "/a': ", 2},
};

Test(diff, names_the_first_difference_of_journals)
{
	for (size_t i = 0; i < sizeof(journals) / sizeof(journals[0]); i++) {
		write_text(path_a, journals[i].a);
		write_text(path_b, journals[i].b);
		diff(journals[i].status, journals[i].says);
	}
}

/* --- journals by passes --------------------------------------------------- */

/* The events of context 0 in a text, numbered in their order. */
static void write_numbered(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	unsigned number = 0;

	cr_assert(file);
	while (*text) {
		const char *end = strchr(text, '\n') + 1;

		if (!strncmp(text, "0 ", 2)) {
			fprintf(file, "0 %u", ++number);
			text = strchr(text + 2, ' ');
		}
		fwrite(text, 1, (size_t)(end - text), file);
		text = end;
	}
	cr_assert_eq(fclose(file), 0);
}

#define EAGER(n, what, region, ticket, offset, flags)                   \
	"0 " #n " " what "-begin region \"" region "\" ticket " #ticket \
	" seed " HEX("0a") " offset " #offset " flags none\n"           \
			   "0 " #n " " what "-commit region \"" region  \
			   "\" ticket " #ticket                         \
			   " seed " HEX("0a") " offset " #offset        \
					      " flags " flags "\n"
#define USE(n, use, what, region, ticket, offset, flags)                  \
	"0 " #n " launch-use use " #use " pass " what " region \"" region \
	"\" ticket " #ticket " seed " HEX("0a") " offset " #offset        \
						" flags " flags "\n"
#define REPEAT(n, use, region, forward)                                 \
	"0 " #n " launch-use use " #use " pass repeat region \"" region \
	"\" forward " #forward "\n"
#define BEGIN_G  "0 40 launch-begin graph \"g\" sequence 1 uses 2\n"
#define COMMIT_G "0 49 launch-commit graph \"g\" sequence 1\n"
#define ABORT_G \
	"0 49 launch-abort graph \"g\" sequence 1 status PHILOX_ERROR_DEVICE\n"
#define G_BEGINS(sequence) \
	"0 40 launch-begin graph \"g\" sequence " #sequence " uses 1\n"
#define G_COMMITS(sequence) \
	"0 49 launch-commit graph \"g\" sequence " #sequence "\n"
#define G_ABORTS(sequence)                                  \
	"0 49 launch-abort graph \"g\" sequence " #sequence \
	" status PHILOX_ERROR_DEVICE\n"
/* Launches of two graphs of one name: a forward in each. */
#define TWO_BEGIN(first, second)                 \
	G_BEGINS(first)                          \
	USE(41, 0, "forward", "x", 1, 0, "none") \
	G_BEGINS(second) USE(42, 0, "forward", "x", 2, 4, "none")
#define CAPTURE                                                           \
	"0 30 capture-begin capture 1\n"                                  \
	"0 31 capture-forward capture 1 pass 0 region \"x\" flags none\n" \
	"0 32 capture-commit capture 1 pass 0 flags none\n"               \
	"0 33 capture-adopt capture 1 graph \"g\" passes 1\n"
#define F1     EAGER(2, "forward", "x", 1, 0, "none")
#define F2     EAGER(3, "forward", "x", 2, 4, "none")
#define B1     EAGER(4, "backward", "x", 1, 0, "none")
#define B2     EAGER(5, "backward", "x", 2, 4, "none")
#define GF1    BEGIN_G USE(41, 0, "forward", "x", 1, 0, "none") COMMIT_G
#define GF2    BEGIN_G USE(42, 0, "forward", "x", 2, 4, "none") COMMIT_G
#define GB1    BEGIN_G USE(43, 0, "backward", "x", 1, 0, "none") COMMIT_G
#define GB2    BEGIN_G USE(44, 0, "backward", "x", 2, 4, "none") COMMIT_G

#define ONLY_B "by passes (only B has graphs): "

/* Each pair also the other way round, where `other` is given. */
static const struct {
	const char *a, *b, *says;
	int status;
	const char *other;
} by_passes[] = {
	{FIRST F1 B1, FIRST CAPTURE GF1 GB1,
	 ONLY_B "no difference: passes 2, other events 1\n", 0,
	 "by passes (only A has graphs): no difference: passes 2"},
	/* a launch of several passes, in its own order */
	{FIRST F1 F2 B2 B1,
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 1, 0, "none")
		 USE(42, 1, "forward", "x", 2, 4, "none") COMMIT_G GB2 GB1,
	 "no difference: passes 4", 0, "no difference: passes 4"},
	/* a forward and its backward in one graph have no ticket; tickets of
	   that region are counted otherwise from then on */
	{FIRST F1 B1 F2 B2,
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 0, 0, "none")
		 REPEAT(42, 1, "x", 0) COMMIT_G BEGIN_G USE(43, 0, "forward",
							    "x", 1, 4, "none")
			 COMMIT_G BEGIN_G USE(44, 0, "backward", "x", 1, 4,
					      "none") COMMIT_G,
	 "no difference: passes 4", 0, "no difference: passes 4"},
	/* ... but not those of another region */
	{FIRST F1 B1 EAGER(6, "forward", "y", 1, 0, "none"),
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 0, 0, "none")
		 REPEAT(42, 1, "x", 0) COMMIT_G BEGIN_G USE(
			 43, 0, "forward", "y", 2, 0, "none") COMMIT_G,
	 "forward of region \"y\": ticket 1 in A, 2 in B\n", 1,
	 "forward of region \"y\": ticket 2 in A, 1 in B\n"},
	/* the backward in a graph repeats another forward of it */
	{FIRST F1 F2 B2,
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 0, 0, "none")
		 USE(42, 1, "forward", "x", 0, 4, "none") REPEAT(43, 2, "x", 0)
			 COMMIT_G,
	 "backward of region \"x\", ticket 2: offset 4 in A, 0 in B\n", 1,
	 NULL},
	/* warm-ups, passes and launches that were aborted are left out */
	{FIRST F1 B1,
	 FIRST "0 2 forward-begin region \"x\" ticket 0 seed " HEX(
		 "0a") " offset 0 flags "
		       "warmup\n0 3 forward-abort region \"x\" ticket 0 seed " HEX(
			       "0a") " offset 0 flags warmup\n" GF1 BEGIN_G
			       USE(43, 0, "backward", "x", 1, 0, "none")
				       ABORT_G GB1,
	 "no difference: passes 2", 0, "no difference: passes 2"},
	{FIRST F1 "0 4 backward-begin region \"x\" ticket 1 seed " HEX(
		 "0a") " offset 0 flags none\n0 5 backward-abort region \"x\" "
		       "ticket 1 seed " HEX("0a") " offset 0 flags none\n" B1,
	 FIRST GF1 GB1, "no difference: passes 2", 0, NULL},
	/* ... one without passes takes no other launch of its graph with it */
	{FIRST F1, FIRST GF1 BEGIN_G ABORT_G, "no difference: passes 1", 0,
	 "no difference: passes 1"},
	/* ... of graphs of one name, each launch that was aborted */
	{FIRST, FIRST TWO_BEGIN(1, 1) G_ABORTS(1) G_ABORTS(1),
	 ONLY_B "no difference: passes 0", 0, NULL},
	{FIRST F2, FIRST TWO_BEGIN(1, 2) G_ABORTS(1) G_COMMITS(2),
	 "no difference: passes 1", 0, NULL},
	{FIRST F1, FIRST TWO_BEGIN(1, 2) G_COMMITS(1) G_ABORTS(2),
	 "no difference: passes 1", 0, NULL},
	{FIRST F2, FIRST TWO_BEGIN(1, 1) G_COMMITS(1) G_ABORTS(1),
	 "no difference: passes 1", 0, NULL},
	/* ... and none for one that began before the journal */
	{FIRST F1 F2,
	 FIRST TWO_BEGIN(2, 3) G_ABORTS(1) G_COMMITS(2) G_COMMITS(3),
	 "no difference: passes 2", 0, NULL},
	/* differences */
	{FIRST F1 B1,
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 1, 8, "none") COMMIT_G GB1,
	 ONLY_B "context 0, event 2 of A and 3 of B: forward of region \"x\", "
		"ticket 1: offset 0 in A, 8 in B\n  A: forward-begin region",
	 1, "ticket 1: offset 8 in A, 0 in B\n"},
	{FIRST F1 F2 B1 B2, FIRST GF1 GF2 GB2,
	 "backward of region \"x\", ticket 1 is in A only; B continues with "
	 "backward of region \"x\", ticket 2\n",
	 1,
	 "backward of region \"x\", ticket 1 is in B only; A continues with "
	 "backward of region \"x\", ticket 2\n"},
	{FIRST F1 F2 B1 B2, FIRST GF1 GF2 GB1,
	 "backward of region \"x\", ticket 2 is in A only: B has no more of "
	 "this context\n",
	 1, "backward of region \"x\", ticket 2 is in B only: A has no more"},
	{FIRST F1 F2 B1 B2, FIRST GF1 GF2 GB2 GB1,
	 "another order: backward of region \"x\", ticket 1 in A, backward of "
	 "region \"x\", ticket 2 in B\n",
	 1, NULL},
	{FIRST F1 EAGER(4, "backward", "x", 1, 0, "retain") B1, FIRST GF1 GB1,
	 "backward of region \"x\", ticket 1: retained in A only\n", 1,
	 "ticket 1: retained in B only\n"},
	{FIRST EAGER(2, "forward", "x", 0, 0, "inference"),
	 FIRST BEGIN_G USE(41, 0, "forward", "x", 0, 0, "none") COMMIT_G,
	 "forward of region \"x\": inference in A only\n", 1, NULL},
	{FIRST "0 2 generator-set generator 0 seed " HEX("01") " offset 0\n" F1,
	 FIRST "0 2 generator-set generator 0 seed " HEX(
		 "02") " offset 0\n" BEGIN_G
		       "0 41 launch-use use 0 pass forward region \"x\" ticket 1 seed " HEX(
			       "0b") " offset 0 flags none\n" COMMIT_G,
	 "  the first pass that it changes: forward of region \"x\", ticket 1: "
	 "seed " HEX("0a") " in A, " HEX("0b") " in B\n",
	 1,
	 "generator-set of generator 0: seed " HEX("02") " in A, " HEX(
		 "01") " in B\n"},
	{FIRST REGION(2, "x", " differs \"tensor\"") F1,
	 FIRST REGION(2, "x", " differs \"data\"") GF1,
	 "event 2: region-create of region \"x\": differs \"tensor\" in A, "
	 "\"data\" in B\n",
	 1, NULL},
	{FIRST F1, FIRST GF1 "0 50 check graph \"g\" launches 1 sequence 1\n",
	 "check of graph \"g\" is in B only: A has no more", 1, NULL},
};

Test(diff, an_eager_journal_is_compared_with_a_captured_one_by_passes)
{
	for (size_t i = 0; i < sizeof(by_passes) / sizeof(by_passes[0]); i++) {
		write_numbered(path_a, by_passes[i].a);
		write_numbered(path_b, by_passes[i].b);
		diff(by_passes[i].status, by_passes[i].says);
		if (!by_passes[i].other)
			continue;
		run(tool_diff, "diff", path_b, path_a);
		expect(by_passes[i].status, by_passes[i].other);
	}
}

/* Only if asked for: their captures and launches may be what one looks for. */
Test(diff, journals_that_both_have_graphs_are_compared_by_passes_if_asked)
{
	char *arguments[] = {(char *)"diff", (char *)"--passes", path_a, path_b,
			     NULL};

	write_numbered(path_a, FIRST GF1 GF2);
	write_numbered(path_b,
		       FIRST BEGIN_G USE(41, 0, "forward", "x", 1, 0, "none")
			       USE(42, 1, "forward", "x", 2, 4, "none")
				       COMMIT_G);
	diff(1, "launch-commit in A, launch-use in B");
	run_line(tool_diff, 4, arguments);
	expect(0, "by passes: no difference: passes 2, other events 1\n");
}

PROMISE(diff, saved_contexts_have_no_passes)
{
	char *arguments[] = {(char *)"diff", (char *)"--passes", path_a, path_b,
			     NULL};

	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_a);
	save_rows(f, "last", 2, (struct philox_state){5, 8}, path_b);
	run_line(tool_diff, 4, arguments);
	expect(2, "/a' and '");
	expect(2, "are saved contexts, not journals\n");
}

Test(diff, names_a_missing_file)
{
	write_text(path_a, FIRST);
	diff(2, path_b);
	run(tool_inspect, "inspect", path_b, NULL);
	expect(2, path_b);
	run(tool_diff, "diff", path_a, NULL);
	expect(2, "two files");
	run(tool_inspect, "inspect", NULL, NULL);
	expect(2, "a FILE");
}

PROMISE(diff, does_not_compare_a_context_with_a_journal)
{
	save(f, &setups[0], path_a);
	write_text(path_b, FIRST);
	diff(2, "cannot be compared");
}

/* The journals of two runs that differ from one forward on. */
static void run_with_journal(struct fixture *f, const char *path, int aborts)
{
	struct philox_context *context;
	struct philox_region *region;
	struct philox_pass pass;

	OK(philox_context_create(f->device, &context));
	OK(philox_context_set_journal(context, path));
	region = add_region(context, &setups[0], "layer");
	step(region, f->stream, 1);
	if (aborts) {
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_INFERENCE, &pass));
		OK(philox_pass_abort(&pass));
	}
	for (int i = 0; i < 3; i++)
		step(region, f->stream, i == 2);
	philox_context_destroy(context);
}

PROMISE(diff, finds_where_real_runs_first_differ)
{
	run_with_journal(f, path_a, 0);
	run_with_journal(f, path_b, 1);
	run(tool_diff, "diff", path_a, path_b);
	expect(1,
	       ", event 7: forward-begin of region \"layer\": ticket 2 in A, "
	       "0 in B; flags none in A, inference in B\n");
	run_with_journal(f, path_b, 0);
	diff(0, "no difference: events 16\n");
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "contexts 1, events 16\n");
	expect(0, "  forward-commit       4\n");
	expect(0, "\"layer\": forwards 4, backwards 2, pending 0, longest wait "
		  "7 events\n");
}

#define PASS(number, pass, ticket, flags)                          \
	"0 " number " " pass "-commit region \"x\" ticket " ticket \
	" seed " HEX("0a") " offset 0 flags " flags "\n"
#define LAUNCH(end)                                      \
	BEGIN_G USE(4, 0, "forward", "x", 2, 4, "none")  \
		USE(5, 1, "backward", "x", 1, 0, "none") \
			BEGIN_AT(6, "x", 3, 8) end

static const struct {
	const char *text, *says;
} followed[] = {
	{FIRST PASS("2", "forward", "1", "none")
		 PASS("3", "backward", "1", "retain"),
	 "forwards 1, backwards 1, pending 1 (longest: ticket 1, 1 event), "
	 "longest wait 1 event\n"},
	{FIRST PASS("2", "forward", "2", "none")
		 PASS("3", "forward", "1", "none")
			 PASS("4", "backward", "1", "none"),
	 "forwards 2, backwards 1, pending 1 (longest: ticket 2, 2 events)"},
	{FIRST PASS("2", "backward", "7", "none"),
	 "forwards 0, backwards 1, pending 0, longest wait 0 events"},
	{FIRST PASS("2", "forward", "0", "inference"),
	 "forwards 1, backwards 0, pending 0,"},
	{FIRST PASS("2", "forward", "1", "none") LAUNCH(COMMIT_G),
	 "forwards 2, backwards 1, pending 1 (longest: ticket 2, 0 events), "
	 "longest wait 5 events"},
	{FIRST PASS("2", "forward", "1", "none") LAUNCH(ABORT_G),
	 "forwards 1, backwards 0, pending 1 (longest: ticket 1, 5 events)"},
	{FIRST PASS("2", "forward", "1",
		    "none") "0 3 ticket-release region \"x\" ticket 1\n",
	 "forwards 1, backwards 0, pending 0, longest wait 1 event\n"},
	{FIRST PASS("2", "forward", "1",
		    "none") "0 3 region-destroy region \"x\" pending 1\n",
	 "forwards 1, backwards 0, pending 0, longest wait 1 event\n"},
	{FIRST PASS("2", "forward", "1",
		    "none") "0 3 context-load digest " HEX("00") "\n",
	 "forwards 1, backwards 0, pending 0, longest wait 1 event\n"},
	{FIRST PASS("2", "forward", "1", "none")
		 OTHER(1, 1) "1 2 forward-commit region \"x\" ticket 1 seed " HEX(
			 "0a") " offset 0 flags none\n",
	 "context 1, \"x\": forwards 1, backwards 0, pending 1"},
	{FIRST COMMIT_G, "regions 0\n"},
	/* graphs of one name: a launch is the one with the sequence, ... */
	{FIRST TWO_BEGIN(1, 2) G_COMMITS(1) G_COMMITS(2),
	 "forwards 2, backwards 0, pending 2 (longest: ticket 1, 1 event)"},
	{FIRST TWO_BEGIN(1, 2) G_ABORTS(1) G_COMMITS(2),
	 "forwards 1, backwards 0, pending 1 (longest: ticket 2, 0 events)"},
	{FIRST TWO_BEGIN(2, 3) G_COMMITS(1), "regions 0\n"},
	/* ... and of those the newest */
	{FIRST TWO_BEGIN(1, 1) G_COMMITS(1) G_COMMITS(1),
	 "forwards 2, backwards 0, pending 2 (longest: ticket 1, 0 events)"},
	{FIRST TWO_BEGIN(1, 1) G_ABORTS(1) G_COMMITS(1),
	 "forwards 1, backwards 0, pending 1 (longest: ticket 1, 0 events)"},
};

Test(diff, inspect_follows_the_tickets_of_a_journal)
{
	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++) {
		write_numbered(path_a, followed[i].text);
		run(tool_inspect, "inspect", path_a, NULL);
		expect(0, followed[i].says);
		run(tool_inspect, "inspect", "--json", path_a);
		expect(0, "{\"kind\":\"journal\",\"contexts\":");
	}
}

/* The launch that began first fails while the other is under way. */
GRAPH_PROMISE(diff, inspect_tells_launches_of_graphs_of_one_name_apart)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_launch_pass uses[2] = {{.flags = 0}};
	struct philox_graph *graphs[2];

	for (int i = 0; i < 2; i++) {
		graphs[i] = record_forward(f, region, 0, f->scratch);
		OK(philox_graph_set_name(graphs[i], "step"));
	}
	OK(philox_context_set_journal(f->context, path_a));
	OK(philox_graph_launch(graphs[1], f->stream, &uses[1], 1));
	for (int i = 0; i < 2; i++)
		OK(philox_graph_prologue(graphs[i], f->stream, &uses[i], 1));
	OK(philox_graph_epilogue(graphs[0], PHILOX_ERROR_DEVICE));
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(graphs[1])));
	OK(philox_graph_epilogue(graphs[1], PHILOX_OK));
	OK(philox_context_set_journal(f->context, NULL));
	run(tool_inspect, "inspect", path_a, NULL);
	expect(0, "\"layer\": forwards 2, backwards 0, pending 2 ");
	run_line(tool_inspect, 4,
		 (char *[]){"inspect", "--trace", path_b, path_a, NULL});
	expect(0, "");
	cr_assert(written_has(path_b, "\"name\":\"forward 2\",\"args\":"
				      "{\"outcome\":\"abort\","));
	cr_assert(written_has(path_b, "\"name\":\"forward 3\",\"args\":"
				      "{\"outcome\":\"commit\","));
}
