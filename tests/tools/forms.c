/*
 * tests/tools/forms.c - the matrix with branches and loops: words, model, runs
 *
 * tests/scripts/bugs.sh shows that it finds bugs in the library.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

static const struct form *form_called(const char *program)
{
	for (unsigned i = 0; i < FORM_COUNT; i++)
		if (!strcmp(form_of(i)->program, program))
			return form_of(i);
	cr_assert_fail("%s", program);
	return NULL;
}

/* --- what a launch must do ------------------------------------------------ */

/* Each draw: its pass, which iteration, "-" for poison, "'" if it is a view. */
static const char *text_of(const struct form *form,
			   const struct form_play *play)
{
	static char text[8 * FORM_SEEN];
	size_t length = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < play->n; i++) {
		const struct form_seen *seen = &play->seen[i];
		char iteration = (char)('0' + seen->iteration);

		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%s%c%c%s",
			i ? " " : "", form->pass[seen->pass].what,
			seen->poison ? '-' : iteration, seen->view ? "'" : "");
	}
	return text;
}

/* The rules of philox/graph.h, one by one. */
static const struct {
	const char *program, *digits, *drawn;
	unsigned beyond, named, cut;
} rules[] = {
	/* run i is iteration i; none is beyond the limit */
	{"3(F)", "0", "", 0, 0, 0},
	{"3(F)", "2", "F0 F1", 0, 0, 0},
	{"3(F)", "4", "F0 F1 F2", 0, 0, 1},
	{"3(F)", "9", "F0 F1 F2", 0, 0, 1},
	{"?(F)", "0", "", 0, 0, 0},
	{"?(F)", "1", "F0", 0, 0, 0},
	{"?(F)(F)", "0", "F0", 0, 0, 0},
	{"s(F)(F)", "2", "", 0, 0, 0},
	/* in this body or in one around it: the run's numbers */
	{"3(FB)", "3", "F0 B0 F1 B1 F2 B2", 0, 0, 0},
	{"3(FB)", "4", "F0 B0 F1 B1 F2 B2", 0, 0, 1},
	{"3(F?(B))", "3101", "F0 B0 F1 F2 B2", 0, 0, 0},
	{"F3(B)", "2", "F0 B0 B0", 0, 0, 0},
	/* in another body: run i, iteration i, run by the forward or not */
	{"3(F)3(B)", "13", "F0 B0 B1 B2", 0, 0, 0},
	{"3(F)?(B)", "01", "B0", 0, 0, 0},
	{"3(F)3(B)", "34", "F0 F1 F2 B0 B1 B2", 0, 0, 1},
	/* reversed: from the last that was run */
	{"3(F)3(B~)", "33", "F0 F1 F2 B2 B1 B0", 0, 0, 0},
	{"3(F)3(B~)", "23", "F0 F1 B1 B0 B-", 1, 0, 0},
	{"3(F)3(B~)", "01", "B-", 1, 0, 0},
	{"3(F)3(B~)", "42", "F0 F1 F2 B2 B1", 0, 0, 1},
	/* any other order */
	{"3(F)3(B@)", "1225", "F0 B0 B2' B1 B-'", 1, 0, 0},
	{"3(F)B.2.0.1", "0", "B0 B2' B0' B1'", 0, 0, 0},
	{"F*.2.1", "", "F0 F2' F1'", 0, 0, 0},
	{"F*3(B@)", "215", "F0 B0 B1' B0 B-'", 1, 0, 0},
	/* a body in a loop counts on over the whole launch */
	{"3(?(F))", "3101", "F0 F1", 0, 0, 0},
	{"2(5(F))", "221", "F0 F1 F2", 0, 0, 0},
	{"3(F)3(?(B))", "33101", "F0 F1 F2 B0 B1", 0, 0, 0},
	{"3(?(F))3(B~)", "31012", "F0 F1 B1 B0", 0, 0, 0},
	{"?(3(F))", "14", "F0 F1 F2", 0, 0, 1},
	{"3(F3(B))", "230", "F0 B0 B0 B0 F1", 0, 0, 0},
	{"3(F)F", "2", "F0 F1 F0", 0, 0, 0},
	{"3(F)3(B.0)", "02", "B0 B0' B1 B0'", 0, 0, 0},
	{"2(5(F))", "264", "F0 F1 F2 F3 F4", 0, 0, 2},
	/* named at launch */
	{"3(N)", "2", "N0 N1", 0, 3, 0},
	{"3(K)", "3", "K0 K1 K2", 0, 3, 0},
	{"3(K)3(L)", "12", "K0 L0 L1", 0, 3, 0},
	{"K3(L)", "2", "K0 L0 L0", 0, 1, 0},
	{"?(K)3(L)", "03", "L0 L1 L2", 0, 3, 0},
	{"N.2.0", "", "N0 N2' N0'", 0, 3, 0},
	{"3(N@)", "212", "N0 N1' N1 N2'", 0, 3, 0},
	{"3(N@)", "17", "N0 N-'", 1, 3, 0},
};

