/*
 * tools/contract/selftest.c - philox selftest: do this machine's devices keep
 * their promises?
 *
 * Runs every table of checks on every device and prints a line for each check.
 * A kind of device that the machine does not have is reported and counted as
 * skipped, with the reason.
 */
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/contract/contract.h"
#include "tools/tools.h"

struct tally {
	size_t passed, failed, skipped;
	size_t all; /* that there will be, for progress */
	struct contract_choice choice;
};

static const char usage[] =
	"usage: philox selftest [OPTION]...\n"
	"\n"
	"Check that the devices of this machine keep what the library promises.\n"
	"\n"
	"  --device NAME  " HELP_DEVICE ";\n"
	"                 may be given again (default: every device there is; the\n"
	"                 host is the reference)\n"
	"  --only TEXT    the checks that have this in their names\n"
	"  --all-words    functions of one word of 32 bits for all words, not for\n"
	"                 some: minutes on a host device\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Exit status: 0 no check failed, 1 one did, 2 the command line is wrong.\n";

static void show_progress(const struct tally *tally)
{
	size_t done = tally->passed + tally->failed + tally->skipped;
	double part = tally->all ? (double)done / (double)tally->all : 0;
	char detail[64];

	snprintf(detail, sizeof(detail), "%zu of %zu", done, tally->all);
	progress_show(&(struct progress){.name = "checks",
					 .part = part,
					 .whole = part,
					 .detail = detail});
}

static void print_word(enum terminal_colour colour, const char *word)
{
	printf("%s%s%s", terminal_colour(colour), word,
	       terminal_colour(TERMINAL_PLAIN));
}

static void print_outcome(void *user, const char *device, const char *check,
			  enum contract_outcome outcome, const char *text)
{
	struct tally *tally = user;

	switch (outcome) {
	case CONTRACT_PASSED:
		tally->passed++;
		print_word(TERMINAL_GOOD, "ok");
		printf("   %s  %s%s%s\n", device, check, *text ? ": " : "",
		       text);
		break;
	case CONTRACT_FAILED:
		tally->failed++;
		print_word(TERMINAL_BAD, "FAIL");
		printf(" %s  %s: %s\n", device, check, text);
		break;
	case CONTRACT_SKIPPED:
		tally->skipped++;
		print_word(TERMINAL_DOUBTFUL, "skip");
		printf(" %s  %s: %s\n", device, check, text);
		break;
	}
	fflush(stdout); /* a check that crashes is the one without a line */
	show_progress(tally);
}

/* Runs all tables on one device, and closes it: no check keeps it in use. */
static void test_device(struct philox_device *device, struct tally *tally)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", philox_device_name(device));
	for (size_t i = 0; contract_tables[i]; i++)
		contract_run(device, contract_tables[i], &tally->choice,
			     print_outcome, tally);
	if (philox_device_close(device))
		print_outcome(tally, name, "closes", CONTRACT_FAILED,
			      philox_error_message());
}

static void test_or_fail(const char *name, struct tally *tally)
{
	struct philox_device *device;

	if (philox_device_open(name, &device))
		print_outcome(tally, name, "opens", CONTRACT_FAILED,
			      philox_error_message());
	else
		test_device(device, tally);
}

static void test_all_cuda(struct tally *tally)
{
	unsigned count;
	char name[32];

	if (philox_device_count("cuda", &count)) {
		print_outcome(tally, "cuda", "all checks", CONTRACT_SKIPPED,
			      philox_error_message());
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "cuda:%u", i);
		test_or_fail(name, tally);
	}
}

static int sum_up(const struct tally *tally)
{
	progress_end();
	printf("%zu passed, %zu failed, %zu skipped\n", tally->passed,
	       tally->failed, tally->skipped);
	if (fflush(stdout) || ferror(stdout)) {
		perror("philox selftest: standard output");
		return 1;
	}
	return tally->failed ? 1 : 0;
}

/* On every device of the machine; the host is the reference. */
static int test_all(const struct contract_choice *choice)
{
	struct tally tally = {.choice = *choice};
	unsigned gpus = 0;

	if (philox_device_count("cuda", &gpus))
		gpus = 0;
	tally.all = (3 + gpus) * contract_count(choice);
	show_progress(&tally);
	test_or_fail("host", &tally);
	test_or_fail("host:sync", &tally);
	test_or_fail("host:strict", &tally);
	test_all_cuda(&tally);
	return sum_up(&tally);
}

#define DEVICES_MAX 16

struct devices {
	const char *names[DEVICES_MAX];
	int n;
};

static int take_device(void *to, const char *name)
{
	struct devices *devices = to;

	if (devices->n == DEVICES_MAX)
		return complain("selftest", "more than %d devices",
				DEVICES_MAX);
	devices->names[devices->n++] = name;
	return 0;
}

/* All names are tried before the first device is tested. */
static int test_named(const struct devices *named,
		      const struct contract_choice *choice)
{
	struct philox_device *devices[DEVICES_MAX];
	struct tally tally = {.all = (size_t)named->n * contract_count(choice),
			      .choice = *choice};
	int error;

	for (int i = 0; i < named->n; i++) {
		error = open_device("selftest", named->names[i], &devices[i]);
		if (!error)
			continue;
		while (i--)
			philox_device_close(devices[i]);
		return error;
	}
	for (int i = 0; i < named->n; i++)
		test_device(devices[i], &tally);
	return sum_up(&tally);
}

int tool_selftest(int argc, char **argv)
{
	struct devices devices = {.n = 0};
	struct contract_choice choice = {.only = NULL};
	const struct tool_option options[] = {
		{"device", TAKES_OTHER, .to = &devices, .take = take_device},
		{"only", TAKES_TEXT, .to = &choice.only},
		{"all-words", TAKES_NOTHING, .to = &choice.all_words},
		{0}};
	int status = read_options(argc, argv, options, usage, 0);

	if (status >= 0)
		return status;
	if (!contract_count(&choice))
		return complain_value("selftest", "only", choice.only,
				      "no check has this in its name");
	return devices.n ? test_named(&devices, &choice) : test_all(&choice);
}
