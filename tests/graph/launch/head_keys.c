/*
 * tests/graph/launch/head_keys.c - the head of the host fills each of many
 * cells, with every instruction set
 *
 * Keys are those of tests/support/models/rows.h.
 */
#include <stdlib.h>
#include "lib/base/base.h"
#include "lib/kernels/host/host.h"
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum { SLOTS = 5, MOST = 200 };

/* A head with its message; cells lie in the reverse order of their entries. */
struct message {
	struct head_control control;
	struct head_report report;
	struct head_cell map[MOST + 4]; /* and numbers behind the last one */
	struct philox_state cells[MOST];
	struct head_args *args;
};

static void make_message(struct message *message, uint64_t cells)
{
	memset(message, 0, sizeof(*message));
	message->args = calloc(1, head_args_size(SLOTS));
	message->args->control = &message->control;
	message->control = (struct head_control){.report = &message->report,
						 .map = message->map,
						 .cells = cells};
	for (uint32_t i = 0; i < SLOTS; i++)
		message->args->states[i] = (struct philox_state){
			0xfedcba9876543210u * (i + 1), 4 * (uint64_t)i << 32};
	for (uint32_t i = 0; i < cells; i++)
		message->map[i] = (struct head_cell){
			.cell = &message->cells[MOST - 1 - i],
			.shift = 4 * (uint64_t)(i % 3),
			.slot = i % SLOTS,
			.plain = i % 7 == 3,
			.op = 0x80000000u + i / 3,
			.call = i * i};
}

/* Cell i as lib/device/kernels.h describes it. */
static struct philox_state model_cell(const struct message *message, uint32_t i)
{
	const struct head_cell *entry = &message->map[i];
	struct philox_state state = message->args->states[entry->slot];
	uint32_t word[4];

	state.offset += entry->shift;
	if (entry->plain)
		return state;
	model_block(state.seed, (uint64_t)entry->call << 32 | entry->op,
		    PHILOX_FOLD_OP, word);
	state.seed = (uint64_t)word[1] << 32 | word[0];
	return state;
}

static void check_cells(const struct message *message, enum simd simd)
{
	for (uint32_t i = 0; i < MOST; i++) {
		const struct philox_state is = message->cells[MOST - 1 - i];
		struct philox_state right = {0, 0};

		if (i < message->control.cells)
			right = model_cell(message, i);
		cr_assert(is.seed == right.seed && is.offset == right.offset,
			  "%s, cell %u of %d", simd_name(simd), i,
			  (int)message->control.cells);
	}
}

static void run_heads(uint64_t cells, enum simd simd)
{
	struct message message;

	simd_use(simd);
	make_message(&message, cells);
	message.args->sequence = 1;
	kernels_host[KERNEL_HEAD](message.args);
	check_cells(&message, simd);
	cr_assert_eq(message.control.sequence, 1);
	cr_assert_eq(message.report.count, 0);
	kernels_host[KERNEL_HEAD](message.args);
	for (uint64_t i = 0; i < cells; i++)
		cr_assert(message.map[i].cell->seed == UINT64_MAX &&
				  message.map[i].cell->offset ==
					  PHILOX_POISON_OFFSET,
			  "%s, cell %d of a launch that repeats",
			  simd_name(simd), (int)i);
	cr_assert_eq(message.report.count, 1);
	free(message.args);
}

Test(head_keys, every_cell_has_its_own)
{
	for (enum simd simd = SIMD_SCALAR; simd < SIMD_COUNT; simd++)
		for (uint64_t cells = 0; simd_has(simd) && cells <= MOST;
		     cells++)
			run_heads(cells, simd);
}
