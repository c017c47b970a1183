/*
 * tools/selftest.c - philox selftest: do this machine's devices keep promises?
 *
 * Runs every table of checks on every device there is and prints a line for
 * each check. A kind of device that the machine does not have is said to be
 * skipped, with the reason, and counted so.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "contract.h"
#include "tools.h"

struct tally {
	size_t passed, failed, skipped;
};

static void usage(FILE *stream)
{
	fputs("usage: philox selftest [--device NAME]\n"
	      "\n"
	      "Checks that the devices of this machine keep the promises the\n"
	      "library makes, with the host as reference.\n"
	      "\n"
	      "  --device NAME  host, host:sync, cuda or cuda:N\n"
	      "                 (default: every device there is)\n"
	      "  --help         this text\n",
	      stream);
}

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

/* Runs all tables on one device. */
static enum philox_status test_device(const char *name, struct tally *tally)
{
	struct philox_device *device;
	enum philox_status status = philox_device_open(name, &device);

	if (status)
		return status;
	for (size_t i = 0; contract_tables[i]; i++)
		contract_run(device, contract_tables[i], report, tally);
	philox_device_close(device);
	return PHILOX_OK;
}

static void test_or_fail(const char *name, struct tally *tally)
{
	if (test_device(name, tally))
		report(tally, name, "opens", CONTRACT_FAILED,
		       philox_error_message());
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
		perror("philox selftest: stdout");
		return 1;
	}
	return tally->failed ? 1 : 0;
}

int tool_selftest(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	struct tally tally = {0, 0, 0};
	const char *name = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			name = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "philox selftest: unexpected argument: %s\n",
			argv[optind]);
		return 2;
	}
	if (!name) {
		test_or_fail("host", &tally);
		test_or_fail("host:sync", &tally);
		test_all_cuda(&tally);
	} else if (test_device(name, &tally)) {
		fprintf(stderr, "philox selftest: %s\n",
			philox_error_message());
		return 2;
	}
	return finish(&tally);
}
