/*
 * tests/tools/matrix.c - parts of the matrix: words, model, orders, small runs
 *
 * tests/scripts/bugs.sh shows that the matrix finds bugs in the library.
 */
#include <criterion/criterion.h>
#include <string.h>
#include "tools/matrix/model/model.h"
#include "tools/matrix/matrix.h"

/* --- words ---------------------------------------------------------------- */

/* In two regions, or in four of which some are SHARED, on two generators. */
static struct matrix_run parsed_in(unsigned shared, const char *text)
{
	struct matrix_run run = {.limits = {.classes = MATRIX_ALL,
					    .forwards = 16,
					    .open = 8,
					    .pending = 4}};
	char message[256] = "";

	run.limits.shared = shared;
	run.limits.generators = shared ? 2 : 1;
	run.limits.regions = shared ? 4 : 2;
	cr_assert_eq(matrix_run_parse(&run, text, message, sizeof(message)), 0,
		     "%s", message);
	return run;
}

static struct matrix_run parsed(const char *text)
{
	return parsed_in(0, text);
}

static const char *const runs[] = {
	"F0 B0",
	"F0 F1 B1r B0 B1",
	"F0g B0gr R0g R0 B0g",
	"W F0@1 I@1 Ig B0",
	"F0( F1g( B0! F0) F1g)x B0",
	"F0d( F1d F0d) R0d( B0d( B0d)r R0d) B0 B1",
	"F0 F1 X2.0 D1.2 B1! L2!",
	"F0@1 X1.0r F2@1 D0.2 B0! B1",
	"P Q0 P@1 Px B0",
	"F0 S F1 N F2 Z B0! V F3 B3",
	"F0y F1gx F2dy F3gy F4 B4gx B4dy B4x B4",
	"F0 D0.0! D0.0r",
	"F0 F1 F2 F3 F4! L0 F4 B4",
	"F0 F1 R0 B0 F2 R1 R1 B1 R2 B2",
	"F0 M1.0r M3.0@1 B1 B2 B3 B4 O4@1! O4@1g!",
	"F0 C B0 C@1 A F1 K F2 N F3 K V F4 S B4",
};

/* In four regions, three SHARED; two generators. */
static const char *const shared_runs[] = {
	"F0 F1@2 F2@1 B1 F3@3 B0 B2 B3",
	"F0( F1@2! F1@2g! F1@1 F2@3 B1 F0) F3@2",
	"F0g( F1@2 F0g)x F2@2d( I! Wg! F2@2d)x I",
	"A F0@2 A@1 F1@1 K F2 N@1 F3@1 S@1 F4@3 V F5",
	"E Wg F0@2 W! F1g! A! F1@1 P! E I M2.0@3! E M2.0@3x F4! S F4",
	"E F0y F1dy F2! E F2gx F3! E Z F3 V F4! B3",
};

static void is_written_as(const char *text, const struct matrix_run *run)
{
	char written[256];

	matrix_run_text(run->events, run->n, written, sizeof(written));
	cr_expect_str_eq(written, text, "%s: %s", text, written);
}

Test(matrix, words_are_read_as_they_are_written)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct matrix_run run = parsed(runs[i]);

		is_written_as(runs[i], &run);
	}
	for (size_t i = 0; i < sizeof(shared_runs) / sizeof(shared_runs[0]);
	     i++) {
		struct matrix_run run = parsed_in(3, shared_runs[i]);

		is_written_as(shared_runs[i], &run);
	}
}

static const char *const nonsense[] = {
	"B0",   "F1",      "F0 F0", "F0 B0)", "F0 L",   "G0", "F0@",
	"F0@7", "F0 B0@1", "F0q",   "D0",     "F0 X1.", "F",  "F0 F0( Z",
	"E",    "S@1",     "A@1",   "K K",    "F0 O0",  "M0", "C(",
};

