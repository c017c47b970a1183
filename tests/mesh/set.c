/*
 * tests/mesh/set.c - a set of texts is loaded whole or refused, by name
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/set.h"

static const struct along along_tensor = {{"tensor"}, 1};
static const struct along nowhere = {{NULL}, 0};

struct ranks {
	struct bed bed;
	struct philox_region *block[BED_RANKS], *noise[BED_RANKS];
};

static void open_ranks_of(struct ranks *ranks, struct fixture *f,
			  const struct philox_mesh *mesh)
{
	bed_open(&ranks->bed, f, mesh, 5);
	for (unsigned i = 0; i < ranks->bed.n; i++) {
		struct philox_context *context = ranks->bed.context[i];

		ranks->block[i] = make_along(context, "block", &nowhere);
		ranks->noise[i] = make_along(context, "noise", &along_tensor);
	}
}

static void open_ranks(struct ranks *ranks, struct fixture *f, const char *mesh)
{
	struct philox_mesh of = mesh_of(mesh);

	open_ranks_of(ranks, f, &of);
}

static void run_ranks(struct ranks *ranks, struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < ranks->bed.n; i++)
		for (unsigned k = 0; k < n; k++) {
			forward(f, ranks->block[i]);
			forward(f, ranks->noise[i]);
		}
}

/* A set of 2 x 2 ranks at a path, after n forwards. */
static void make_set(struct fixture *f, const char *path, unsigned n)
{
	struct ranks ranks;

	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	run_ranks(&ranks, f, n);
	save_bed(&ranks.bed, path);
	bed_close(&ranks.bed);
}

PROMISE(mesh_set, has_a_text_of_each_rank_and_a_manifest)
{
	struct ranks ranks;
	char *manifest, *text, *contents, path[32], line[128];

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	save_bed(&ranks.bed, "set");
	manifest = file_text("set");
	cr_assert(!strncmp(manifest,
			   "philox set 2\naxis \"data\" size 2\n"
			   "axis \"tensor\" size 2\ntext 0 checksum ",
			   69),
		  "%s", manifest);
	for (unsigned i = 0; i < 4; i++) {
		char *saved = context_text(ranks.bed.context[i]);

		snprintf(path, sizeof(path), "set.%u", i);
		text = file_text(path);
		cr_assert_str_eq(text, saved);
		contents = contents_of(text);
		text[strlen(text) - 1] = '\0';
		snprintf(line, sizeof(line),
			 "text %u %s contents %016" PRIx64 "\n", i,
			 strstr(text, "checksum "), fnv1a(contents));
		cr_assert(strstr(manifest, line), "%s in %s", line, manifest);
		free(contents);
		free(text);
		free(saved);
	}
	text = signed_again(manifest);
	cr_assert_str_eq(text, manifest);
	free(text);
	free(manifest);
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_set, is_what_the_same_ranks_go_on_from)
{
	struct ranks ranks, again;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	run_ranks(&ranks, f, 2);
	save_bed(&ranks.bed, "set");
	open_ranks(&again, f, "data=0/2 tensor=0/2");
	load_bed(&again.bed, "set");
	for (unsigned i = 0; i < 4; i++) {
		struct forward a = forward(f, ranks.noise[i]);
		struct forward b = forward(f, again.noise[i]);

		SAME(a.saw, b.saw, "rank %u", i);
		a = forward(f, ranks.block[i]);
		b = forward(f, again.block[i]);
		SAME(a.saw, b.saw, "rank %u", i);
	}
	bed_close(&again.bed);
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_set, of_one_rank_needs_no_mesh)
{
	struct philox_mesh none = PHILOX_INIT(struct philox_mesh);
	struct philox_region *region = make_region(f, "block");
	char *text = context_text(f->context), *again;

	enter_set();
	OK(philox_context_save_rank(f->context, "set"));
	cr_assert(file_is_there("set.0") && !file_is_there("set"));
	OK(philox_mesh_seal(&none, "set"));
	forward(f, region);
	OK(philox_context_load_ranks(f->context, "set"));
	PENDING(region, 0);
	again = file_text("set.0");
	cr_assert_str_eq(again, text);
	free(text);
	free(again);
	leave_set();
}

/* --- what is refused ------------------------------------------------------ */

