/*
 * tests/tools/schedules.c - the orders of passes that pipelines use
 */
#include "tests/support/support.h"

/*
 * Orders of pipeline schedules, as their authors print them: F forward, B
 * backward, I its input-gradient half, W its weight-gradient half, R a
 * recompute; chunk.microbatch, or the microbatch alone.
 */
static const struct {
	const char *name, *order;
} schedules[] = {
	{"gradient accumulation", "F0 B0 F1 B1 F2 B2 F3 B3"},
	{"GPipe, first in first out", "F0 F1 F2 F3 B0 B1 B2 B3"},
	{"GPipe, last in first out", "F0 F1 F2 F3 B3 B2 B1 B0"},
	{"looped", "F1.0 F1.1 F2.0 F2.1 B2.1 B2.0 B1.1 B1.0"},
	{"1F1B, rank 0", "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5"},
	{"1F1B, rank 1", "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5"},
	{"1F1B, rank 2", "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5"},
	{"1F1B, rank 3", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"},
	{"interleaved 1F1B, rank 0",
	 "F1.0 F1.1 F2.0 F2.1 F1.2 B2.0 F1.3 B2.1 F2.2 B1.0 F2.3 B1.1 B2.2 "
	 "B2.3 B1.2 B1.3"},
	{"interleaved 1F1B, rank 1",
	 "F1.0 F1.1 F2.0 B2.0 F2.1 B2.1 F1.2 B1.0 F1.3 B1.1 F2.2 B2.2 F2.3 "
	 "B2.3 B1.2 B1.3"},
	{"interleaved, uneven",
	 "F1.0 F1.1 F1.2 F2.0 F2.1 F2.2 B2.0 F1.3 B2.1 F1.4 B2.2 F2.3 B1.0 "
	 "F2.4 B1.1 B1.2 B2.3 B2.4 B1.3 B1.4"},
	{"zero bubble, rank 0",
	 "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5"},
	{"zero bubble, rank 1",
	 "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5"},
	{"zero bubble, rank 2",
	 "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5"},
	{"zero bubble, rank 3",
	 "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5"},
	{"ZBV, rank 0",
	 "F1.0 F1.1 F1.2 F2.0 I2.0 W2.0 F2.1 I2.1 W2.1 F1.3 I1.0 W1.0 F2.2 "
	 "I2.2 W2.2 I1.1 W1.1 F2.3 I2.3 W2.3 I1.2 W1.2 I1.3 W1.3"},
	{"ZBV, rank 1",
	 "F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 F1.2 I1.0 W1.0 F2.2 I2.1 W2.1 F1.3 "
	 "I1.1 W1.1 F2.3 I2.2 W2.2 I1.2 I2.3 I1.3 W1.2 W2.3 W1.3"},
	{"1F1B with recompute", "F0 F1 R0 B0 F2 R1 R1 B1 R2 B2"},
	{"nested recompute", "F1.0 F2.0 R1.0 R2.0 R2.0 B2.0 R1.0 B1.0"},
};

struct chunks {
	struct philox_region *region[2];
	struct philox_graph *forward[2], *backward[2]; /* NULL: eager */
	uint32_t *array[2];
	struct forward made[2][8];
};

static void run_event(struct fixture *f, struct chunks *chunks, char event,
		      unsigned chunk, unsigned micro)
{
	struct forward *made = &chunks->made[chunk][micro];
	unsigned flags = event == 'I' || event == 'R' ? PHILOX_RETAIN : 0;

	if (event == 'F' && chunks->forward[chunk])
		*made = launch_forward(f, chunks->forward[chunk],
				       chunks->region[chunk],
				       chunks->array[chunk]);
	else if (event == 'F')
		*made = forward(f, chunks->region[chunk]);
	else if (chunks->backward[chunk])
		launch_backward(f, chunks->backward[chunk], made, flags,
				chunks->array[chunk]);
	else
		backward(f, made, flags);
}

static void run_schedule(struct fixture *f, struct chunks *chunks,
			 const char *order)
{
	while (*order) {
		unsigned chunk = 1, micro;
		char event = *order++;

		micro = (unsigned)(*order++ - '0');
		if (*order == '.') {
			chunk = micro;
			micro = (unsigned)(order[1] - '0');
			order += 2;
		}
		run_event(f, chunks, event, chunk - 1, micro);
		order += *order == ' ';
	}
	PENDING(chunks->region[0], 0);
	PENDING(chunks->region[1], 0);
}

static void run_all_schedules(struct fixture *f, struct chunks *chunks)
{
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
		cr_log_info("%s", schedules[i].name);
		run_schedule(f, chunks, schedules[i].order);
	}
}

static void make_chunks(struct fixture *f, struct chunks *chunks)
{
	memset(chunks, 0, sizeof(*chunks));
	chunks->region[0] = make_region(f, "chunk 1");
	chunks->region[1] = make_region(f, "chunk 2");
	chunks->array[0] = make_array(f);
	chunks->array[1] = make_array(f);
}

PROMISE(schedules, pair_when_eager)
{
	struct chunks chunks;

	make_chunks(f, &chunks);
	run_all_schedules(f, &chunks);
}

GRAPH_PROMISE(schedules, pair_when_captured)
{
	struct chunks chunks;

	make_chunks(f, &chunks);
	for (unsigned i = 0; i < 2; i++) {
		chunks.forward[i] =
			record_forward(f, chunks.region[i], 0, chunks.array[i]);
		chunks.backward[i] =
			record_backward(f, chunks.region[i], chunks.array[i]);
	}
	run_all_schedules(f, &chunks);
}

GRAPH_PROMISE(schedules, pair_when_one_side_is_captured)
{
	struct chunks chunks;

	make_chunks(f, &chunks);
	chunks.forward[0] =
		record_forward(f, chunks.region[0], 0, chunks.array[0]);
	chunks.backward[1] =
		record_backward(f, chunks.region[1], chunks.array[1]);
	run_all_schedules(f, &chunks);
}
