/*
 * tests/fuzz/pool.c - any bytes as operations on a pool
 *
 * `make fuzz` builds it with clang's libFuzzer and sanitizers and runs it for a
 * while. Bytes choose settings and operations, right and wrong ones; a pool
 * must do what the model of tests/support/models/pool.h does.
 * tests/alloc/model.c runs a few inputs.
 */
#include "tests/fuzz/pool.h"
#include "tests/support/models/pool_game.h"

struct input {
	const uint8_t *data;
	size_t left;
};

static uint32_t next_byte(struct input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->data++;
}

/* As many bytes as n needs; zeros when they are used up. */
static uint32_t choose_by_bytes(void *user, uint32_t n)
{
	uint32_t number = 0;

	for (uint32_t most = n - 1; most; most >>= 8)
		number = number << 8 | next_byte(user);
	return number % n;
}

#define STEPS_MAX 2000

void fuzz_pool(const uint8_t *data, size_t size)
{
	static struct pool_game game;
	struct input input = {data, size};

	game_open(&game, choose_by_bytes, &input);
	while (input.left && game.steps < STEPS_MAX)
		game_step(&game);
	game_close(&game);
}

#ifdef PHILOX_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_pool(data, size);
	return 0;
}
#endif
