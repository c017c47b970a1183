/*
 * examples/ranks/options.c - the command line
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"

static const char help[] =
	"usage: mpirun -n N ranks [OPTION]...\n"
	"\n"
	"Train a small language model on the bytes of a text. Every mesh of ranks\n"
	"gives the same losses and parameters, to the last bit.\n"
	"\n"
	"  --mesh AXES       sizes of data, tensor and pipeline, in any order, as in\n"
	"                    data=2,tensor=2,pipeline=1 (default: N along data)\n"
	"  --device NAME     host, host:sync, host:strict, cuda, cuda:N (default\n"
	"                    host:sync); cuda takes a GPU for each rank of a machine\n"
	"  --comm KIND       mpi, or nccl, which is loaded from libnccl.so.2 or from\n"
	"                    what RANKS_NCCL names (default: nccl if several ranks\n"
	"                    are on GPUs, else mpi)\n"
	"  --text FILE       to train on (default README.md)\n"
	"  --steps N         (default 10)\n"
	"  --seed S          of all numbers (default 1)\n"
	"  --layers N --heads N --width N --sequence N\n"
	"                    of the model (default 4, 4, 32 and 32)\n"
	"  --samples N       of a micro-batch, over the data ranks (default 4)\n"
	"  --micro N         micro-batches of a step (default 4)\n"
	"  --dropout P       (default 0.1)\n"
	"  --rate R          of Adam (default 0.01)\n"
	"  --eager           without captured graphs\n"
	"  --keep            keep activations, instead of computing them again\n"
	"  --save FOLDER     save there at the end ...\n"
	"  --every N         ... and after each N steps\n"
	"  --resume FOLDER   go on from what was saved, on this mesh or another\n"
	"  --agree N         compare the ranks after each N steps\n"
	"  --kill-at N       the last rank is killed in the middle of step N\n"
	"  --stray R         rank R draws once too often: see what --agree says;\n"
	"                    needs ranks along data or tensor, to compare it with\n"
	"  --help            this text\n"
	"\n"
	"Exit status: 0 trained; 1 something failed; 2 the command line is wrong.\n";

void options_help(void)
{
	fputs(help, stdout);
}

/* --- numbers -------------------------------------------------------------- */

/* An option with a number: where it is put, and its range. */
struct number {
	const char *name;
	size_t at; /* in struct options */
	uint64_t least, most;
};

#define SHAPE(field)  offsetof(struct options, shape.field)
#define OPTION(field) offsetof(struct options, field)

static const struct number numbers[] = {
	{"seed", SHAPE(seed), 0, UINT64_MAX},
	{"layers", SHAPE(layers), 1, 1000},
	{"heads", SHAPE(heads), 1, 1000},
	{"width", SHAPE(width), 1, 10000},
	{"sequence", SHAPE(places), 1, 10000},
	{"samples", SHAPE(samples), 1, 10000},
	{"micro", SHAPE(micro), 1, 10000},
	{"steps", OPTION(steps), 1, 1000000},
	{"every", OPTION(every), 1, 1000000},
	{"agree", OPTION(agree), 1, 1000000},
	{"kill-at", OPTION(kill_at), 1, 1000000},
	{"stray", OPTION(stray), 0, 1000000},
};

enum { N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static int read_number(struct options *options, const struct number *number,
		       const char *text, char message[200])
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' ||
	    value < number->least || value > number->most) {
		snprintf(message, 200,
			 "--%s '%.40s': must be a number from %llu to %llu",
			 number->name, text, (unsigned long long)number->least,
			 (unsigned long long)number->most);
		return -1;
	}
	*(uint64_t *)((char *)options + number->at) = value;
	return 0;
}

static int read_real(const char *name, const char *text, double most,
		     float *real, char message[200])
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= 0 && value <= most)) {
		snprintf(message, 200,
			 "--%s '%.40s': must be a number from 0 to %g", name,
			 text, most);
		return -1;
	}
	*real = (float)value;
	return 0;
}

/* --- all options ---------------------------------------------------------- */

/* Letters for getopt_long(): below them are the places in numbers[]. */
enum {
	MESH = 1000,
	DEVICE,
	COMM,
	TEXT,
	SAVE,
	RESUME,
	DROPOUT,
	RATE,
	EAGER,
	KEEP,
	HELP
};

