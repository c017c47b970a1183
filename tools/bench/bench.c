/*
 * tools/bench/bench.c - philox bench: measurements, none of them a test
 */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/tools.h"

struct part {
	const char *name;
	const char *help;
	const char *legend; /* printed below the rows */
	int chooses;        /* --only PART/... picks rows; --quick matters */
	int sizes;          /* --size matters */
	int threads;        /* --threads matters */
	int (*run)(struct bench *bench);
	size_t (*steps)(const struct bench *bench);
};

static const struct part parts[] = {
	{"ledger", "begin and commit, memory of a ticket, schedules",
	 "  Passes are eager and draw nothing. capture query: asking the stream\n"
	 "  whether it is capturing, which each pass must do once. calls: of the\n"
	 "  device, for one replay of a schedule of 4 stages with 8 microbatches: a\n"
	 "  launch, a parameter update and a capture query are 3. pending: most\n"
	 "  tickets of a region at once.\n",
	 0, 0, 0, bench_ledger, bench_ledger_steps},
	{"replay", "launches with tickets against bare launches",
	 "  launch call: until it returns; replay: until the work is done.\n"
	 "  bare: a graph of the same fills with states by value, launched as it\n"
	 "  is; its numbers repeat. The other's head node derives one Philox block\n"
	 "  for each operator of each pass.\n",
	 0, 0, 0, bench_replay, bench_replay_steps},
	{"fill", "fills against limits and other generators",
	 "  Each figure is of one stream, ours with a launch for each fill. On a\n"
	 "  CPU all but ours and torch, with --threads, run on one thread.\n"
	 "  Dropout and bernoulli: p = 0.5; integers: 0 to 999. memset, copy, scale\n"
	 "  (read, times a constant, write): what the machine can do at best.\n"
	 "  curand_host: on the CPU; curand, curand_dynamic: Philox on a GPU in its\n"
	 "  default order, and in the one called fastest. random123: plain loops\n"
	 "  over Philox4x32-10 with its own uniforms and normals, -O3 -march=native.\n"
	 "  torch: called from Python; its dropout makes its output anew.\n",
	 1, 1, 1, bench_fill, bench_fill_steps},
	{"states", "replays of draws with a state of their own each",
	 "  states/N/call: of the launch, until it returns; states/N/replay: until\n"
	 "  the work is done. Both are of N fills of 16 elements. bare: the same\n"
	 "  with states by value; its numbers repeat. torch: replay() of uniform_(),\n"
	 "  called from Python, with N registered generators and the default.\n",
	 1, 0, 1, bench_states, bench_states_steps},
	{"values", "values that change from launch to launch",
	 "  values/set: of setting one, of 12 bytes. values/N/call: of a launch of a\n"
	 "  graph with N of them and one fill, until it returns; values/N/replay:\n"
	 "  until the work is done. device-calls: for a launch; nodes: of the graph.\n"
	 "  without: the same graph without values.\n",
	 1, 0, 0, bench_values, bench_values_steps},
	{"loops", "launches of loops, by the number of iterations",
	 "  loops/N/call: of a launch of a graph with a WHILE node, whose body runs\n"
	 "  N times, until the launch returns; loops/N/replay: until the work is\n"
	 "  done. device-calls: for a launch; nodes: of the graph, but for the body.\n"
	 "  without: the work of the body, a fill and copies, once and in no node.\n",
	 1, 0, 0, bench_loops, bench_loops_steps},
	{"rows", "draws and tokens for the rows of a table",
	 "  rows/draw/NxM: M uniform numbers for each of N rows, until the work is\n"
	 "  done. fill: as many numbers of one state. rows/token/NxV: a token for\n"
	 "  each of N rows from V logits in f32. greedy: the same at temperature 0,\n"
	 "  which draws no numbers; greedy+bits: that and a fill of as many words.\n"
	 "  torch: softmax() and multinomial(), called from Python.\n"
	 "  rows/filtered/NxV: a token of the first 50, and of these of the first\n"
	 "  0.9; token: of all; top-p: of the first 0.9 of all; torch: topk(), then\n"
	 "  on these softmax(), cumsum() and multinomial(). rows/logprobs/NxV: a\n"
	 "  token, its raw logprob and those of the first 20; token: without; its\n"
	 "  own: without the first; torch: log_softmax(), topk(), multinomial() and\n"
	 "  gather(). rows/penalised/NxV: a token with 20 biases and with penalties\n"
	 "  for 500 tokens, which is noted; token: without; torch: scatter_add(),\n"
	 "  where(), softmax() and multinomial(). rows/accepted/NxV: N - 1 drafts\n"
	 "  of one row are accepted, and a token drawn; tokens: N tokens; point:\n"
	 "  drafts without logits, of which the first is refused. rows/greedy/NxV:\n"
	 "  beside the maximum of the same bytes. On a CPU all but torch, with\n"
	 "  --threads, run on one thread.\n",
	 1, 0, 1, bench_rows, bench_rows_steps},
	{"quantize", "tensors rounded to 8 and 4 bits",
	 "  quantize/FORMAT/BITS: of bf16 to E4M3 or E5M2, with so many random bits\n"
	 "  for each element (exact: 8, and more where they do not decide); mxfp8,\n"
	 "  nvfp4: with scales of blocks. GB/s are of what is read and written, but\n"
	 "  for scales. copy: of as many bytes. torch: to() of the same tensor, to\n"
	 "  nearest, called from Python.\n",
	 1, 0, 1, bench_quantize, bench_quantize_steps},
	{"pool", "blocks of a pool, checkpoints, memory, launches",
	 "  pool/pair/N/net: one of N live blocks is freed and another allocated,\n"
	 "  without the two capture queries of that (whole: with them). Sizes are\n"
	 "  mixed, up to 2 KiB. glibc, mimalloc: the same blocks in host memory.\n"
	 "  calls: of the device, in a pair. pool/checkpoint/N, pool/restore/N: of\n"
	 "  N blocks that were all freed in between; \"of\" fewer blocks it took so\n"
	 "  long. pool/training: memory mapped for batches of several shapes, and\n"
	 "  the most that was live, as asked for. pool/captures: the same for 6\n"
	 "  captures of falling size that share a pool. pool/launch: calls of the\n"
	 "  device for a launch of a graph alone in a pool, of two that share it,\n"
	 "  and of two with PHILOX_POOL_STRICT.\n",
	 1, 0, 0, bench_pool, bench_pool_steps},
	{"runner", "calls of functions that are recorded and replayed",
	 "  runner/inputs/N/call: of a call of a function with N static inputs that\n"
	 "  is replayed, until it returns; runner/inputs/N/replay: until the work is\n"
	 "  done. launch: philox_graph_launch() of the same graph, which shares a\n"
	 "  pool; more: what the call takes more. recordings/N: with so many, all\n"
	 "  called in turn, beside \"of 1\". copied/N, values/N: inputs that are\n"
	 "  copied, values. outputs/N: with their release. device-calls: for a call.\n"
	 "  runner/record/N: of a call that is recorded while N outputs of another\n"
	 "  function are not released; capture: of a capture and a launch without a\n"
	 "  runner. record-bytes: that a recording takes on the host; counted: as\n"
	 "  the function counts them. device-bytes: on a GPU, of all programs.\n"
	 "  runner/restore/N: of a call that runs the body, and puts the pool back\n"
	 "  first. runner/keys/K: the pool after K recordings of falling size, and\n"
	 "  after the largest alone. runner/plans/N: saving N recordings as a plan,\n"
	 "  and loading that. runner/verify: a call that draws two dropouts of 4 MiB,\n"
	 "  one into an output and one into an input that it mutates, until the work\n"
	 "  is done: eager, of a replay, and of one that is verified; memory: that\n"
	 "  the first verified call takes from the device (of a GPU: with all other\n"
	 "  programs'); copies: of the output, and two of the mutated input.\n"
	 "  runner/llama: a step of 32 layers that share a forward and a backward\n"
	 "  function; launches: of the same graphs; share: of the host's time that\n"
	 "  the step takes more.\n"
	 "  each: what one input takes more, beside a copy of its address and size.\n"
	 "  aim: what a figure should be at most; a ratio above 1 misses it. A hit\n"
	 "  should take 1000 ns more without an input, 3 such copies for each that is\n"
	 "  static, 10 for each that is copied, as much with many recordings as with\n"
	 "  one, and as many calls of the device, and one for each 128 copied inputs;\n"
	 "  the pool of keys 1.05 of the largest; a plan is loaded within 50 ms; a\n"
	 "  verified replay takes as long as a replay, an eager call and two copies\n"
	 "  of 4 MiB, each for a comparison.\n",
	 1, 0, 0, bench_runner, bench_runner_steps},
	{"ranks", "digests that ranks compare",
	 "  ranks/digest: philox_context_rank_digest() of 2000 regions of 20 operators with\n"
	 "  8 tickets each; region: of each of them without tickets; ticket: what\n"
	 "  each of those takes more. context: the same by philox_context_digest(),\n"
	 "  which depends on more, and sorts.\n",
	 1, 0, 0, bench_ranks, bench_ranks_steps},
	{"schedules", "the schedules of part ledger alone",
	 "  See part ledger.\n", 0, 0, 0, bench_schedules,
	 bench_schedules_steps},
	{"growth", "the cost of each of very many things",
	 "  growth/WHAT/PHASE/N: what a phase takes for each of N: N is doubled until\n"
	 "  it is as large as it should work with. CPU time of the calls on device\n"
	 "  host:sync, on which nothing runs beside them. list: of a node of a list\n"
	 "  of as many from malloc(): made, walked, freed.\n",
	 1, 0, 0, bench_growth, bench_growth_steps},
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* --- the command ---------------------------------------------------------- */

static const char usage[] =
	"usage: philox bench [OPTION]...\n\n"
	"Measure fills, passes and replays.\n\n"
	"  --device NAME  " HELP_DEVICE " (default host)\n"
	"  --only PART    one part, or in fill, states, values, loops, rows,\n"
	"                 quantize, pool, runner, ranks and growth those that begin\n"
	"                 so, as fill/uniform/f32:\n"
	"%s"
	"  --growth       part growth, which takes minutes: only if it is asked for\n"
	"  --size N       of the arrays in part fill: 64KiB, 2MiB, 1GiB, ...;\n"
	"                 up to %d of them\n"
	"  --threads N    of a fill on a host device, and of torch, in parts fill,\n"
	"                 states, rows and quantize (default 1)\n"
	"  --quick        a very short run in parts fill, states, values, loops,\n"
	"                 rows, quantize, pool, runner, ranks and growth, to see\n"
	"                 that they work: no measurement\n"
	"  --json         one JSON object per line\n"
	"  --help         " HELP_HELP "\n\n"
	"Peers are looked for in the folder PHILOX_PEERS if it is set, else "
	"in\npeers/ beside this program and, libcurand.so.10 and "
	"libmimalloc.so,\nwhere libraries are.\n"
	"PHILOX_PYTHON is the Python that may have torch (default python3).\n\n"
	"Exit status: 0 done, 1 it failed, 2 the command line is "
	"wrong.\n";

/* With a line for each part. */
static const char *help_text(void)
{
	static char text[4096], lines[1024];
	size_t length = 0;

	for (size_t i = 0; i < N_PARTS; i++)
		length +=
			(size_t)snprintf(lines + length, sizeof(lines) - length,
					 "                 %-9s  %s\n",
					 parts[i].name, parts[i].help);
	snprintf(text, sizeof(text), usage, lines, BENCH_SIZES_MAX);
	return text;
}

/* What the command line says. */
struct command {
	const char *device;
	const char *only_text;
	const struct part *only;
	int growth;
	const char *size, *threads; /* as given, or NULL */
	struct bench bench;
};

static int take_part(void *to, const char *value)
{
	struct command *command = to;
	const char *names[N_PARTS + 1] = {NULL};
	char name[32];
	size_t length = strcspn(value, "/");
	int place;

	for (size_t i = 0; i < N_PARTS; i++)
		names[i] = parts[i].name;
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	snprintf(name, sizeof(name), "%.*s", (int)length, value);
	if (take_name("bench", "only", value[length] ? name : value, names,
		      &place))
		return 2;
	if (value[length] && !parts[place].chooses)
		return complain_value("bench", "only", value,
				      "part %s has no rows to choose from",
				      name);
	command->only = &parts[place];
	command->only_text = value;
	command->bench.prefix = value[length] ? value : NULL;
	return 0;
}

/* A whole number of KiB, MiB or GiB, up to 1024 of the last. */
static int take_size(void *to, const char *value)
{
	struct bench *bench = to;
	static const char *const units[] = {"KiB", "MiB", "GiB"};
	char *unit;
	uint64_t number = strtoull(value, &unit, 10);

	if (bench->n_sizes == BENCH_SIZES_MAX)
		return complain_value("bench", "size", value,
				      "there are already %d", BENCH_SIZES_MAX);
	for (int i = 0; i < 3; i++) {
		if (*value < '0' || *value > '9' || number < 1 ||
		    number > 1024 || strcmp(unit, units[i]))
			continue;
		bench->sizes[bench->n_sizes++] = (size_t)number
						 << (10 * (i + 1));
		return 0;
	}
	return complain_value("bench", "size", value,
			      "must be from 1 to 1024 KiB, MiB or GiB, as "
			      "64KiB");
}

static int choose_growth(struct command *command)
{
	if (command->only && command->only->run != bench_growth)
		return complain("bench", "--growth: --only names another part");
	for (size_t i = 0; i < N_PARTS; i++)
		if (parts[i].run == bench_growth)
			command->only = &parts[i];
	return 0;
}

/* Options that have no meaning for the part, or for the device. */
static int check_options(const struct command *command)
{
	const struct part *only = command->only;

	if (command->size && only && !only->sizes)
		return complain_value("bench", "size", command->size,
				      "part %s has no sizes", only->name);
	if (command->threads && only && !only->threads)
		return complain_value("bench", "threads", command->threads,
				      "part %s has no use for them",
				      only->name);
	if (command->threads && strncmp(command->device, "host", 4) != 0)
		return complain_value("bench", "threads", command->threads,
				      "needs --device host, not %s",
				      command->device);
	if (only && only->run == bench_growth &&
	    strncmp(command->device, "host", 4) != 0)
		return complain("bench", "part growth is about the host device: "
					 "leave --device %s out",
				command->device);
	if (command->bench.quick && only && !only->chooses)
		return complain("bench", "--quick: part %s is not shortened",
				only->name);
	return 0;
}

/* Without --only, the schedules are in another part, and growth is left out. */
static int is_chosen(const struct command *command, const struct part *part)
{
	return command->only ? command->only == part
			     : part->run != bench_schedules &&
				       part->run != bench_growth;
}

static int run_part(struct bench *bench, const struct part *part)
{
	int failed;

	if (!bench->json)
		printf("\n");
	bench->part = part->name;
	failed = part->run(bench);
	progress_wipe();
	if (!failed && !bench->json)
		screen_help(stdout, part->legend);
	return failed;
}

static int run_parts(struct command *command)
{
	struct bench *bench = &command->bench;
	int failed = 0;

	for (size_t i = 0; i < N_PARTS; i++)
		if (is_chosen(command, &parts[i]))
			bench->all += parts[i].steps(bench);
	for (size_t i = 0; i < N_PARTS && !failed; i++)
		if (is_chosen(command, &parts[i]))
			failed = run_part(bench, &parts[i]);
	progress_end();
	if (failed)
		return 1;
	if (!bench->rows)
		return complain_value("bench", "only", command->only_text,
				      "no row begins like this");
	return 0;
}

static int run_command(struct command *command)
{
	struct bench *bench = &command->bench;
	int status = open_device("bench", command->device, &bench->device);

	if (status)
		return status;
	status = 1;
	if (bench_try("context",
		      philox_context_create(bench->device, &bench->context)))
		goto close_device;
	if (bench_try("stream",
		      philox_stream_create(bench->device, 0, &bench->stream)))
		goto destroy_context;
	if (bench_try("threads",
		      philox_device_set_threads(bench->device, bench->threads)))
		goto destroy_stream;
	bench_machine(bench, command->device);
	status = run_parts(command);
destroy_stream:
	philox_stream_destroy(bench->device, bench->stream);
destroy_context:
	philox_context_destroy(bench->context);
close_device:
	philox_device_close(bench->device);
	return status;
}

int tool_bench(int argc, char **argv)
{
	struct command command = {.device = "host", .bench = {.threads = 1}};
	struct bench *bench = &command.bench;
	const struct tool_option options[] = {
		{"device", TAKES_TEXT, .to = &command.device},
		{"only", TAKES_OTHER, .to = &command, .take = take_part},
		{"size", TAKES_OTHER, .to = bench, .take = take_size,
		 .given = &command.size},
		{"threads", TAKES_WHOLE_32, .to = &bench->threads, .least = 1,
		 .most = 256, .given = &command.threads},
		{"growth", TAKES_NOTHING, .to = &command.growth},
		{"quick", TAKES_NOTHING, .to = &bench->quick},
		{"json", TAKES_NOTHING, .to = &bench->json},
		{0}};
	int status = read_options(argc, argv, options, help_text(), 0);

	if (status >= 0)
		return status;
	if ((command.growth && choose_growth(&command)) ||
	    check_options(&command))
		return 2;
	return run_command(&command);
}