/* Every rank refuses it, and nothing changes. */
static void refuses_set(struct ranks *ranks, const char *path,
			enum philox_status expected, const char *named)
{
	for (unsigned i = 0; i < ranks->bed.n; i++) {
		struct philox_context *context = ranks->bed.context[i];
		char *before = context_text(context), *after;

		FAILS(philox_context_load_ranks(context, path), expected);
		NAMES(named);
		after = context_text(context);
		cr_assert_str_eq(after, before);
		free(before);
		free(after);
	}
}

PROMISE(mesh_set, without_a_manifest_is_refused)
{
	struct ranks ranks;

	enter_set();
	make_set(f, "set", 1);
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	cr_assert(!unlink("set"));
	refuses_set(&ranks, "set", PHILOX_ERROR_FILE, "'set'");
	bed_close(&ranks.bed);
	leave_set();
}

/* On another mesh every rank reads this one, the first that says so. */
PROMISE(mesh_set, with_a_text_that_is_not_its_own_is_refused)
{
	struct ranks ranks;
	char *text, *other;

	enter_set();
	make_set(f, "set", 1);
	make_set(f, "other", 2);
	open_ranks(&ranks, f, "data=0/1 tensor=0/2");
	load_bed(&ranks.bed, "set");
	text = file_text("set.1");
	put_bytes("set.1", text, strlen(text) - 1);
	refuses_set(&ranks, "set", PHILOX_ERROR_INVALID, "'set.1': line ");
	other = changed_text(text, "serial 2", "serial 3");
	put_text("set.1", other);
	refuses_set(&ranks, "set", PHILOX_ERROR_INVALID,
		    "'set.1': not the text that the manifest names");
	free(other);
	other = file_text("other.1");
	put_text("set.1", other);
	refuses_set(&ranks, "set", PHILOX_ERROR_INVALID, "'set.1': not the");
	free(other);
	other = file_text("set.3");
	put_text("set.1", other);
	refuses_set(&ranks, "set", PHILOX_ERROR_INVALID, "'set.1': not the");
	free(other);
	cr_assert(!unlink("set.1"));
	refuses_set(&ranks, "set", PHILOX_ERROR_FILE, "'set.1'");
	put_text("set.1", text);
	load_bed(&ranks.bed, "set");
	free(text);
	bed_close(&ranks.bed);
	leave_set();
}

