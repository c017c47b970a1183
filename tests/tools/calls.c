/*
 * tests/tools/calls.c - the matrix with functions of a runner: words, model, runs
 *
 * tests/scripts/bugs.sh shows that it finds bugs in the library.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In two regions, or in four of which three are SHARED, on two generators. */
static struct matrix_run parsed_in(unsigned shared, const char *text)
{
	struct matrix_run run = {.limits = {.classes = MATRIX_EVERYTHING,
					    .forms = MATRIX_ALL_FORMS,
					    .forwards = 24,
					    .open = 8,
					    .pending = 4}};
	char message[256] = "";

	run.limits.shared = shared;
	run.limits.generators = shared ? 2 : 1;
	run.limits.regions = shared ? 4 : 2;
	cr_assert_eq(matrix_run_parse(&run, text, message, sizeof(message)), 0,
		     "%s: %s", text, message);
	return run;
}

static const char *const runs[] = {
	"F0e B0e F1c B1c F2p B2p F3f B3f F4f B4f F5f B5f F6 B6",
	"F0p F1@1p B1pr B0p R1c B1f L1! F2@1g B2e",
	"Pf Pf Pf Pe Pp Pc Q0f Q1f Q2f B0 B1p B2e",
	"F0 F1 D0.1pr D1.0e! D0.0c! X2.0fr T2f T2f! U0fr U0f",
	"F0c M1.0r M3.0@1p B1 B2 B3 B4 O4@1e! O4@1c! O4@1p! O4@1f!",
	"F0ex F1cx F2px F3fx F4ey F5cy F6py F7ck F8 B8cx B8ck B8",
	"F0cq B0f B0f! F1cb F2 B2f B1f F3 B3f B1! I",
	"F0p Z F1p F2p Z@1 F3@1p B2f Z F4f F5f F6f Z F7f F8f",
	"F0f F1f V B0p F2f F3p F4p B1f F5f B2f B3f",
	"F0 F1@1 Z@1 F2 X3.1p! X3.0p X4.2p X5.4@1p M6.3p",
	"F0 F1 F2 F3 F4e! F4c! F4p! F4f! Pe! Pp Pf! X4.0e! L0 Pe X4.1e",
	"F0 B0 X1.0e! I F1 B1 M2.0e! F2 F3 F4 M5.2f I",
	"F0 F1@1 F2@1 F3@1 F4@1 M5.0e! I M5.0p! I M5.0f! I M5.0f! I",
	"F0( B0p! F1p F0) B0( R0c B0p! B0)r B0f",
};

/* In four regions, three SHARED; two generators. */
static const char *const shared_runs[] = {
	"F0p F1@2c F2@1f B1f F3@3e B0p B2e B3c",
	"F0( F1@2e! F1@2c! F1@2p! F1@2f! F1@1p F2@3c B1e F0) F3@2f",
	"A I@2e A@1 F0@1p K F1c N@1 F2@1f S@1 F3@3p V F4c",
	"E Ie I@2e! E Ip Ip! E Ic If! S If",
	"F0 E X1.0ex F2! E X2.0px F3! E F3ck Ic Ic! E F4ey Ic",
	"F0 B0 E X1.0e! I! E X1.0p! I I!",
};

static void is_right_on(const char *device, unsigned shared, const char *text)
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

Test(calls, words_are_read_as_they_are_written)
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

