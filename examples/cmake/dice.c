/*
 * examples/cmake/dice.c - throws of a die, straight from a state: numbers
 * without a device, a forward or a backward
 */
#include <inttypes.h>
#include <philox.h>
#include <stdio.h>

int main(void)
{
	const struct philox_state state = {.seed = 6};
	const struct philox_interval die = philox_interval_u32(1, 6);

	printf("philox %s:", philox_version());
	for (uint64_t i = 0; i < 10; i++)
		printf(" %" PRIu32, philox_integer_at(state, i, die));
	printf("\n");
	return 0;
}