Test(forms, the_model_knows_the_rules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct form *form = form_called(rules[i].program);
		struct form_play play;

		form_play(form, rules[i].digits, 0, rules[i].named, &play);
		cr_expect_str_eq(text_of(form, &play), rules[i].drawn,
				 "%s %s: %s", rules[i].program, rules[i].digits,
				 text_of(form, &play));
		cr_expect_eq(play.beyond, rules[i].beyond, "%s %s",
			     rules[i].program, rules[i].digits);
		cr_expect_eq(play.cut, rules[i].cut, "%s %s: %u cut",
			     rules[i].program, rules[i].digits, play.cut);
	}
}

Test(forms, a_launch_without_philox_runs_a_loop_once_and_draws_poison)
{
	const struct form *form = form_called("3(FB)");
	struct form_play play;

	form_play(form, "3", 1, 1, &play);
	cr_expect_str_eq(text_of(form, &play), "F- B-");
	cr_expect_eq(play.seen[0].number, UINT32_MAX);
	cr_expect_eq(play.beyond, 0);
}

Test(forms, a_condition_is_what_is_asked_for_until_the_limit)
{
	static const uint32_t loop[] = {1, 1, 1, 1}, inner[] = {0, 1, 0};
	struct form_play play;

	form_play(form_called("3(F)"), "9", 0, 0, &play);
	cr_expect_arr_eq(play.tape[0], loop, sizeof(loop));
	form_play(form_called("3(?(F))"), "3010", 0, 0, &play);
	cr_expect_arr_eq(play.tape[1], inner, sizeof(inner));
}

Test(forms, passes_are_what_a_graph_has_to_say)
{
	const struct form *form = form_called("3(F)3(N)");

	cr_expect_eq(form->n_passes, 2);
	cr_expect_eq(form->makes, 1);
	cr_expect_eq(form->needs, 3);
	cr_expect_eq(form->consumes, 1);
	cr_expect_eq(form->pass[0].iterations, 3);
	form = form_called("3(F)3(B)");
	cr_expect_eq(form->makes, 0);
	cr_expect_eq(form->named, 0);
	cr_expect_eq(form->pass[0].iterations, 3);
	cr_expect_eq(form_called("2(5(F))")->pass[0].iterations, 5);
	cr_expect_eq(form_called("3(?(F))")->pass[0].iterations, 3);
	cr_expect_eq(form_called("3(K)")->consumes, 0);
	cr_expect_eq(form_called("?(K)3(L)")->needs, 3);
	cr_expect_eq(form_called("?(K)3(L)")->consumes, 1);
	cr_expect_eq(form_called("K3(L)")->needs, 1);
	cr_expect_eq(form_called("3(FG)")->makes, 2);
	cr_expect_eq(form_called("3(I)")->makes, 0);
}

/* --- runs ----------------------------------------------------------------- */

