/*
 * tools/train/options.c - the command line of `philox train`
 */
#include <inttypes.h>
#include <unistd.h>
#include "tools/cli/cli.h"
#include "tools/train/train.h"

#define STEPS       600
#define STEPS_NAIVE 100

static const char usage[] =
	"usage: philox train [OPTION]... [FILE]\n"
	"       philox train --save-at N --save OUT [OPTION]... [FILE]\n"
	"       philox train --resume OUT [OPTION]... [FILE]\n"
	"\n"
	"Train a small language model on the bytes of a text (default: README.md)\n"
	"four times: eager; captured; captured with activations recomputed;\n"
	"captured with backwards out of order. All must agree in every bit.\n"
	"\n"
	"On a GPU matrix products go through cuBLAS, of a toolkit, the system or\n"
	"pip, or the library that PHILOX_CUBLAS names; without any, or if that is\n"
	"none, through a simple kernel. The output says which.\n"
	"\n"
	"  --device NAME  " HELP_DEVICE " (default host)\n"
	"  --steps N      steps of each run (default 600; with --naive 100)\n"
	"  --seed S       of all numbers (default 1)\n"
	"  --dropout P    probability, from 0 to 1 (default 0.1)\n"
	"  --ops N        extra random operators in the graphs (default 0)\n"
	"  --save-at N    run out of order only, as far as the middle of step N,\n"
	"                 where backwards are owed\n"
	"  --save OUT     ... and save everything there in the file OUT\n"
	"  --resume OUT   continue from there to the end: with the same text and\n"
	"                 options (those not given are the file's, --steps may\n"
	"                 differ) it ends with the bits of a run without a break\n"
	"  --loop         a fifth run: captured, with the micro-batches of a step as\n"
	"                 one WHILE node of the graph. It must agree, too. CUDA 12.4\n"
	"                 has such nodes, and the driver must be as new\n"
	"  --runner       one more run: each layer of a step, forward and backward,\n"
	"                 is a call of a function of a runner, that is shared by all\n"
	"                 layers. It must agree, and replay calls. The output says\n"
	"                 how the calls of each function were executed\n"
	"  --snapshot OUT write what the runner of --runner has at the end to the file\n"
	"                 OUT, which philox inspect sums up and draws\n"
	"  --only RUN     one of them: eager, captured, recomputed, out-of-order,\n"
	"                 looped, runner; as for journals to compare\n"
	"  --weights W    f32, bf16; what the weights are kept in (default f32).\n"
	"                 With bf16 there are no masters in f32, the moments of AdamW\n"
	"                 have 8 bits, and all of it is rounded stochastically. The\n"
	"                 runs must agree, too. One more, captured, has f32 masters:\n"
	"                 its losses are printed beside theirs\n"
	"  --pool KIND    its segments: plain, expandable; the arrays of a step,\n"
	"                 activations and gradients, are blocks of a pool; the bits\n"
	"                 are the same as without\n"
	"  --naive        capture without philox, and show what goes wrong\n"
	"  --json         all figures as one object in the last line\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Exit status: 0 the runs agree and, unless --steps was given, the model\n"
	"learned (with --naive: the runs were made); 1 not, or something failed;\n"
	"2 the command line or a file is wrong.\n";

/* The option that chooses runs by itself, or NULL. */
static const char *chooses_runs(const struct train_options *options)
{
	return options->naive     ? "naive"
	       : options->save_at ? "save-at"
	       : options->save    ? "save"
	       : options->resume  ? "resume"
				  : NULL;
}

/* The options for a run more, with `other`, which chooses them, or NULL. */
static int check_more_runs(const struct train_options *options,
			   const char *other)
{
	const struct {
		const char *name;
		int given, run;
	} more[] = {{"loop", options->loop, TRAIN_LOOPED},
		    {"runner", options->runner, TRAIN_RUNNER}};

	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		if (more[i].given && other)
			return complain("train", "--%s: not together with --%s",
					more[i].name, other);
		if (more[i].given && options->only_given &&
		    options->only != more[i].run)
			return complain_value(
				"train", "only", options->only_given,
				"not together with --%s", more[i].name);
	}
	return 0;
}