Test(matrix, impossible_runs_are_refused)
{
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		struct matrix_run run = {.limits = {.classes = MATRIX_ALL,
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

/* --- the model ------------------------------------------------------------ */

/* The status that the last event of a run must give. */
static const struct {
	const char *run;
	enum philox_status status;
} rules[] = {
	{"F0 B0", PHILOX_OK},
	{"F0 B0 B0", PHILOX_ERROR_RELEASED},
	{"F0 B0r B0", PHILOX_OK},
	{"F0 L0 L0", PHILOX_ERROR_RELEASED},
	{"F0x B0", PHILOX_ERROR_RELEASED},
	{"F0( B0", PHILOX_ERROR_STATE},
	{"F0( L0", PHILOX_ERROR_STATE},
	{"F0 B0( B0", PHILOX_ERROR_BUSY},
	{"F0 B0( R0", PHILOX_OK},
	{"F0 B0( L0", PHILOX_ERROR_BUSY},
	{"F0 B0g( R0", PHILOX_ERROR_BUSY},
	{"F0 F1 B0g( B1g", PHILOX_ERROR_BUSY},
	{"F0 R0( B0 R0", PHILOX_ERROR_RELEASED},
	{"F0 B0gx B0", PHILOX_OK},
	{"F0 B0gx", PHILOX_ERROR_DEVICE},
	{"F0 N B0", PHILOX_OK},
	{"F0 Z B0", PHILOX_ERROR_RELEASED},
	{"F0 V B0", PHILOX_OK},
	{"F0 F1 F2 F3 F4", PHILOX_ERROR_LIMIT},
	{"F0 F1 F2 F3 F4@1", PHILOX_OK},
	{"F0 D0.0", PHILOX_ERROR_BUSY},
	{"F0 O0@1", PHILOX_ERROR_MISMATCH},
	{"F0 B0 O0@1g", PHILOX_ERROR_MISMATCH},
	{"F0 F1 F2 M3.0", PHILOX_OK},
	{"F0 F1 F2 F3 M4.0", PHILOX_ERROR_LIMIT},
	{"F0 F1@1 F2@1 F3@1 F4@1 M5.0", PHILOX_ERROR_LIMIT},
	{"F0 B0 M1.0", PHILOX_ERROR_RELEASED},
	{"F0 M1.0 B0", PHILOX_ERROR_RELEASED},
	{"F0 M1.0r B0", PHILOX_OK},
	{"F0 F1( F2", PHILOX_OK},
};

/* With SHARED regions. */
static const struct {
	const char *run;
	enum philox_status status;
} shared_rules[] = {
	{"F0( F1@2", PHILOX_ERROR_BUSY},
	{"F0( F1@1", PHILOX_OK},
	{"F0( F1@3", PHILOX_OK},
	{"F0( Ig", PHILOX_ERROR_BUSY},
	{"F0( W", PHILOX_ERROR_BUSY},
	{"F0 F1( B0 I", PHILOX_ERROR_BUSY},
	{"F0( F0)x I", PHILOX_OK},
	{"F0g( F1@2", PHILOX_OK},
	{"F0( E I", PHILOX_ERROR_BUSY},
	{"E I W", PHILOX_ERROR_OVERFLOW},
	{"E W Wg", PHILOX_OK},
	{"E A I", PHILOX_ERROR_OVERFLOW},
	{"E A A", PHILOX_ERROR_OVERFLOW},
	{"E F0@1 I", PHILOX_OK},
	{"E F0gy I", PHILOX_ERROR_OVERFLOW},
	{"E F0y I", PHILOX_OK},
	{"E F0dy I", PHILOX_ERROR_OVERFLOW},
	{"E I S I", PHILOX_OK},
	{"E F0( I", PHILOX_ERROR_BUSY},
};

Test(matrix, the_model_knows_the_rules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct matrix_run run = parsed(rules[i].run);

		cr_expect_eq(run.events[run.n - 1].status, rules[i].status,
			     "%s: %s", rules[i].run,
			     philox_status_name(run.events[run.n - 1].status));
	}
	for (size_t i = 0; i < sizeof(shared_rules) / sizeof(shared_rules[0]);
	     i++) {
		struct matrix_run run = parsed_in(3, shared_rules[i].run);

		cr_expect_eq(run.events[run.n - 1].status,
			     shared_rules[i].status, "%s: %s",
			     shared_rules[i].run,
			     philox_status_name(run.events[run.n - 1].status));
	}
}

static int is_listed(const struct matrix_run *run, const char *word)
{
	static struct matrix_event choices[MATRIX_CHOICES];
	unsigned n = matrix_choices(run, choices);
	char text[32];

	for (unsigned i = 0; i < n; i++) {
		matrix_event_text(&choices[i], text, sizeof(text));
		if (!strcmp(text, word))
			return 1;
	}
	return 0;
}

Test(matrix, every_kind_of_event_is_tried)
{
	static const char *const words[] = {
		"F1",   "F1@1", "F1g",  "F1d",   "F1x",     "F1gx",   "F1y",
		"F1(",  "F1g(", "I",    "Ig",    "Ix",      "W",      "Wg",
		"B0",   "B0r",  "B0g",  "B0gr",  "B0d",     "B0x",    "B0gx",
		"B0gy", "B0(",  "B0g(", "R0",    "R0g",     "R0(",    "L0",
		"P",    "Px",   "Q1",   "X1.0",  "X1.0r",   "X1.0x",  "D0.0!",
		"S",    "N",    "Z",    "Z@1",   "V",       "X1.0@1", "C@1",
		"A",    "K",    "M1.0", "M1.0r", "M1.0@1x", "O0@1!",  "O0@1g!",
	};
	static const char *const shared_words[] = {
		"E", "E@1", "S@1", "N@1", "A@1", "K@1", "F1@3", "O0@2g!",
	};
	struct matrix_run run = parsed("F0");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_expect(is_listed(&run, words[i]), "%s", words[i]);
	cr_expect_not(is_listed(&run, "E"));
	run = parsed_in(3, "F0");
	for (size_t i = 0; i < sizeof(shared_words) / sizeof(shared_words[0]);
	     i++)
		cr_expect(is_listed(&run, shared_words[i]), "%s",
			  shared_words[i]);
	run = parsed("F0 B0");
	cr_expect(is_listed(&run, "B0!"));
	cr_expect(is_listed(&run, "B0g!"));
	cr_expect(is_listed(&run, "L0!"));
	cr_expect_not(is_listed(&run, "B0"));
}

/* --- numbers -------------------------------------------------------------- */

/* A forward and its backward, which saw these offsets, and another forward. */
static int check_pair(unsigned shared, uint64_t forward, uint64_t backward,
		      uint64_t next)
{
	struct matrix_run run = parsed_in(shared, "F0 B0 I");
	struct matrix_seen seen[3] = {
		{.event = 0, .role = MATRIX_FRESH, .ticket = 0},
		{.event = 1, .role = MATRIX_REPEAT, .ticket = 0},
		{.event = 2, .role = MATRIX_FRESH, .ticket = MATRIX_NONE}};
	uint64_t offsets[3] = {forward, backward, next};
	struct matrix_shape shape;
	struct matrix_seeds seeds;
	uint64_t comparisons = 0;
	char message[256] = "";

	matrix_shape_init(&shape, 1, 0);
	matrix_seeds_init(&seeds, &run.limits, &shape);
	for (unsigned i = 0; i < 3; i++) {
		seen[i].numbers.cell[0].seed =
			shared ? seeds.of[0][0] : seeds.cell[0][0][0];
		seen[i].numbers.cell[0].offset = offsets[i];
	}
	return matrix_check(&run, &shape, &seeds, seen, 3, &comparisons,
			    message, sizeof(message));
}

Test(matrix, wrong_numbers_are_noticed)
{
	for (unsigned shared = 0; shared <= 3; shared += 3) {
		cr_expect_eq(check_pair(shared, 0, 0, 4), -1);
		cr_expect_eq(check_pair(shared, 0, 4, 8), 1,
			     "the backward saw others");
		cr_expect_eq(check_pair(shared, 0, 0, 0), 2,
			     "numbers were issued twice");
		cr_expect_eq(check_pair(shared, 0, 0, 8), 2,
			     "numbers were left out");
		cr_expect_eq(check_pair(shared, UINT64_MAX, UINT64_MAX, 4), 0,
			     "poison");
	}
}

static void run_on(const char *device, unsigned shared, const char *text)
{
	static struct matrix_run run;
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
	cr_expect_eq(result.wrong, -1, "%s: %s", text, result.message);
	cr_expect_eq(result.n_events, run.n);
	cr_expect_gt(result.comparisons, 0);
	matrix_bed_destroy(bed);
}

Test(matrix, runs_are_right_on_the_host, .timeout = 120)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		run_on("host:sync", 0, runs[i]);
		run_on("host:strict", 0, runs[i]);
	}
	for (size_t i = 0; i < sizeof(shared_runs) / sizeof(shared_runs[0]);
	     i++) {
		run_on("host:sync", 3, shared_runs[i]);
		run_on("host:strict", 3, shared_runs[i]);
	}
}