/* In two regions, or in four of which three are SHARED, on two generators. */
static struct matrix_run parsed_in(unsigned shared, const char *text)
{
	struct matrix_run run = {.limits = {.classes = MATRIX_EVERYTHING,
					    .forms = MATRIX_ALL_FORMS,
					    .forwards = 24,
					    .open = 8,
					    .pending = 6}};
	char message[256] = "";

	run.limits.shared = shared;
	run.limits.generators = shared ? 2 : 1;
	run.limits.regions = shared ? 4 : 2;
	cr_assert_eq(matrix_run_parse(&run, text, message, sizeof(message)), 0,
		     "%s: %s", text, message);
	return run;
}

static const char *const runs[] = {
	"H[3(F)]2=0 B0 H[3(F)]0=1 B1d F2 B2",
	"H[3(F)]4=0 H[3(F)]3=1@1 B1r R0d B0 B1",
	"H[?(F)]1=0 H[?(F)]0=1 B1 B0g F2",
	"H[3(FB)]3 H[3(FB)]4 I H[3(FB)]0@1 I@1",
	"H[3(F)3(B)]13 H[3(F)3(B~)]23 H[3(F)3(B@)]1225 I",
	"Y0 H[3(N)]3.0r H[3(K)]3.0 R0( R0) V B0d",
	"Y0d V B0r H[N.2.0].0 H[3(N@)]0.0!",
	"F0 H[3(N)]2.0! B0r H[?(N)]0.0",
	"F0 H[3(F)3(N)]10=1.0! Y1 H[3(F)3(N)]33=2.1 B2 B0",
	"H[3(F)]3=0x H[3(F)]3=1y F2 H[3(F)]3u H[3(F)]3=3 B3 B2",
	"J[3(F)]7 H[3(F)]3=0 J[3(F)3(B@)]1 B0",
	"H[2(5(F))]264=0 V B0 H[3(?(F))]3101=1 Z B1! F2",
	"H[3(FG)]2=0 B1 N H[3(FG)]3=2@1 B0 B2 B3",
	"F0g( H[3(F)]2=1 F0g) B1( N H[3(F)3(R)B]21 B1) B0",
};

/* In four regions, three SHARED; two generators. */
static const char *const shared_runs[] = {
	"H[3(F)]2=0 F1@2 H[3(F)]0=2@1 B0 B1 B2",
	"F0( H[3(F)]2=1! H[3(F)]2=1@1 F0) A I@2 B1",
	"E W H[3(F)]2=0! H[?(F)]1=0 F1! S H[3(F)]4=1 B1 B0",
	"H[3(FG)]2=0@2 K Y2 B0 B1 H[3(N)]2.2 I@3",
};

static void is_right_on(const char *device, unsigned shared, const char *text)
{
	struct matrix_run run;
	struct matrix_result result;
	struct matrix_shape shape;
	struct matrix_bed *bed;
	char message[512] = "";

	run = parsed_in(shared, text);
	matrix_shape_init(&shape, 5, 1);
	bed = matrix_bed_create(device, &run.limits, &shape, message,
				sizeof(message));
	cr_assert(bed, "%s", message);
	matrix_bed_run(bed, &run, &result);
	cr_expect_eq(result.wrong, -1, "%s: %s: event %d: %s", device, text,
		     result.wrong + 1, result.message);
	cr_expect_eq(result.n_events, run.n);
	cr_expect_gt(result.comparisons, 0);
	matrix_bed_destroy(bed);
}

