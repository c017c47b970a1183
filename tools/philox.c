/*
 * tools/philox.c - the philox command: picks a subcommand
 */
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>
#include <philox/status.h>
#include "tools/cli/cli.h"

struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{"train", "train a language model: eager and captured runs must agree",
	 tool_train},
	{"matrix", "run all sequences of events against a model", tool_matrix},
	{"bench", "measure fills, passes and replays", tool_bench},
	{"draw", "print a stream of random numbers", tool_draw},
	{"diff", "name the first difference of two saved runs or journals",
	 tool_diff},
	{"inspect", "sum up a saved context, journal, pool or runner; draw it",
	 tool_inspect},
	{"explain", "print what a runner has recorded as programs",
	 tool_explain},
	{"merge", "make the saved contexts of one mesh those of another",
	 tool_merge},
	{"info", "show the version, the devices and the processor", tool_info},
	{"selftest", "check the devices of this machine", tool_selftest},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	char text[2048] = "usage: philox COMMAND [OPTION]... [ARGUMENT]...\n\n"
			  "Try, test and measure the library philox.\n\n";
	size_t length = strlen(text);

	for (size_t i = 0; i < N_COMMANDS; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "  %-9s  %s\n", commands[i].name,
					   commands[i].help);
	snprintf(text + length, sizeof(text) - length,
		 "\nphilox help COMMAND shows the options of a command, "
		 "philox --version the version.\n");
	screen_help(out, text);
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	fprintf(stderr,
		"philox: unknown command '%s' (philox --help lists them)\n",
		name);
	return NULL;
}

static int unexpected(const char *argument)
{
	fprintf(stderr, "philox: unexpected argument '%s'\n", argument);
	return 2;
}

static int help(int argc, char **argv)
{
	char option[] = "--help";
	char *arguments[] = {NULL, option, NULL};
	const struct command *command;

	if (argc < 2) {
		print_usage(stdout);
		return 0;
	}
	if (argc > 2)
		return unexpected(argv[2]);
	command = find_command(argv[1]);
	if (!command)
		return 2;
	arguments[0] = argv[1];
	return command->run(2, arguments);
}

/* run() carries out the command line from its first argument on. */
static int run(int argc, char **argv)
{
	const struct command *command;

	if (!strcmp(argv[0], "--version")) {
		if (argc > 1)
			return unexpected(argv[1]);
		printf("philox %s\n", philox_version());
		return 0;
	}
	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") ||
	    !strcmp(argv[0], "-h"))
		return help(argc, argv);
	if (argv[0][0] == '-') {
		fprintf(stderr, "philox: unknown option '%s'\n", argv[0]);
		return 2;
	}
	command = find_command(argv[0]);
	return command ? command->run(argc, argv) : 2;
}

int main(int argc, char **argv)
{
	int status;

	screen_begin();
	if (argc < 2) {
		print_usage(stderr);
		return 2;
	}
	status = run(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout)) {
		perror("philox: standard output");
		return status ? status : 1;
	}
	return status;
}