/* The manifest of one save, and texts of the next at the same path. */
PROMISE(mesh_set, that_was_begun_again_is_refused)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	save_bed(&ranks.bed, "set");
	run_ranks(&ranks, f, 1);
	OK(philox_context_save_rank(ranks.bed.context[0], "set"));
	FAILS(philox_context_load_ranks(ranks.bed.context[0], "set"),
	      PHILOX_ERROR_INVALID);
	OK(philox_context_load_ranks(ranks.bed.context[1], "set"));
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_set, with_a_manifest_cut_or_changed_is_refused)
{
	struct ranks ranks;
	char *manifest;
	size_t size;

	enter_set();
	make_set(f, "set", 1);
	open_ranks(&ranks, f, "tensor=0/1");
	manifest = file_text("set");
	size = strlen(manifest);
	for (size_t cut = 0; cut < size; cut++) {
		put_bytes("set", manifest, cut);
		FAILS(philox_context_load_ranks(ranks.bed.context[0], "set"),
		      PHILOX_ERROR_INVALID);
		NAMES("'set': line ");
	}
	for (size_t bit = 0; bit < 8 * size; bit++) {
		manifest[bit / 8] ^= (char)(1 << bit % 8);
		put_bytes("set", manifest, size);
		FAILS_EITHER(
			philox_context_load_ranks(ranks.bed.context[0], "set"),
			PHILOX_ERROR_INVALID, PHILOX_ERROR_UNSUPPORTED);
		NAMES("'set': line ");
		manifest[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(manifest);
	bed_close(&ranks.bed);
	leave_set();
}

static const struct {
	const char *from, *to, *named;
} manifests[] = {
	{"set 2", "set 0", "line 1: 0 is too small"},
	{"set 2", "set 02", "line 1: no further digit"},
	{"set 2\n", "set 2\n\n", "line 2: an axis, a text or the end"},
	{"size 2", "size 0", "line 2: 0 is too small"},
	{"size 2", "size 2 at 0", "line 2: the end of the line"},
	{"\"tensor\"", "\"data\"", "line 3: mesh: axes 0 and 1 are both"},
	{"size 2", "size 3", "line 8: 4 texts above, the mesh has 6 ranks"},
	{"size 2", "size 1", "line 6: a text too many: the mesh has 2 ranks"},
	{"size 2", "size 2 stages", NULL},
	{"text 1", "text 2", "line 5: text 1 has to come first"},
	{"text 3", "axis \"c\" size 1\ntext 3", "line 7: an axis, a text or"},
	{"text 0 checksum ", "text 0 checksum x", "line 4: a digit"},
	{"set 2", "set 1", "line 4: the end of the line expected"},
	{" contents ", " content ", "line 4: ' contents ' expected"},
	{" contents ", " contents x", "line 4: a digit"},
};

PROMISE(mesh_set, with_malformed_lines_is_refused)
{
	struct ranks ranks;
	char *manifest;

	enter_set();
	make_set(f, "set", 1);
	open_ranks(&ranks, f, "tensor=0/1");
	manifest = file_text("set");
	for (size_t i = 0; i < sizeof(manifests) / sizeof(manifests[0]); i++) {
		char *changed = changed_text(manifest, manifests[i].from,
					     manifests[i].to);

		put_text("set", changed);
		free(changed);
		if (!manifests[i].named) { /* well-formed, of another mesh */
			FAILS(philox_context_load_ranks(ranks.bed.context[0],
							"set"),
			      PHILOX_ERROR_MISMATCH);
			NAMES("'set.0': mesh, axis 'data': it has no stages in "
			      "the text, stages in the set");
			continue;
		}
		FAILS(philox_context_load_ranks(ranks.bed.context[0], "set"),
		      PHILOX_ERROR_INVALID);
		NAMES(manifests[i].named);
	}
	put_text("set", "philox set 3\nanything");
	FAILS(philox_context_load_ranks(ranks.bed.context[0], "set"),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("the newest this library reads is 2");
	free(manifest);
	bed_close(&ranks.bed);
	leave_set();
}

/* --- sealing -------------------------------------------------------------- */

PROMISE(mesh_set, is_sealed_only_with_texts_that_fit)
{
	struct philox_mesh mesh = mesh_of("data=1/2 tensor=1/2");
	struct philox_mesh other = mesh_of("data=0/4 tensor=0/1");
	char *manifest, *text, *again;

	enter_set();
	make_set(f, "set", 1);
	manifest = file_text("set");
	text = file_text("set.2");
	cr_assert(!unlink("set.2"));
	FAILS(philox_mesh_seal(&mesh, "set"), PHILOX_ERROR_FILE);
	NAMES("'set.2'");
	put_bytes("set.2", text, 100);
	FAILS(philox_mesh_seal(&mesh, "set"), PHILOX_ERROR_INVALID);
	NAMES("'set.2': line ");
	again = file_text("set.1");
	put_text("set.2", again);
	free(again);
	FAILS(philox_mesh_seal(&mesh, "set"), PHILOX_ERROR_MISMATCH);
	NAMES("'set.2': the text of rank 1, not of rank 2");
	put_text("set.2", text);
	FAILS(philox_mesh_seal(&other, "set"), PHILOX_ERROR_MISMATCH);
	NAMES("'set.0': mesh, axis 'data': size is 2 in the text, 4 in the");
	mesh.axes[1].coordinate = 99; /* does not matter */
	OK(philox_mesh_seal(&mesh, "set"));
	again = file_text("set");
	cr_assert_str_eq(again, manifest);
	free(again);
	free(text);
	free(manifest);
	leave_set();
}

/* The seal names both files, the region and its serials or offsets. */
static void refuses_seal(const struct ranks *ranks, const char *files,
			 const char *what)
{
	FAILS(philox_mesh_seal(&ranks->bed.mesh[0], "set"),
	      PHILOX_ERROR_MISMATCH);
	NAMES(files);
	NAMES("are not of one step: region 'block'");
	NAMES(what);
}

/* At a path that is used again, one rank's save of the new step is missing. */
PROMISE(mesh_set, is_not_sealed_with_texts_of_different_steps)
{
	struct ranks ranks;
	char *manifest, *text, *other;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	run_ranks(&ranks, f, 2);
	save_bed(&ranks.bed, "set");
	manifest = file_text("set");
	run_ranks(&ranks, f, 5);
	for (unsigned i = 0; i < 3; i++) {
		OK(philox_context_save_rank(ranks.bed.context[i], "set"));
		refuses_seal(&ranks,
			     i == 0   ? "'set.0' and 'set.1'"
			     : i == 1 ? "'set.0' and 'set.2'"
				      : "'set.0' and 'set.3'",
			     "the serial of its next forward is 8 in one, 3 in "
			     "the other");
	}
	text = file_text("set");
	cr_assert_str_eq(text, manifest);
	free(text);
	OK(philox_context_save_rank(ranks.bed.context[3], "set"));
	OK(philox_mesh_seal(&ranks.bed.mesh[0], "set"));
	text = file_text("set.3");
	other = changed_text(text, "1c serial 8", "20 serial 8");
	put_text("set.3", other);
	refuses_seal(&ranks, "'set.0' and 'set.3'",
		     "the offset of its next forward is 28 in one, 32 in the "
		     "other");
	free(other);
	free(text);
	free(manifest);
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_set, is_sealed_if_regions_that_differ_have_come_far)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	forward(f, ranks.noise[2]); /* with the seed of rank 0 */
	save_bed(&ranks.bed, "set");
	load_bed(&ranks.bed, "set");
	bed_close(&ranks.bed);
	leave_set();
}

/* Regions of one name on two stages are two; on one stage they are one. */
PROMISE(mesh_set, is_sealed_with_stages_that_have_come_far)
{
	struct philox_mesh mesh = mesh_of("pipe=0/2 tensor=0/2");
	struct ranks ranks;

	enter_set();
	mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	open_ranks_of(&ranks, f, &mesh);
	forward(f, ranks.block[0]);
	forward(f, ranks.block[1]);
	save_bed(&ranks.bed, "set");
	forward(f, ranks.block[3]);
	OK(philox_context_save_rank(ranks.bed.context[3], "set"));
	refuses_seal(&ranks, "'set.2' and 'set.3'", "is 1 in one, 2 in the");
	bed_close(&ranks.bed);
	leave_set();
}

/* Each rank's generator is its own; what is destroyed need not agree. */
PROMISE(mesh_set, is_sealed_with_ranks_that_run_programs_of_their_own)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	forward(f, ranks.block[2]);
	OK(philox_region_destroy(ranks.block[2]));
	for (unsigned i = 0; i < 2; i++)
		OK(philox_generator_fold(
			philox_context_generator(ranks.bed.context[i]), i));
	forward(f, ranks.block[1]);
	save_bed(&ranks.bed, "set");
	bed_close(&ranks.bed);
	leave_set();
}

/* Whatever the first rank does. */
PROMISE(mesh_set, is_not_sealed_with_two_ranks_of_one_program_that_are_apart)
{
	struct ranks ranks;

	enter_set();
	open_ranks(&ranks, f, "data=0/2 tensor=0/2");
	OK(philox_generator_fold(
		philox_context_generator(ranks.bed.context[0]), 1));
	save_bed(&ranks.bed, "set");
	forward(f, ranks.block[3]);
	OK(philox_context_save_rank(ranks.bed.context[3], "set"));
	refuses_seal(&ranks, "'set.1' and 'set.3'",
		     "the serial of its next forward is 1 in one, 2 in the "
		     "other");
	bed_close(&ranks.bed);
	leave_set();
}

PROMISE(mesh_set, is_not_touched_by_a_seal_that_fails)
{
	struct philox_mesh mesh = mesh_of("data=1/2 tensor=1/2");
	struct philox_mesh bad = mesh_of("data=0/2");
	char *manifest, *again;

	enter_set();
	make_set(f, "set", 1);
	manifest = file_text("set");
	cr_assert(!unlink("set.0"));
	FAILS(philox_mesh_seal(&mesh, "set"), PHILOX_ERROR_FILE);
	FAILS(philox_mesh_seal(NULL, "set"), PHILOX_ERROR_INVALID);
	FAILS(philox_mesh_seal(&mesh, NULL), PHILOX_ERROR_INVALID);
	NAMES("path is NULL");
	bad.axes[0].n_ranks = 0;
	FAILS(philox_mesh_seal(&bad, "set"), PHILOX_ERROR_INVALID);
	NAMES("axis 'data'");
	again = file_text("set");
	cr_assert_str_eq(again, manifest);
	free(manifest);
	free(again);
	FAILS(philox_mesh_seal(&mesh, "none/set"), PHILOX_ERROR_FILE);
	leave_set();
}

PROMISE(mesh_set, is_sealed_during_a_capture)
{
	struct philox_mesh mesh = mesh_of("data=0/2 tensor=0/2");
	struct philox_graph *graph;

	enter_set();
	make_set(f, "set", 1);
	record_begin(f);
	OK(philox_mesh_seal(&mesh, "set"));
	graph = record_end(f);
	philox_graph_destroy(graph);
	leave_set();
}

PROMISE(mesh_set, is_asked_for_by_name)
{
	FAILS(philox_context_save_rank(NULL, "set"), PHILOX_ERROR_INVALID);
	FAILS(philox_context_save_rank(f->context, NULL), PHILOX_ERROR_INVALID);
	NAMES("path is NULL");
	FAILS(philox_context_load_ranks(NULL, "set"), PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_ranks(f->context, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_ranks(f->context, "none/set"),
	      PHILOX_ERROR_FILE);
	NAMES("'none/set'");
	FAILS(philox_context_save_rank(f->context, "none/set"),
	      PHILOX_ERROR_FILE);
	NAMES("'none/set.0'");
}

/* PATH.0 would be a file, PATH is not. */
PROMISE(mesh_set, has_a_path_that_a_manifest_can_have)
{
	static const char *const paths[] = {"", "sub/", "./", "none/"};
	struct philox_mesh none = PHILOX_INIT(struct philox_mesh);
	char said[64];

	enter_set();
	cr_assert(!mkdir("sub", 0777));
	OK(philox_context_save_rank(f->context, "set"));
	OK(philox_mesh_seal(&none, "set"));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *merge[] = {"merge", "--mesh",         "data=2",
				 "set",   (char *)paths[i], NULL};

		snprintf(said, sizeof(said), "'%s' is not the path of a file",
			 paths[i]);
		FAILS(philox_context_save_rank(f->context, paths[i]),
		      PHILOX_ERROR_INVALID);
		NAMES(said);
		FAILS(philox_mesh_seal(&none, paths[i]), PHILOX_ERROR_INVALID);
		NAMES(said);
		cr_assert_eq(quiet_merge(5, merge), 2);
	}
	cr_assert(!file_is_there(".0") && !file_is_there("sub/.0") &&
		  !rmdir("sub"));
	leave_set();
}

PROMISE(mesh_set, is_not_saved_nor_loaded_while_a_pass_is_open)
{
	struct philox_mesh none = PHILOX_INIT(struct philox_mesh);
	struct philox_region *region = make_region(f, "block");
	struct philox_pass pass;

	enter_set();
	OK(philox_context_save_rank(f->context, "set"));
	OK(philox_mesh_seal(&none, "set"));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_context_save_rank(f->context, "new"), PHILOX_ERROR_BUSY);
	NAMES("region 'block'");
	FAILS(philox_context_load_ranks(f->context, "set"), PHILOX_ERROR_BUSY);
	NAMES("region 'block'");
	cr_assert(!file_is_there("new.0"));
	OK(philox_pass_abort(&pass));
	leave_set();
}

