/*
 * tools/contract/selftest.c - philox selftest: do this machine's devices keep promises?
 *
 * Runs every table of checks on every device there is and prints a line for
 * each check. A kind of device that the machine does not have is said to be
 * skipped, with the reason, and counted so.
 */
#include <stdio.h>
#include <string.h>
#include "tools/common/complain.h"
#include "tools/contract/contract.h"
#include "tools/tools.h"

struct tally {
	size_t passed, failed, skipped;
};

static const char usage[] =
	"usage: philox selftest [OPTION]...\n"
	"\n"
	"Check that the devices of this machine keep what the library promises.\n"
	"\n"
	"  --device NAME  " HELP_DEVICE "; may be given again\n"
	"                 (default: every device there is; the host is the\n"
	"                 reference)\n"
	"  --help         " HELP_HELP "\n"
	"\n"
	"Exit status: 0 no check failed, 1 one did, 2 the command line is wrong.\n";

static void report(void *user, const char *device, const char *check,
		   enum contract_outcome outcome, const char *text)
{
	struct tally *tally = user;

	switch (outcome) {
	case CONTRACT_PASSED:
		tally->passed++;
		printf("ok   %s  %s\n", device, check);
		break;
	case CONTRACT_FAILED:
		tally->failed++;
		printf("FAIL %s  %s: %s\n", device, check, text);
		break;
	case CONTRACT_SKIPPED:
		tally->skipped++;
		printf("skip %s  %s: %s\n", device, check, text);
		break;
	}
	fflush(stdout); /* a check that crashes names itself by its absence */
}

/* Runs all tables on one device, and closes it. */
static void test_device(struct philox_device *device, struct tally *tally)
{
	for (size_t i = 0; contract_tables[i]; i++)
		contract_run(device, contract_tables[i], report, tally);
	philox_device_close(device);
}

static void test_or_fail(const char *name, struct tally *tally)
{
	struct philox_device *device;

	if (philox_device_open(name, &device))
		report(tally, name, "opens", CONTRACT_FAILED,
		       philox_error_message());
	else
		test_device(device, tally);
}

static void test_all_cuda(struct tally *tally)
{
	unsigned count;
	char name[32];

	if (philox_device_count("cuda", &count)) {
		report(tally, "cuda", "all checks", CONTRACT_SKIPPED,
		       philox_error_message());
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "cuda:%u", i);
		test_or_fail(name, tally);
	}
}

static int finish(const struct tally *tally)
{
	printf("%zu passed, %zu failed, %zu skipped\n", tally->passed,
	       tally->failed, tally->skipped);
	if (fflush(stdout) || ferror(stdout)) {
		perror("philox selftest: standard output");
		return 1;
	}
	return tally->failed ? 1 : 0;
}

/* On every device there is; the host is the reference. */
static int test_all(void)
{
	struct tally tally = {0, 0, 0};

	test_or_fail("host", &tally);
	test_or_fail("host:sync", &tally);
	test_all_cuda(&tally);
	return finish(&tally);
}

#define DEVICES_MAX 16

/* All names are tried before the first device is tested. */
static int test_named(char *const *names, int n)
{
	struct philox_device *devices[DEVICES_MAX];
	struct tally tally = {0, 0, 0};
	int error;

	for (int i = 0; i < n; i++) {
		error = open_device("selftest", names[i], &devices[i]);
		if (!error)
			continue;
		while (i--)
			philox_device_close(devices[i]);
		return error;
	}
	for (int i = 0; i < n; i++)
		test_device(devices[i], &tally);
	return finish(&tally);
}

int tool_selftest(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	char *names[DEVICES_MAX];
	int option, n = 0;

	optind = 0;
	while ((option = next_option(argc, argv, options)) != -1) {
		if (option == '?')
			return 2;
		if (option == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (n == DEVICES_MAX)
			return complain("selftest", "more than %d devices",
					DEVICES_MAX);
		names[n++] = optarg;
	}
	if (arguments_end(argc, argv, 0))
		return 2;
	return n ? test_named(names, n) : test_all();
}
