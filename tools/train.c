/*
 * tools/train.c - `philox train`: trains a small language model four ways
 *
 * Eager, captured, recomputed and out of order must give the same bits. Exit
 * status: 0 they do and the model learned, 1 they do not or something failed,
 * 2 the command line or the file is wrong.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools.h"
#include "train.h"

#define STEPS       800
#define STEPS_NAIVE 100
#define STEPS_MAX   10000000
#define OPS_MAX     100000

static const char usage[] =
	"usage: philox train [FILE] [OPTION]...\n"
	"\n"
	"Trains a small language model on the bytes of a text (default:\n"
	"README.md) four times: eager; captured; captured with activations\n"
	"recomputed; captured with backwards out of order. All must agree in\n"
	"every bit.\n"
	"\n"
	"  --device D   host (default), host:sync, cuda or cuda:N\n"
	"  --steps N    steps of each run (default 800; with --naive 100)\n"
	"  --seed S     of all numbers (default 1)\n"
	"  --dropout P  probability, 0 to 1 (default 0.1)\n"
	"  --ops N      extra random operators in the graphs (default 0)\n"
	"  --naive      capture without philox, and show what goes wrong\n"
	"  --json       all figures as one object in the last line\n"
	"  --help       this text\n";

/* --- command line ----------------------------------------------------------- */

/* complain() says what is wrong with the command line and returns 2. */
static int complain(const char *what, const char *value, const char *rule)
{
	fprintf(stderr, "philox train: %s '%s'%s%s\n", what, value,
		*rule ? ": " : "", rule);
	return 2;
}

/* Of letters behind one dash getopt tells which it did not know. */
static int complain_unknown(const char *argument)
{
	char letter[] = {'-', (char)optopt, '\0'};
	int is_letter = optopt > ' ' && optopt < 127;

	return complain("unknown option", is_letter ? letter : argument, "");
}

static int parse_whole(const char *option, const char *text, uint64_t least,
		       uint64_t most, uint64_t *value)
{
	unsigned long long number;
	char rule[96], *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno &&
	    number >= least && number <= most) {
		*value = number;
		return 0;
	}
	snprintf(rule, sizeof(rule), "a whole number from %llu to %llu",
		 (unsigned long long)least, (unsigned long long)most);
	return complain(option, text, rule);
}

static int parse_probability(const char *option, const char *text,
			     double *value)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= 0 && number <= 1))
		return complain(option, text, "a number from 0 to 1");
	*value = number;
	return 0;
}

enum { OPT_DEVICE = 1, OPT_STEPS, OPT_SEED, OPT_DROPOUT, OPT_OPS };

static int take_option(struct train_options *options, int option,
		       const char *value)
{
	switch (option) {
	case OPT_DEVICE:
		options->device = value;
		return 0;
	case OPT_STEPS:
		options->steps_given = 1;
		return parse_whole("--steps", value, 1, STEPS_MAX,
				   &options->steps);
	case OPT_SEED:
		return parse_whole("--seed", value, 0, UINT64_MAX,
				   &options->seed);
	case OPT_DROPOUT:
		return parse_probability("--dropout", value, &options->dropout);
	case OPT_OPS:
		return parse_whole("--ops", value, 0, OPS_MAX, &options->ops);
	default:
		return 0;
	}
}