/* Checks the options for single runs: not together with others for all. */
static int check_runs(const struct train_options *options)
{
	const char *other = chooses_runs(options);

	if (options->weights == TRAIN_WEIGHTS_BF16 && other)
		return complain_value("train", "weights",
				      options->weights_given,
				      "not together with --%s", other);
	if (options->only_given && other)
		return complain_value("train", "only", options->only_given,
				      "not together with --%s", other);
	return check_more_runs(options, other);
}

/* Checks the options together. */
static int check_options(const struct train_options *options)
{
	const char *file = options->save ? options->save : options->resume;
	const char *name = options->save ? "save" : "resume";

	if (check_runs(options))
		return 2;
	if (options->pool_given && options->naive)
		return complain_value("train", "pool", options->pool_given,
				      "not together with --naive");
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

static const char *const runs[] = {[TRAIN_EAGER] = "eager",
				   [TRAIN_CAPTURED] = "captured",
				   [TRAIN_RECOMPUTED] = "recomputed",
				   [TRAIN_REORDERED] = "out-of-order",
				   [TRAIN_LOOPED] = "looped",
				   [TRAIN_RUNNER] = "runner",
				   NULL};

static const char *const pools[] = {[TRAIN_POOL_PLAIN] = "plain",
				    [TRAIN_POOL_EXPANDABLE] = "expandable",
				    NULL};

static const char *const weights[] = {
	[TRAIN_WEIGHTS_F32] = "f32", [TRAIN_WEIGHTS_BF16] = "bf16", NULL};

static int read_line(int argc, char **argv, struct train_options *options)
{
	const struct tool_option known[] = {
		{"device", TAKES_TEXT, .to = &options->device},
		{"steps", TAKES_WHOLE, .to = &options->steps, .least = 1,
		 .most = TRAIN_STEPS_MAX, .given = &options->steps_given},
		{"seed", TAKES_WHOLE, .to = &options->seed, .most = UINT64_MAX,
		 .given = &options->seed_given},
		{"dropout", TAKES_PROBABILITY, .to = &options->dropout,
		 .given = &options->dropout_given},
		{"ops", TAKES_WHOLE, .to = &options->ops, .most = TRAIN_OPS_MAX,
		 .given = &options->ops_given},
		{"save-at", TAKES_WHOLE, .to = &options->save_at, .least = 1,
		 .most = TRAIN_STEPS_MAX},
		{"save", TAKES_TEXT, .to = &options->save},
		{"resume", TAKES_TEXT, .to = &options->resume},
		{"only", TAKES_NAME, .to = &options->only, .names = runs,
		 .given = &options->only_given},
		{"pool", TAKES_NAME, .to = &options->pool, .names = pools,
		 .given = &options->pool_given},
		{"weights", TAKES_NAME, .to = &options->weights,
		 .names = weights, .given = &options->weights_given},
		{"loop", TAKES_NOTHING, .to = &options->loop},
		{"runner", TAKES_NOTHING, .to = &options->runner},
		{"snapshot", TAKES_TEXT, .to = &options->snapshot},
		{"naive", TAKES_NOTHING, .to = &options->naive},
		{"json", TAKES_NOTHING, .to = &options->json},
		{0}};
	int status = read_options(argc, argv, known, usage, 1);

	if (status < 0 && optind < argc)
		options->file = argv[optind];
	return status;
}

/* Without a name the text is README.md, if it exists. */
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
	int status;

	*options = (struct train_options){
		.device = "host", .seed = 1, .dropout = 0.1};
	status = read_line(argc, argv, options);
	if (status >= 0)
		return status;
	if (!options->steps)
		options->steps = options->naive ? STEPS_NAIVE : STEPS;
	if (check_options(options))
		return 2;
	if (options->only_given && options->only == TRAIN_LOOPED)
		options->loop = 1;
	if (options->only_given && options->only == TRAIN_RUNNER)
		options->runner = 1;
	if (options->snapshot && !options->runner)
		return complain_value("train", "snapshot", options->snapshot,
				      "needs --runner");
	return find_file(options) ? 2 : -1;
}
