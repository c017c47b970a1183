/*
 * tools/common/options.c - the options of a command, as a table
 */
#include "tools/common/options.h"

#include <assert.h>
#include <stdio.h>
#include "tools/common/complain.h"

/* Writes the table as getopt has it; an option is its place + 1. */
static int list_options(const struct tool_option *options, struct option *list)
{
	int n = 0;

	for (; options[n].name; n++) {
		assert(n < OPTIONS_MAX);
		list[n] = (struct option){options[n].name,
					  options[n].takes ? required_argument
							   : no_argument,
					  NULL, n + 1};
	}
	list[n] = (struct option){"help", no_argument, NULL, n + 1};
	list[n + 1] = (struct option){0};
	return n;
}

static int take_whole_32(const char *command, const struct tool_option *option,
			 const char *value)
{
	uint64_t wide;

	if (take_whole(command, option->name, value, option->least,
		       option->most, &wide))
		return 2;
	*(uint32_t *)option->to = (uint32_t)wide;
	return 0;
}

static int take_option(const char *command, const struct tool_option *option,
		       const char *value)
{
	if (option->given)
		*option->given = value;
	switch (option->takes) {
	case TAKES_NOTHING:
		*(int *)option->to = 1;
		return 0;
	case TAKES_TEXT:
		*(const char **)option->to = value;
		return 0;
	case TAKES_WHOLE:
		return take_whole(command, option->name, value, option->least,
				  option->most, option->to);
	case TAKES_WHOLE_32:
		return take_whole_32(command, option, value);
	case TAKES_REAL:
		return take_real(command, option->name, value, option->to);
	case TAKES_PROBABILITY:
		return take_probability(command, option->name, value,
					option->to);
	case TAKES_NAME:
		return take_name(command, option->name, value, option->names,
				 option->to);
	case TAKES_OTHER:
		break;
	}
	return option->take(option->to, value);
}

int read_options(int argc, char **argv, const struct tool_option *options,
		 const char *usage, int arguments)
{
	struct option list[OPTIONS_MAX + 2];
	int help = list_options(options, list) + 1, option;

	optind = 0;
	while ((option = next_option(argc, argv, list)) != -1) {
		if (option == help) {
			fputs(usage, stdout);
			return 0;
		}
		if (option == '?' ||
		    take_option(argv[0], &options[option - 1], optarg))
			return 2;
	}
	return arguments_end(argc, argv, arguments) ? 2 : -1;
}