static void is_written_as(const char *text, const struct matrix_run *run)
{
	char written[512];

	matrix_run_text(run->events, run->n, written, sizeof(written));
	cr_expect_str_eq(written, text, "%s: %s", text, written);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Test(forms, words_are_read_as_they_are_written)
{
	for (size_t i = 0; i < COUNT(runs); i++) {
		struct matrix_run run = parsed_in(0, runs[i]);

		is_written_as(runs[i], &run);
	}
	for (size_t i = 0; i < COUNT(shared_runs); i++) {
		struct matrix_run run = parsed_in(3, shared_runs[i]);

		is_written_as(shared_runs[i], &run);
	}
}

Test(forms, impossible_words_are_refused)
{
	static const char *const nonsense[] = {
		"H",        "H[3(F)]",   "H[3(F)]3",   "H[3(F)]7=0",
		"H[4(F)]3", "H[3(F)3=0", "H[3(F)]3=1", "H[3(FB)]3=0",
		"H[3(N)]3", "J[3(F)]",   "J[3(F)]0",   "H[3(N)]3.0u",
		"Y1",       "Y0g",       "F0u",        "H[3(F)]3=0r",
	};

	for (size_t i = 0; i < COUNT(nonsense); i++) {
		struct matrix_run run = {
			.limits = {.classes = MATRIX_EVERYTHING,
				   .forms = MATRIX_ALL_FORMS,
				   .regions = 2,
				   .forwards = 16,
				   .open = 8,
				   .pending = 4}};
		char message[256] = "";

		cr_expect_neq(matrix_run_parse(&run, nonsense[i], message,
					       sizeof(message)),
			      0, "%s", nonsense[i]);
		cr_expect_neq(message[0], '\0');
	}
}

/* The status that the last event of a run must give. */
static const struct {
	const char *run;
	enum philox_status status;
	unsigned shared;
} statuses[] = {
	{"F0 H[3(N)]2.0", PHILOX_ERROR_MISMATCH, 0},
	{"Y0 H[3(N)]2.0", PHILOX_OK, 0},
	{"H[?(F)]1=0 H[3(N)]2.0", PHILOX_ERROR_MISMATCH, 0},
	{"H[3(F)]0=0 H[3(N)]2.0", PHILOX_OK, 0},
	{"H[3(F)]0=0 H[3(N)]2.0 B0", PHILOX_ERROR_RELEASED, 0},
	{"H[3(F)]0=0 H[3(N)]2.0r B0", PHILOX_OK, 0},
	{"H[3(F)]0=0 H[3(K)]3.0 B0", PHILOX_OK, 0},
	{"H[3(F)]3=0y H[3(FB)]3 F1", PHILOX_OK, 0},
	{"H[3(F)]3=0x", PHILOX_ERROR_DEVICE, 0},
	{"F0 B0g( H[?(N)]1.0", PHILOX_ERROR_BUSY, 0},
	{"F0 F1 F2 F3 F4 H[3(FG)]2=5", PHILOX_OK, 0},
	{"F0 F1 F2 F3 F4 H[?(F)(F)]1=5", PHILOX_ERROR_LIMIT, 0},
	{"F0 F1 F2 F3 F4 F5 H[3(FB)]3", PHILOX_OK, 0},
	{"E H[?(F)]1=0", PHILOX_OK, 3},
	{"E H[3(F)]1=0", PHILOX_ERROR_OVERFLOW, 3},
	{"E Y0", PHILOX_ERROR_OVERFLOW, 3},
	{"E H[3(F)]3u W", PHILOX_OK, 3},
	{"F0( H[3(F)]1=1", PHILOX_ERROR_BUSY, 3},
};

Test(forms, the_model_knows_what_is_refused)
{
	for (size_t i = 0; i < COUNT(statuses); i++) {
		struct matrix_run run =
			parsed_in(statuses[i].shared, statuses[i].run);

		cr_expect_eq(run.events[run.n - 1].status, statuses[i].status,
			     "%s: %s", statuses[i].run,
			     philox_status_name(run.events[run.n - 1].status));
	}
}

/* --- numbers -------------------------------------------------------------- */

/*
 * A loop of two runs, which saw these offsets, an iteration of its backward,
 * and what ran; then another forward.
 */
static int check_loop(const uint64_t offsets[4], const uint32_t ran[2])
{
	struct matrix_run run = parsed_in(0, "H[3(F)]2=0 B0 I");
	struct matrix_seen seen[4] = {
		{.event = 0, .role = MATRIX_FRESH, .in_bodies = 1},
		{.event = 0, .role = MATRIX_FRESH, .iteration = 1},
		{.event = 1, .iteration = 2, .forward = MATRIX_NONE},
		{.event = 2, .role = MATRIX_FRESH, .forward = MATRIX_NONE}};
	struct matrix_shape shape;
	struct matrix_seeds seeds;
	uint64_t comparisons = 0;
	char message[256] = "";

	matrix_shape_init(&shape, 1, 0);
	matrix_seeds_init(&seeds, &run.limits, &shape);
	seen[2].role = MATRIX_REPEAT;
	seen[3].ticket = MATRIX_NONE;
	memcpy(seen[0].ran, ran, sizeof(seen[0].ran));
	for (unsigned i = 0; i < 4; i++) {
		seen[i].numbers.cell[0].seed = seeds.cell[0][0][0];
		seen[i].numbers.cell[0].offset = offsets[i];
	}
	return matrix_check(&run, &shape, &seeds, seen, 4, &comparisons,
			    message, sizeof(message));
}

Test(forms, wrong_numbers_are_noticed)
{
	static const struct {
		uint64_t offsets[4];
		uint32_t ran[2];
		int wrong;
	} rows[] = {
		{{0, 4, 8, 12}, {0, 0}, -1},
		{{0, 0, 8, 12}, {0, 0}, 0},
		{{4, 8, 8, 12}, {0, 0}, 0},
		{{0, 4, 4, 12}, {0, 0}, 1},
		{{0, 4, 8, 8}, {0, 0}, 2},
		{{0, 4, 8, 12}, {1, 0}, 0},
		{{0, 4, 8, 12}, {0, 1}, 0},
		{{UINT64_MAX, 4, 8, 12}, {0, 0}, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		cr_expect_eq(check_loop(rows[i].offsets, rows[i].ran),
			     rows[i].wrong, "row %zu", i);
}

/* What must be poison, and what must not have run at all. */
static int check_silence(uint64_t offset, uint32_t ran)
{
	struct matrix_run run = parsed_in(0, "H[3(F)]3u");
	struct matrix_seen seen[2] = {
		{.role = MATRIX_POISON, .in_bodies = 1},
		{.role = MATRIX_NOTHING, .in_bodies = 1, .ran = {ran, 0}}};
	struct matrix_shape shape;
	struct matrix_seeds seeds;
	uint64_t comparisons = 0;
	char message[256] = "";

	matrix_shape_init(&shape, 1, 0);
	matrix_seeds_init(&seeds, &run.limits, &shape);
	seen[0].numbers.cell[0].offset = offset;
	return matrix_check(&run, &shape, &seeds, seen, 2, &comparisons,
			    message, sizeof(message));
}

Test(forms, numbers_in_place_of_poison_and_runs_too_many_are_noticed)
{
	cr_expect_eq(check_silence(PHILOX_POISON_OFFSET, 0), -1);
	cr_expect_eq(check_silence(0, 0), 0);
	cr_expect_eq(check_silence(PHILOX_POISON_OFFSET, 1), 0);
}

/* --- the library ---------------------------------------------------------- */

Test(forms, runs_are_right_on_the_host, .timeout = 120)
{
	static const char *const devices[] = {"host:sync", "host:strict",
					      "host"};

	for (size_t k = 0; k < COUNT(devices); k++) {
		for (size_t i = 0; i < COUNT(runs); i++)
			is_right_on(devices[k], 0, runs[i]);
		for (size_t i = 0; i < COUNT(shared_runs); i++)
			is_right_on(devices[k], 3, shared_runs[i]);
	}
}

Test(forms, a_small_search_finds_nothing, .timeout = 300)
{
	struct matrix_options options = {.device = "host:sync",
					 .random_device = "host:strict",
					 .bodies = 1,
					 .length = 1,
					 .forwards = 2,
					 .regions = 1};
	static struct matrix_total total;

	cr_assert_eq(matrix_search(&options, &total), 0);
	cr_expect_str_empty(total.error);
	cr_expect_gt(total.sequences, 100);
	cr_expect_gt(total.random, 0);
	cr_expect_gt(total.comparisons, total.sequences);
	cr_expect_eq(total.mismatches, 0, "%s: %s", total.first, total.message);
}