Test(calls, impossible_words_are_refused)
{
	static const char *const nonsense[] = {
		"We",   "Wp",  "Ce",  "F0q", "F0eq", "F0pk", "F0fb",
		"F0e(", "Y0e", "F0u", "Ze",  "F0er", "Pcr",  "B0e",
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

/* As what the last event of a run is executed, and what it must give. */
static const struct {
	const char *run;
	enum philox_call_kind call;
	enum philox_status status;
	unsigned burnt, shared;
} rules[] = {
	/* the four ways */
	{"F0", PHILOX_CALL_NONE, PHILOX_OK, 0, 0},
	{"F0e F1e", PHILOX_CALL_EAGER, PHILOX_OK, 0, 0},
	{"F0c F1c", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0p", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0f", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"F0f F1f", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0f F1f F2f", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	/* functions are by kind and regions */
	{"F0f If", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"F0f F1@1f", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"F0 F1@1 X2.0f X3.1f", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"F0 F1 X2.0f X3.1f", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	/* a warm-up that fails is none; a recording stays */
	{"F0fx F1f", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"F0f F1fx F2f", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0 B0f B0f", PHILOX_CALL_RECORD, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0 B0f B0f B0f", PHILOX_CALL_REPLAY, PHILOX_ERROR_RELEASED, 0, 0},
	/* what is destroyed is recorded again */
	{"Z F0p", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"Z F0p F1p", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"Z@1 F0p", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0f F1f Z F2f", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0f V F1f", PHILOX_CALL_WARMUP, PHILOX_OK, 0, 0},
	{"V F0p", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0 Z@1 X1.0p", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0 Z@1 M1.0p", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	/* ... unless the launch is refused for a use before */
	{"F0 B0 Z@1 M1.0p", PHILOX_CALL_REPLAY, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0@1 Z@1 M1.0p", PHILOX_CALL_RECORD, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0 F1 F2 F3 Z@1 M4.0p", PHILOX_CALL_REPLAY, PHILOX_ERROR_LIMIT, 0, 0},
	{"F0@1 Z@1 X1.0p", PHILOX_CALL_RECORD, PHILOX_ERROR_RELEASED, 0, 0},
	/* refused recordings, and backwards of what was not recorded */
	{"F0cq", PHILOX_CALL_EAGER, PHILOX_OK, 0, 0},
	{"F0cb", PHILOX_CALL_EAGER, PHILOX_OK, 0, 0},
	{"F0ck", PHILOX_CALL_RECORD, PHILOX_ERROR_DEVICE, 0, 0},
	{"F0cq B0cb B0e", PHILOX_CALL_EAGER, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0cq B0fr B0f", PHILOX_CALL_EAGER, PHILOX_OK, 0, 0},
	{"F0e B0fr B0f", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0cq B0p", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0cq B0c", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	{"F0cq V B0fr B0f", PHILOX_CALL_RECORD, PHILOX_OK, 0, 0},
	/* bodies that are run draw until they fail; launches all or nothing */
	{"F0ex", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 1, 0},
	{"F0ey", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 0, 0},
	{"F0px", PHILOX_CALL_REPLAY, PHILOX_ERROR_DEVICE, 1, 0},
	{"F0py", PHILOX_CALL_REPLAY, PHILOX_ERROR_DEVICE, 1, 0},
	{"F0 B0 X1.0e", PHILOX_CALL_EAGER, PHILOX_ERROR_RELEASED, 1, 0},
	{"F0 B0 X1.0p", PHILOX_CALL_REPLAY, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0 X1.0ey", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 1, 0},
	{"F0 M1.0ex", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 2, 0},
	{"F0 M1.0ey", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 1, 0},
	{"F0 B0 M1.0e", PHILOX_CALL_EAGER, PHILOX_ERROR_RELEASED, 0, 0},
	{"F0 F1@1 F2@1 F3@1 F4@1 M5.0e", PHILOX_CALL_EAGER, PHILOX_ERROR_LIMIT,
	 1, 0},
	{"Pex", PHILOX_CALL_EAGER, PHILOX_ERROR_DEVICE, 1, 0},
	/* a pair needs room only where its body is run */
	{"F0 F1 F2 F3 Pe", PHILOX_CALL_EAGER, PHILOX_ERROR_LIMIT, 0, 0},
	{"F0 F1 F2 F3 Pp", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 0},
	{"F0 F1 F2 F3 Ie", PHILOX_CALL_EAGER, PHILOX_OK, 0, 0},
	/* SHARED regions */
	{"F0( Ie", PHILOX_CALL_EAGER, PHILOX_ERROR_BUSY, 0, 3},
	{"F0( Ip", PHILOX_CALL_REPLAY, PHILOX_ERROR_BUSY, 0, 3},
	{"E Ie Ip", PHILOX_CALL_REPLAY, PHILOX_ERROR_OVERFLOW, 0, 3},
	{"E F0ex Ip", PHILOX_CALL_REPLAY, PHILOX_ERROR_OVERFLOW, 0, 3},
	{"E F0ey Ip", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 3},
	{"E F0ck Ip", PHILOX_CALL_REPLAY, PHILOX_OK, 0, 3},
	{"F0 B0 E X1.0e I", PHILOX_CALL_NONE, PHILOX_ERROR_OVERFLOW, 0, 3},
	{"F0 B0 E X1.0p I", PHILOX_CALL_NONE, PHILOX_OK, 0, 3},
};

Test(calls, the_model_knows_as_what_they_are_executed)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		struct matrix_run run =
			parsed_in(rules[i].shared, rules[i].run);
		const struct matrix_event *last = &run.events[run.n - 1];

		cr_expect_eq(last->call, rules[i].call, "%s: call %u",
			     rules[i].run, last->call);
		cr_expect_eq(last->status, rules[i].status, "%s: %s",
			     rules[i].run, philox_status_name(last->status));
		cr_expect_eq(last->burnt, rules[i].burnt, "%s: burnt %u",
			     rules[i].run, last->burnt);
	}
}

Test(calls, runs_are_right_on_the_host, .timeout = 120)
{
	static const char *const devices[] = {"host:sync", "host:strict",
					      "host"};

	for (size_t k = 0; k < COUNT(devices); k++) {
		for (size_t i = 0; i < COUNT(runs); i++)
			is_right_on(devices[k], 0, runs[i]);
		for (size_t i = 0; i < COUNT(shared_runs); i++)
			is_right_on(devices[k], 3, shared_runs[i]);
		for (size_t i = 0; i < COUNT(rules); i++)
			if (rules[i].call != PHILOX_CALL_NONE)
				is_right_on(devices[k], rules[i].shared,
					    rules[i].run);
	}
}

/* A run is wrong if a call is not executed as the model says. */
Test(calls, another_kind_of_call_is_noticed)
{
	static struct matrix_run run;
	struct matrix_result result;
	struct matrix_shape shape;
	struct matrix_bed *bed;
	char message[512] = "";

	run = parsed_in(0, "F0f F1f F2f");
	run.events[2].call = PHILOX_CALL_RECORD;
	matrix_shape_init(&shape, 2, 1);
	bed = matrix_bed_create("host:sync", &run.limits, &shape, message,
				sizeof(message));
	cr_assert(bed, "%s", message);
	matrix_bed_run(bed, &run, &result);
	cr_expect_eq(result.wrong, 2);
	cr_expect_str_eq(result.message,
			 "the call was a replay, not a recording");
	matrix_bed_destroy(bed);
}

/* An event is said to be of a search, or left out of it. */
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

Test(calls, every_kind_of_event_is_called_in_every_way)
{
	static const char *const words[] = {
		"F1e", "F1c", "F1p",   "F1f",  "F1cq", "F1cb",  "F1ck",
		"Ie",  "Icx", "B0pr",  "B0fy", "B0ck", "R0f",   "Pe",
		"Pcb", "Q1p", "X1.0c", "T0er", "U0f",  "M1.0p", "D0.0er",
		"L0",  "S",   "Z",     "V",    "W",    "F1(",   "O0@1e!",
	};
	static const char *const others[] = {"F1", "I",    "B0g",
					     "P",  "X1.0", "O0@1!"};
	struct matrix_run run = parsed_in(0, "F0");

	for (size_t i = 0; i < COUNT(others); i++)
		cr_expect(is_listed(&run, others[i]), "%s", others[i]);
	run.limits.classes |= MATRIX_ONLY_RUNNERS;
	for (size_t i = 0; i < COUNT(words); i++)
		cr_expect(is_listed(&run, words[i]), "%s", words[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		cr_expect_not(is_listed(&run, others[i]), "%s", others[i]);
	run.limits.classes = MATRIX_ALL;
	for (size_t i = 0; i < 18; i++)
		cr_expect_not(is_listed(&run, words[i]), "%s", words[i]);
}

Test(calls, a_small_search_finds_nothing, .timeout = 300)
{
	struct matrix_options options = {.device = "host:sync",
					 .random_device = "host:strict",
					 .runner = 1,
					 .length = 1,
					 .forwards = 2,
					 .regions = 1};
	static struct matrix_total total;

	cr_assert_eq(matrix_search(&options, &total), 0);
	cr_expect_str_empty(total.error);
	cr_expect_gt(total.sequences, 50);
	cr_expect_gt(total.random, 0);
	cr_expect_gt(total.calls, total.sequences);
	cr_expect_gt(total.replays, 100);
	cr_expect_eq(total.mismatches, 0, "%s: %s", total.first, total.message);
}