static const struct option others[] = {
	{"mesh", required_argument, NULL, MESH},
	{"device", required_argument, NULL, DEVICE},
	{"comm", required_argument, NULL, COMM},
	{"text", required_argument, NULL, TEXT},
	{"save", required_argument, NULL, SAVE},
	{"resume", required_argument, NULL, RESUME},
	{"dropout", required_argument, NULL, DROPOUT},
	{"rate", required_argument, NULL, RATE},
	{"eager", no_argument, NULL, EAGER},
	{"keep", no_argument, NULL, KEEP},
	{"help", no_argument, NULL, HELP},
};

enum { N_OTHERS = sizeof(others) / sizeof(others[0]) };

static int read_other(struct options *options, int letter, char message[200])
{
	switch (letter) {
	case MESH:
		options->mesh = optarg;
		return 0;
	case DEVICE:
		options->device = optarg;
		return 0;
	case COMM:
		options->comm = optarg;
		return 0;
	case TEXT:
		options->text = optarg;
		return 0;
	case SAVE:
		options->save = optarg;
		return 0;
	case RESUME:
		options->resume = optarg;
		return 0;
	case DROPOUT:
		return read_real("dropout", optarg, 1, &options->shape.dropout,
				 message);
	case RATE:
		return read_real("rate", optarg, 10, &options->shape.rate,
				 message);
	case EAGER:
		options->eager = 1;
		return 0;
	case KEEP:
		options->keep = 1;
		return 0;
	default:
		options->help = 1;
		return 0;
	}
}

/* What options say together. */
static int check_options(struct options *o, uint64_t world, char message[200])
{
	struct shape *shape = &o->shape;

	if (!o->comm)
		o->comm = world > 1 && !strncmp(o->device, "cuda", 4) ? "nccl"
								      : "mpi";
	if (strcmp(o->comm, "mpi") && strcmp(o->comm, "nccl"))
		snprintf(message, 200, "--comm '%.40s': must be mpi or nccl",
			 o->comm);
	else if (!strcmp(o->comm, "nccl") && strncmp(o->device, "cuda", 4))
		snprintf(message, 200, "--comm nccl: needs --device cuda");
	else if (shape->width % shape->heads)
		snprintf(message, 200,
			 "--width %llu: must be a multiple of --heads %llu",
			 (unsigned long long)shape->width,
			 (unsigned long long)shape->heads);
	else if (o->stray != NO_RANK && o->stray >= world)
		snprintf(message, 200, "--stray %llu: ranks are 0 to %llu",
			 (unsigned long long)o->stray,
			 (unsigned long long)world - 1);
	else if (o->every && !o->save)
		snprintf(message, 200, "--every: needs --save");
	else
		return 0;
	return -1;
}

static void set_defaults(struct options *options)
{
	*options = (struct options){
		.device = "host:sync",
		.text = "README.md",
		.steps = 10,
		.stray = NO_RANK,
		.shape = {.seed = 1,
			  .layers = 4,
			  .heads = 4,
			  .width = 32,
			  .places = 32,
			  .samples = 4,
			  .micro = 4,
			  .dropout = 0.1f,
			  .rate = 0.01f},
	};
}

int options_read(struct options *options, int argc, char **argv, uint64_t world,
		 char message[200])
{
	struct option all[N_NUMBERS + N_OTHERS + 1] = {{NULL, 0, NULL, 0}};
	int letter;

	set_defaults(options);
	for (int i = 0; i < N_NUMBERS; i++)
		all[i] = (struct option){numbers[i].name, required_argument,
					 NULL, i};
	memcpy(all + N_NUMBERS, others, sizeof(others));
	opterr = 0; /* one rank says it */
	while ((letter = getopt_long(argc, argv, ":", all, NULL)) != -1) {
		if (letter == '?' || letter == ':') {
			snprintf(message, 200, "%.60s: %s", argv[optind - 1],
				 letter == ':' ? "needs a value"
					       : "no such option");
			return -1;
		}
		if (letter < N_NUMBERS ? read_number(options, &numbers[letter],
						     optarg, message)
				       : read_other(options, letter, message))
			return -1;
	}
	if (optind < argc) {
		snprintf(message, 200, "'%.60s': only options are expected",
			 argv[optind]);
		return -1;
	}
	options->shape.head_width = options->shape.width / options->shape.heads;
	options->shape.hidden = 4 * options->shape.head_width;
	return check_options(options, world, message);
}
