/*
 * tools/cli/options.c - the options of a command, as a table
 *
 * getopt() finds them; its own messages are off and replaced here, as they know
 * neither the command nor the form. Its state is global, so only one command
 * line is read at a time.
 */
#include "tools/cli/cli.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* --- the results of getopt ------------------------------------------------ */

/* The length of the name in "--name" or "--name=value"; 0: it is neither. */
static size_t name_length(const char *argument)
{
	return strncmp(argument, "--", 2) ? 0 : strcspn(argument + 2, "=");
}

/*
 * The option that an argument names, in full or cut short without doubt; or
 * NULL.
 */
static const struct option *find_option(const struct option *known,
					const char *argument)
{
	size_t length = name_length(argument);
	const struct option *found = NULL;

	for (; length && known->name; known++) {
		if (strncmp(known->name, argument + 2, length))
			continue;
		if (!known->name[length])
			return known;
		if (found)
			return NULL;
		found = known;
	}
	return found;
}

/* Whether a name was cut too short; if so, lists the possible names. */
static int complain_ambiguous(const char *command, const char *argument,
			      const struct option *known)
{
	size_t length = name_length(argument), n = 0, end = 0;
	char list[256] = "";

	for (; length && known->name; known++) {
		if (strncmp(known->name, argument + 2, length))
			continue;
		if (end < sizeof(list))
			end += (size_t)snprintf(list + end, sizeof(list) - end,
						"%s--%s", n ? ", " : "",
						known->name);
		n++;
	}
	if (n > 1)
		complain(command, "option '%.*s' could be one of %s",
			 (int)length + 2, argument, list);
	return n > 1;
}

static void complain_unknown(const char *command, const char *argument)
{
	int length = (int)name_length(argument);

	if (optopt > ' ' && optopt < 127) /* of letters after one dash */
		complain(command, "unknown option '-%c'", optopt);
	else
		complain(command, "unknown option '%.*s'",
			 length ? length + 2 : (int)strlen(argument), argument);
}

static void complain_option(const char *command, const char *argument,
			    const struct option *known)
{
	const struct option *option = find_option(known, argument);
	const char *value = strchr(argument, '=');

	if (option && option->has_arg == no_argument && value)
		complain_value(command, option->name, value + 1,
			       "takes no value");
	else if (option || !complain_ambiguous(command, argument, known))
		complain_unknown(command, argument);
}

/* The value of the next option, -1 after the last, '?' after complaining. */
static int next_option(int argc, char **argv, const struct option *known)
{
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, ":", known, NULL);
	if (option == ':') {
		const char *argument = argv[optind - 1];
		const struct option *named = find_option(known, argument);

		complain(argv[0], "--%s: needs a value",
			 named ? named->name : argument + 2);
		return '?';
	}
	if (option == '?')
		complain_option(argv[0], argv[optind - 1], known);
	return option;
}

/* Complains about an argument beyond those that the command takes. */
static int arguments_end(int argc, char **argv, int taken)
{
	if (optind + taken >= argc)
		return 0;
	return complain(argv[0], "unexpected argument '%s'",
			argv[optind + taken]);
}

/* --- the table ------------------------------------------------------------ */

/* Writes the table in getopt's form; an option's value is its place + 1. */
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
			screen_help(stdout, usage);
			return 0;
		}
		if (option == '?' ||
		    take_option(argv[0], &options[option - 1], optarg))
			return 2;
	}
	return arguments_end(argc, argv, arguments) ? 2 : -1;
}