/* --- killed --------------------------------------------------------------- */

enum { KILLS = 40 };

static void set_name(char name[16], unsigned i)
{
	snprintf(name, 16, "set-%u", i);
}

/* Saves one set after the other until it is killed. */
static void save_for_ever(unsigned first)
{
	struct fixture own;
	struct ranks ranks;
	char name[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fixture_open(&own, "host:sync");
	open_ranks(&ranks, &own, "data=0/2 tensor=0/2");
	for (unsigned i = first;; i++) {
		run_ranks(&ranks, &own, i < 8);
		set_name(name, i);
		save_bed(&ranks.bed, name);
	}
}

/* Each set so far is whole, or has no manifest. */
static unsigned check_sets(struct ranks *ranks, unsigned n)
{
	unsigned whole = 0;

	for (unsigned i = 0; i < n; i++) {
		char name[16];

		set_name(name, i);
		if (file_is_there(name)) {
			load_bed(&ranks->bed, name);
			whole++;
		} else {
			FAILS(philox_context_load_ranks(ranks->bed.context[0],
							name),
			      PHILOX_ERROR_FILE);
		}
	}
	return whole;
}

Test(mesh_set, that_was_killed_is_whole_or_refused, .timeout = 120)
{
	uint64_t random = 4;
	struct fixture f;
	struct ranks ranks;
	unsigned next = 0;

	fixture_open(&f, "host:sync");
	enter_set();
	open_ranks(&ranks, &f, "data=0/2 tensor=0/2");
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t process = fork();
		char name[16];

		if (!process)
			save_for_ever(next);
		cr_assert(process > 0);
		usleep(2000 + bed_below(&random, 20000));
		cr_assert(!kill(process, SIGKILL));
		cr_assert_eq(waitpid(process, NULL, 0), process);
		do
			set_name(name, next++);
		while (file_is_there(name));
	}
	cr_assert(check_sets(&ranks, next) > 0, "not one was whole");
	/* The next save removes what the killed ones have left: else the folder
	 * is not empty */
	save_bed(&ranks.bed, "last");
	bed_close(&ranks.bed);
	leave_set();
	fixture_close(&f);
}