static int parse_options(int argc, char **argv, struct train_options *options)
{
	const struct option known[] = {
		{"device", required_argument, NULL, OPT_DEVICE},
		{"steps", required_argument, NULL, OPT_STEPS},
		{"seed", required_argument, NULL, OPT_SEED},
		{"dropout", required_argument, NULL, OPT_DROPOUT},
		{"ops", required_argument, NULL, OPT_OPS},
		{"naive", no_argument, &options->naive, 1},
		{"json", no_argument, &options->json, 1},
		{"help", no_argument, &options->help, 1},
		{0}};
	int option, wrong = 0;

	opterr = 0;
	optind = 0;
	while (!wrong &&
	       (option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (option == '?')
			return complain_unknown(argv[optind - 1]);
		if (option == ':')
			return complain("option", argv[optind - 1],
					"it needs a value");
		wrong = take_option(options, option, optarg);
	}
	if (wrong)
		return wrong;
	if (argc - optind > 1)
		return complain("too many files", argv[optind + 1], "");
	if (optind < argc)
		options->file = argv[optind];
	return 0;
}

/* --- verdict ---------------------------------------------------------------- */

/* The first step, counted from 1, in which two runs' losses differ; or 0. */
static uint64_t differing_step(const struct train_result *a,
			       const struct train_result *b, uint64_t steps)
{
	for (uint64_t i = 0; i < steps * TRAIN_SLOTS; i++)
		if (memcmp(&a->losses[i], &b->losses[i], sizeof(float)) != 0)
			return i / TRAIN_SLOTS + 1;
	return 0;
}

static int same(const struct train_result *a, const struct train_result *b)
{
	return a->loss_checksum == b->loss_checksum &&
	       a->parameter_checksum == b->parameter_checksum &&
	       a->extra_checksum == b->extra_checksum;
}

static void compare_runs(const struct train_result *results, unsigned n,
			 uint64_t steps, struct train_verdict *verdict)
{
	verdict->agree = 1;
	for (unsigned i = 0; i < n; i++) {
		if (same(&results[0], &results[i]) && results[i].extra_paired &&
		    results[i].retained_same)
			continue;
		verdict->agree = 0;
		verdict->differs = &results[i];
		verdict->differs_step =
			differing_step(&results[0], &results[i], steps);
		return;
	}
}

static double last_tenth(const struct train_result *result, uint64_t steps)
{
	uint64_t n = steps < 10 ? 1 : steps / 10;
	double sum = 0;

	for (uint64_t step = steps - n; step < steps; step++)
		sum += train_step_loss(result, step);
	return sum / (double)n;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t count_distinct(uint64_t *numbers, uint64_t n)
{
	uint64_t distinct = 1;

	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	for (uint64_t i = 1; i < n; i++)
		distinct += numbers[i] != numbers[i - 1];
	return distinct;
}

static struct train_verdict judge(const struct train_model *model,
				  struct train_result *results, unsigned n)
{
	uint64_t steps = model->options->steps;
	struct train_verdict verdict = {0};

	compare_runs(results, n, steps, &verdict);
	verdict.last_tenth = last_tenth(&results[0], steps);
	verdict.learned =
		verdict.last_tenth <= TRAIN_LEARNED * model->text->entropy;
	for (unsigned i = 0; i < 2 && model->options->naive; i++)
		verdict.distinct[i] = count_distinct(results[i].numbers, steps);
	return verdict;
}

/* --- the runs --------------------------------------------------------------- */

static void allocate_result(struct train_model *model,
			    struct train_result *result)
{
	const struct train_options *options = model->options;

	result->losses = calloc(options->steps * TRAIN_SLOTS, sizeof(float));
	if (options->naive)
		result->numbers = calloc(options->steps, sizeof(uint64_t));
	if (!result->losses || (options->naive && !result->numbers))
		train_fail(model, "no memory for the losses of %llu steps",
			   (unsigned long long)options->steps);
}

static int report(struct train_model *model, struct train_result *results,
		  unsigned n)
{
	const struct train_options *options = model->options;
	struct train_verdict verdict = judge(model, results, n);

	if (options->naive)
		train_report_naive(model, results, &verdict);
	else
		train_report(model, results, n, &verdict);
	if (options->json)
		train_report_json(model, results, n, &verdict);
	if (options->naive)
		return 0;
	return !verdict.agree || !(verdict.learned || options->steps_given);
}

static int all_runs(struct train_model *model)
{
	static const enum train_schedule all[] = {
		TRAIN_EAGER, TRAIN_CAPTURED, TRAIN_RECOMPUTED, TRAIN_REORDERED};
	static const enum train_schedule naive[] = {TRAIN_EAGER, TRAIN_NAIVE};
	int is_naive = model->options->naive, result = 1;
	unsigned n = is_naive ? 2 : TRAIN_SCHEDULES;
	struct train_result results[TRAIN_SCHEDULES] = {0};

	train_report_begin(model);
	for (unsigned i = 0; i < n && !model->status; i++) {
		allocate_result(model, &results[i]);
		if (!model->status)
			train_run(model, is_naive ? naive[i] : all[i],
				  &results[i]);
	}
	if (!model->status)
		result = report(model, results, n);
	for (unsigned i = 0; i < n; i++) {
		free(results[i].losses);
		free(results[i].numbers);
	}
	return result;
}

/* train() trains on a text that was read. */
static int train(const struct train_options *options,
		 const struct train_text *text)
{
	struct train_model *model = calloc(1, sizeof(*model));
	int result = 1;

	if (!model) {
		fprintf(stderr, "philox train: out of memory\n");
		return 1;
	}
	model->options = options;
	model->text = text;
	train_model_open(model);
	if (!model->status)
		result = all_runs(model);
	else if (model->status == PHILOX_ERROR_INVALID && !model->device)
		result = 2; /* no device of that name */
	train_model_close(model);
	if (model->status)
		fprintf(stderr, "philox train: %s\n", model->message);
	if (model->status && result == 0)
		result = 1;
	free(model);
	return result;
}

int tool_train(int argc, char **argv)
{
	struct train_options options = {.file = "README.md",
					.device = "host",
					.seed = 1,
					.dropout = 0.1};
	struct train_text text;
	char message[512];
	int result = parse_options(argc, argv, &options);

	if (result)
		return result;
	if (options.help) {
		fputs(usage, stdout);
		return 0;
	}
	if (!options.steps)
		options.steps = options.naive ? STEPS_NAIVE : STEPS;
	if (train_text_read(options.file, &text, message, sizeof(message))) {
		fprintf(stderr, "philox train: %s\n", message);
		return 2;
	}
	result = train(&options, &text);
	train_text_free(&text);
	return result;
}
