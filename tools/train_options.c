/*
 * tools/train_options.c - the command line of `philox train`
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "train.h"

#define STEPS       600
#define STEPS_NAIVE 100

const char train_usage[] =
	"usage: philox train [FILE] [OPTION]...\n"
	"       philox train [FILE] --save-at N --save OUT [OPTION]...\n"
	"       philox train [FILE] --resume OUT [OPTION]...\n"
	"\n"
	"Trains a small language model on the bytes of a text (default:\n"
	"README.md) four times: eager; captured; captured with activations\n"
	"recomputed; captured with backwards out of order. All must agree in\n"
	"every bit.\n"
	"\n"
	"  --device D   host (default), host:sync, cuda or cuda:N\n"
	"  --steps N    steps of each run (default 600; with --naive 100)\n"
	"  --seed S     of all numbers (default 1)\n"
	"  --dropout P  probability, 0 to 1 (default 0.1)\n"
	"  --ops N      extra random operators in the graphs (default 0)\n"
	"  --save-at N  run out of order only, as far as the middle of step N,\n"
	"               where backwards are owed\n"
	"  --save OUT   ... and save everything there in the file OUT\n"
	"  --resume OUT go on from there to the end: with the same text and\n"
	"               options (those not given are the file's, --steps may\n"
	"               differ) it ends with the bits of a run without a break\n"
	"  --naive      capture without philox, and show what goes wrong\n"
	"  --json       all figures as one object in the last line\n"
	"  --help       this text\n";

/* --- command line --------------------------------------------------------- */

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

enum {
	OPT_DEVICE = 1,
	OPT_STEPS,
	OPT_SEED,
	OPT_DROPOUT,
	OPT_OPS,
	OPT_SAVE_AT,
	OPT_SAVE,
	OPT_RESUME
};

static int take_option(struct train_options *options, int option,
		       const char *value)
{
	switch (option) {
	case OPT_DEVICE:
		options->device = value;
		return 0;
	case OPT_STEPS:
		options->steps_given = 1;
		return parse_whole("--steps", value, 1, TRAIN_STEPS_MAX,
				   &options->steps);
	case OPT_SEED:
		options->seed_given = 1;
		return parse_whole("--seed", value, 0, UINT64_MAX,
				   &options->seed);
	case OPT_DROPOUT:
		options->dropout_given = 1;
		return parse_probability("--dropout", value, &options->dropout);
	case OPT_OPS:
		options->ops_given = 1;
		return parse_whole("--ops", value, 0, TRAIN_OPS_MAX,
				   &options->ops);
	case OPT_SAVE_AT:
		return parse_whole("--save-at", value, 1, TRAIN_STEPS_MAX,
				   &options->save_at);
	case OPT_SAVE:
		options->save = value;
		return 0;
	case OPT_RESUME:
		options->resume = value;
		return 0;
	default:
		return 0;
	}
}

/* What the options are together. */
static int check_options(const struct train_options *options)
{
	char rule[96];

	if (options->resume && (options->save || options->save_at))
		return complain("--resume", options->resume,
				"not together with --save-at and --save");
	if (options->naive && (options->save || options->resume))
		return complain(options->save ? "--save" : "--resume",
				options->save ? options->save : options->resume,
				"not together with --naive");
	if (options->save && !options->save_at)
		return complain("--save", options->save,
				"it needs --save-at and a step");
	if (options->save_at && !options->save)
		return complain("option", "--save-at",
				"it needs --save and a file");
	if (options->save_at <= options->steps || options->resume)
		return 0;
	snprintf(rule, sizeof(rule),
		 "step %llu is beyond the last, which is %llu (--steps)",
		 (unsigned long long)options->save_at,
		 (unsigned long long)options->steps);
	return complain("option", "--save-at", rule);
}

static int parse_options(int argc, char **argv, struct train_options *options)
{
	const struct option known[] = {
		{"device", required_argument, NULL, OPT_DEVICE},
		{"steps", required_argument, NULL, OPT_STEPS},
		{"seed", required_argument, NULL, OPT_SEED},
		{"dropout", required_argument, NULL, OPT_DROPOUT},
		{"ops", required_argument, NULL, OPT_OPS},
		{"save-at", required_argument, NULL, OPT_SAVE_AT},
		{"save", required_argument, NULL, OPT_SAVE},
		{"resume", required_argument, NULL, OPT_RESUME},
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

int train_parse_options(int argc, char **argv, struct train_options *options)
{
	int result;

	*options = (struct train_options){.file = "README.md",
					  .device = "host",
					  .seed = 1,
					  .dropout = 0.1};
	result = parse_options(argc, argv, options);
	if (result || options->help)
		return result;
	if (!options->steps)
		options->steps = options->naive ? STEPS_NAIVE : STEPS;
	return check_options(options);
}