Test(matrix, a_small_search_finds_nothing, .timeout = 300)
{
	struct matrix_options options = {.device = "host:sync",
					 .random_device = "host:strict",
					 .length = 2,
					 .forwards = 2,
					 .regions = 1};
	static struct matrix_total total;

	cr_assert_eq(matrix_search(&options, &total), 0);
	cr_expect_str_empty(total.error);
	cr_expect_gt(total.sequences, 500);
	cr_expect_gt(total.random, 0);
	cr_expect_gt(total.events, total.sequences);
	cr_expect_gt(total.comparisons, total.sequences);
	cr_expect_eq(total.mismatches, 0, "%s: %s", total.first, total.message);
}

Test(matrix, a_search_that_cannot_be_made_says_so)
{
	struct matrix_options options = {.device = "nowhere", .length = 1};
	static struct matrix_total total;

	matrix_search(&options, &total);
	cr_expect(strstr(total.error, "nowhere"), "%s", total.error);
}

/* --- schedules ------------------------------------------------------------ */

/* The orders as Megatron and torch print them. */
static const struct {
	const char *name;
	struct schedule_place place;
	const char *order;
} orders[] = {
	{"accumulation", {1, 0, 4, 0}, "F0 B0 F1 B1 F2 B2 F3 B3"},
	{"gpipe-fifo", {1, 0, 4, 0}, "F0 F1 F2 F3 B0 B1 B2 B3"},
	{"gpipe-lifo", {1, 0, 4, 0}, "F0 F1 F2 F3 B3 B2 B1 B0"},
	{"looped", {2, 0, 2, 0}, "F1.0 F1.1 F2.0 F2.1 B2.1 B2.0 B1.1 B1.0"},
	{"1f1b", {4, 0, 6, 0}, "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5"},
	{"1f1b", {4, 1, 6, 0}, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5"},
	{"1f1b", {4, 2, 6, 0}, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5"},
	{"1f1b", {4, 3, 6, 0}, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"},
	{"interleaved",
	 {2, 0, 4, 0},
	 "F1.0 F1.1 F2.0 F2.1 F1.2 B2.0 F1.3 B2.1 F2.2 B1.0 F2.3 B1.1 B2.2 "
	 "B2.3 B1.2 B1.3"},
	{"interleaved",
	 {2, 1, 4, 0},
	 "F1.0 F1.1 F2.0 B2.0 F2.1 B2.1 F1.2 B1.0 F1.3 B1.1 F2.2 B2.2 F2.3 "
	 "B2.3 B1.2 B1.3"},
	{"interleaved",
	 {2, 0, 5, 3},
	 "F1.0 F1.1 F1.2 F2.0 F2.1 F2.2 B2.0 F1.3 B2.1 F1.4 B2.2 F2.3 B1.0 "
	 "F2.4 B1.1 B1.2 B2.3 B2.4 B1.3 B1.4"},
	{"zb1p",
	 {4, 0, 6, 0},
	 "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5"},
	{"zb1p",
	 {4, 1, 6, 0},
	 "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5"},
	{"zb1p",
	 {4, 2, 6, 0},
	 "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5"},
	{"zb1p",
	 {4, 3, 6, 0},
	 "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5"},
	{"zbv",
	 {2, 0, 4, 0},
	 "F1.0 F1.1 F1.2 F2.0 I2.0 W2.0 F2.1 I2.1 W2.1 F1.3 I1.0 W1.0 F2.2 "
	 "I2.2 W2.2 I1.1 W1.1 F2.3 I2.3 W2.3 I1.2 W1.2 I1.3 W1.3"},
	{"zbv",
	 {2, 1, 4, 0},
	 "F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 F1.2 I1.0 W1.0 F2.2 I2.1 W2.1 F1.3 "
	 "I1.1 W1.1 F2.3 I2.2 W2.2 I1.2 I2.3 I1.3 W1.2 W2.3 W1.3"},
	{"nested-recompute",
	 {1, 0, 1, 0},
	 "F1.0 F2.0 R1.0 R2.0 R2.0 B2.0 R1.0 B1.0"},
};

Test(matrix, schedules_are_those_that_engines_use)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct schedule *schedule = schedule_find(orders[i].name);
		struct schedule_order order = {0};
		char text[1024];

		cr_assert(schedule, "%s", orders[i].name);
		schedule->make(&orders[i].place, &order);
		schedule_text(schedule, &order, text, sizeof(text));
		cr_expect_str_eq(text, orders[i].order, "%s, stage %u:\n%s\n%s",
				 orders[i].name, orders[i].place.stage, text,
				 orders[i].order);
	}
}

/* Every microbatch goes forward once and is used up once, in every place. */
static void check_whole(const struct schedule *schedule,
			const struct schedule_order *order, unsigned count)
{
	unsigned forwards = 0, ends = 0;

	for (unsigned i = 0; i < order->n; i++) {
		forwards += order->actions[i].what == 'F';
		ends += order->actions[i].what == 'B' ||
			order->actions[i].what == 'W';
		cr_expect_lt(order->actions[i].microbatch, count);
		cr_expect_lt(order->actions[i].chunk, schedule->chunks);
	}
	cr_expect_eq(forwards, count * schedule->chunks, "%s", schedule->name);
	cr_expect_eq(ends, count * schedule->chunks, "%s", schedule->name);
}

Test(matrix, schedules_are_whole_in_every_shape)
{
	static const unsigned stages[] = {1, 2, 3, 4, 8, SCHEDULE_STAGES_MAX};

	for (const struct schedule *s = schedules; s->name; s++)
		for (unsigned i = 0; i < sizeof(stages) / sizeof(stages[0]);
		     i++)
			for (unsigned m = 1; m <= SCHEDULE_MICROBATCHES_MAX;
			     m++) {
				struct schedule_place place = {
					.stages = stages[i],
					.stage = m % stages[i],
					.microbatches = m};
				struct schedule_order order = {0};

				s->make(&place, &order);
				check_whole(s, &order, m);
			}
}

Test(matrix, schedules_pair_eager_and_captured, .timeout = 120)
{
	struct matrix_options options = {.device = "host:strict",
					 .schedule = "all",
					 .stages = 3,
					 .microbatches = 5};

	cr_expect_eq(matrix_schedules(&options), 0);
}
