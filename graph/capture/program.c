/*
 * graph/capture/program.c - what a capture records, step by step
 *
 * See struct program_step in graph/capture/capture.h. Guarded by the context's
 * lock.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/capture/capture.h"
#include "lib/containers/array.h"

static int reserve_step(struct program *program)
{
	const uint32_t more = program->room ? program->room : 8;

	if (program->n < program->room)
		return 1;
	if (program->n >= PROGRAM_MOST ||
	    !array_grow(&program->steps, program->room, more,
			sizeof(*program->steps)))
		return 0;
	program->room += more;
	return 1;
}

void program_add(struct program *program, const struct program_step *step)
{
	if (program->lost || !reserve_step(program))
		program->lost++;
	else
		program->steps[program->n++] = *step;
}

void program_free(struct program *program)
{
	free(program->steps);
	*program = (struct program){.steps = NULL};
}

void program_note(struct capture *capture, enum program_kind kind,
		  uint32_t number, uint32_t flags)
{
	program_add(&capture->program,
		    &(struct program_step){.kind = (uint8_t)kind,
					   .pass = number,
					   .flags = flags});
}

/* --- draws ---------------------------------------------------------------- */

static uint64_t bits_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t bits_uint64_t(uint64_t value)
{
	return value;
}

/* An address is no parameter that two runs have in common. */
#define TAKE_double(member)   with[n++] = bits_double(fill->member);
#define TAKE_uint64_t(member) with[n++] = bits_uint64_t(fill->member);
#define TAKE(type, member)    TAKE_##type(member)

static void take_parameters(const struct philox_fill_desc *fill,
			    uint64_t with[4])
{
	int n = 0;

	memset(with, 0, 4 * sizeof(*with));
	switch ((enum philox_dist)fill->dist) {
	case PHILOX_DIST_UNIFORM:
		FILL_range(TAKE);
		break;
	case PHILOX_DIST_NORMAL:
	case PHILOX_DIST_LOG_NORMAL:
		FILL_mean_std(TAKE);
		break;
	case PHILOX_DIST_EXPONENTIAL:
		FILL_rate(TAKE);
		break;
	case PHILOX_DIST_BERNOULLI:
	case PHILOX_DIST_DROPOUT:
		FILL_p(TAKE);
		break;
	case PHILOX_DIST_INTEGERS:
		FILL_integers(TAKE);
		break;
	case PHILOX_DIST_PERMUTATION:
	case PHILOX_DIST_CATEGORICAL: /* an address is none */
		FILL_n(TAKE);
		break;
	case PHILOX_DIST_TRUNCATED_NORMAL:
		FILL_truncated(TAKE);
		break;
	case PHILOX_DIST_BITS:
	case PHILOX_DIST_GUMBEL:
	case PHILOX_DIST_STOCHASTIC_ROUND:
	case PHILOX_DIST_SIGNS:
		break;
	}
	(void)n;
}

void program_describe(const struct philox_fill_desc *fill,
		      struct program_step *step)
{
	step->kind = PROGRAM_DRAW;
	step->dist = (uint8_t)fill->dist;
	step->dtype = (uint8_t)fill->dtype;
	step->layout = fill->layout ? (uint8_t)fill->layout->kind : 0;
	step->span = fill->span;
	take_parameters(fill, step->with);
}
