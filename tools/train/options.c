/*
 * tools/train/options.c - the command line of `philox train`
 */
#include <inttypes.h>
#include <unistd.h>
#include "tools/common/complain.h"
#include "tools/train/train.h"

#define STEPS       600
#define STEPS_NAIVE 100

const char train_usage[] =
	"usage: philox train [OPTION]... [FILE]\n"
	"       philox train --save-at N --save OUT [OPTION]... [FILE]\n"
	"       philox train --resume OUT [OPTION]... [FILE]\n"
	"\n"
	"Train a small language model on the bytes of a text (default: README.md)\n"
	"four times: eager; captured; captured with activations recomputed;\n"
	"captured with backwards out of order. All must agree in every bit.\n"
	"\n"
	"  --device NAME  " HELP_DEVICE " (default host)\n"
	"  --steps N      steps of each run (default 600; with --naive 100)\n"
	"  --seed S       of all numbers (default 1)\n"
	"  --dropout P    probability, from 0 to 1 (default 0.1)\n"
	"  --ops N        extra random operators in the graphs (default 0)\n"
	"  --save-at N    run out of order only, as far as the middle of step N,\n"
	"                 where backwards are owed\n"
	"  --save OUT     ... and save everything there in the file OUT\n"
	"  --resume OUT   go on from there to the end: with the same text and\n"
	"                 options (those not given are the file's, --steps may\n"
	"                 differ) it ends with the bits of a run without a break\n"
	"  --naive        capture without philox, and show what goes wrong\n"
	"  --json         all figures as one object in the last line\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Exit status: 0 the runs agree and, unless --steps was given, the model\n"
	"learned (with --naive: the runs were made); 1 not, or something failed;\n"
	"2 the command line or a file is wrong.\n";

/* --- command line --------------------------------------------------------- */

static int take_number(const char *option, const char *text, uint64_t least,
		       uint64_t most, uint64_t *value)
{
	return take_whole("train", option, text, least, most, value);
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
		return take_number("steps", value, 1, TRAIN_STEPS_MAX,
				   &options->steps);
	case OPT_SEED:
		options->seed_given = 1;
		return take_number("seed", value, 0, UINT64_MAX,
				   &options->seed);
	case OPT_DROPOUT:
		options->dropout_given = 1;
		return take_probability("train", "dropout", value,
					&options->dropout);
	case OPT_OPS:
		options->ops_given = 1;
		return take_number("ops", value, 0, TRAIN_OPS_MAX,
				   &options->ops);
	case OPT_SAVE_AT:
		return take_number("save-at", value, 1, TRAIN_STEPS_MAX,
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
	const char *file = options->save ? options->save : options->resume;
	const char *name = options->save ? "save" : "resume";

	if (options->resume && (options->save || options->save_at))
		return complain_value("train", "resume", options->resume,
				      "not together with --save-at and --save");
	if (options->naive && file)
		return complain_value("train", name, file,
				      "not together with --naive");
	if (options->save && !options->save_at)
		return complain_value("train", "save", options->save,
				      "needs --save-at and a step");
	if (options->save_at && !options->save)
		return complain("train", "--save-at: needs --save and a file");
	if (options->save_at <= options->steps || options->resume)
		return 0;
	return complain("train",
			"--save-at '%" PRIu64 "': is beyond the last step, "
			"which is %" PRIu64 " (--steps)",
			options->save_at, options->steps);
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

	optind = 0;
	while (!wrong && (option = next_option(argc, argv, known)) != -1) {
		if (option == '?')
			return 2;
		wrong = take_option(options, option, optarg);
	}
	if (!wrong)
		wrong = arguments_end(argc, argv, 1);
	if (!wrong && optind < argc)
		options->file = argv[optind];
	return wrong;
}

/* Without a name the text is README.md, if there is one. */
static int find_file(struct train_options *options)
{
	if (options->file)
		return 0;
	if (access("README.md", F_OK))
		return complain("train",
				"give a FILE (there is no README.md here)");
	options->file = "README.md";
	return 0;
}

int train_parse_options(int argc, char **argv, struct train_options *options)
{
	int result;

	*options = (struct train_options){
		.device = "host", .seed = 1, .dropout = 0.1};
	result = parse_options(argc, argv, options);
	if (result || options->help)
		return result;
	if (!options->steps)
		options->steps = options->naive ? STEPS_NAIVE : STEPS;
	result = check_options(options);
	return result ? result : find_file(options);
}