/* --- no memory ------------------------------------------------------------ */

/* What is tried, and what has to be as before if it fails. */
struct attempt {
	struct philox_context *context;
	char *before;
	const char *file; /* that it writes, or NULL */
};

static enum philox_status try_load(const struct attempt *attempt)
{
	return philox_context_load_ranks(attempt->context, "set");
}

static enum philox_status try_save(const struct attempt *attempt)
{
	return philox_context_save_rank(attempt->context, "new");
}

static enum philox_status try_seal(const struct attempt *attempt)
{
	struct philox_mesh mesh = mesh_of("data=0/2 tensor=0/2");

	(void)attempt;
	return philox_mesh_seal(&mesh, "sealed");
}

static void is_as_before(const struct attempt *attempt)
{
	char *after = context_text(attempt->context);

	cr_assert_str_eq(after, attempt->before);
	free(after);
}

/* Each of its allocations fails once; some are of streams, that do without. */
static void fail_each(const struct attempt *attempt,
		      enum philox_status (*call)(const struct attempt *attempt),
		      unsigned least)
{
	unsigned failed = 0;

	for (unsigned n = 1; n < 600 && allocations_fail(n); n++) {
		enum philox_status status = call(attempt);

		allocations_fail(0);
		cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_MEMORY,
			  "%u: %s", n, philox_error_message());
		failed += status != PHILOX_OK;
		if (attempt->file)
			cr_assert_eq(file_is_there(attempt->file),
				     status == PHILOX_OK);
		else if (status == PHILOX_OK)
			OK(philox_context_load_text(attempt->context,
						    attempt->before,
						    strlen(attempt->before)));
		is_as_before(attempt);
		if (attempt->file)
			unlink(attempt->file);
	}
	cr_assert(failed > least || !allocations_fail(0), "only %u failed",
		  failed);
}

Test(mesh_set, without_memory_is_refused_and_nothing_changes, .timeout = 240)
{
	struct attempt attempt = {NULL, NULL, NULL};
	struct fixture f;
	struct ranks ranks;

	fixture_open(&f, "host:sync");
	enter_set();
	make_set(&f, "set", 2);
	make_set(&f, "sealed", 2);
	cr_assert(!unlink("sealed"));
	open_ranks(&ranks, &f, "data=0/1 tensor=0/2");
	run_ranks(&ranks, &f, 3);
	allocations_watch(f.device);
	attempt.context = ranks.bed.context[1];
	attempt.before = context_text(attempt.context);
	fail_each(&attempt, try_load, 100);
	attempt.file = "new.1";
	fail_each(&attempt, try_save, 20);
	attempt.file = "sealed";
	fail_each(&attempt, try_seal, 100);
	free(attempt.before);
	bed_close(&ranks.bed);
	leave_set();
	fixture_close(&f);
}
