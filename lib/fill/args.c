/*
 * lib/fill/args.c - see lib/fill/args.h
 */
#include "lib/fill/args.h"
#include "lib/fill/check.h"
#include "lib/fill/range.h"

static void set_real(struct fill_args *args, double scale, double shift)
{
	args->f64.scale = scale;
	args->f64.shift = shift;
	args->f32.scale = (float)scale;
	args->f32.shift = (float)shift;
	args->plain = scale == 1 && shift == 0;
}

static void set_uniform(const struct philox_fill *fill, struct fill_args *args)
{
	set_real(args, fill->high - fill->low, fill->low);
	fill_ends(fill, &args->f64.bottom, &args->f64.top);
	args->f32.bottom = (float)args->f64.bottom;
	args->f32.top = (float)args->f64.top;
}

static void set_dropout(const struct philox_fill *fill, struct fill_args *args)
{
	args->threshold = philox_threshold(fill->p);
	args->f32.scale = philox_dropout_scale(fill->p);
	args->f64.scale = philox_dropout_scale_f64(fill->p);
}

static void set_integers(const struct philox_fill *fill, struct fill_args *args)
{
	struct philox_interval interval;

	if (fill_dtype_size(fill->dtype) == 4)
		interval = philox_interval_u32((uint32_t)fill->from,
					       (uint32_t)fill->to);
	else
		interval = philox_interval_u64(fill->from, fill->to);
	args->from = fill->from;
	args->range = interval.n;
	args->reject = interval.reject;
}

static void set_parameters(const struct philox_fill *fill,
			   struct fill_args *args)
{
	switch (fill->dist) {
	case PHILOX_UNIFORM:
		set_uniform(fill, args);
		break;
	case PHILOX_NORMAL:
	case PHILOX_LOG_NORMAL:
		set_real(args, fill->std, fill->mean);
		break;
	case PHILOX_EXPONENTIAL:
		set_real(args, 1 / fill->rate, 0);
		break;
	case PHILOX_BERNOULLI:
	case PHILOX_DROPOUT:
		set_dropout(fill, args);
		break;
	case PHILOX_INTEGERS:
		set_integers(fill, args);
		break;
	case PHILOX_BITS:
	case PHILOX_GUMBEL:
	case PHILOX_STOCHASTIC_ROUND:
		break;
	}
}

/* Rows that follow each other are one. */
static void set_span(const struct philox_span *span, struct fill_args *args)
{
	args->first = span->first;
	args->count = span->count;
	args->rows = span->rows ? span->rows : 1;
	args->row_stride = span->row_stride;
	if (args->row_stride == args->count || !args->count) {
		args->count *= args->rows;
		args->rows = 1;
	}
}

void fill_args(const struct philox_fill *fill, struct philox_rng rng,
	       struct fill_args *args)
{
	*args = (struct fill_args){.rng = rng, .threads = 1, .out = fill->out};
	if (fill_has_input(fill))
		args->in = fill->in;
	set_span(&fill->span, args);
	set_parameters(fill, args);
}
