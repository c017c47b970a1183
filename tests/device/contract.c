/*
 * tests/device/contract.c - every device keeps the contract
 *
 * The tables of tools/contract on each device of this machine: the same
 * checks that `philox selftest` runs. One test for each kind of device, as
 * every test is a process and a GPU is slow to open.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include "tools/contract/contract.h"

static void report(void *user, const char *device, const char *check,
		   enum contract_outcome outcome, const char *text)
{
	size_t *passed = user;

	*passed += outcome == CONTRACT_PASSED;
	if (outcome == CONTRACT_FAILED)
		cr_log_error("%s: %s: %s\n", device, check, text);
}

static void keeps_the_contract(const char *name)
{
	const struct contract_choice any = {.only = NULL};
	struct philox_device *device;
	size_t passed = 0, failed = 0;

	cr_assert_eq(philox_device_open(name, &device), PHILOX_OK, "%s",
		     philox_error_message());
	for (size_t i = 0; contract_tables[i]; i++)
		failed += contract_run(device, contract_tables[i], &any, report,
				       &passed);
	philox_device_close(device);
	cr_expect_eq(failed, 0, "%s: %zu checks failed", name, failed);
	cr_expect_gt(passed, 0, "%s: nothing was checked", name);
}

Test(contract, host_keeps_it, .timeout = 300)
{
	keeps_the_contract("host");
}

Test(contract, host_strict_keeps_it, .timeout = 300)
{
	keeps_the_contract("host:strict");
}

Test(contract, host_sync_keeps_it, .timeout = 300)
{
	keeps_the_contract("host:sync");
}

Test(contract, cuda_keeps_it, .timeout = 600)
{
	unsigned count;
	char name[32];

	if (philox_device_count("cuda", &count))
		cr_skip_test("no cuda device: %s", philox_error_message());
	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "cuda:%u", i);
		keeps_the_contract(name);
	}
}
