/*
 * bindings/python/operators/draw.cpp - operators that are one fill
 *
 * Each returns a new tensor of the size, dtype and device of its first
 * argument, or, where its name ends with _, writes that. `op` is the row of the
 * states, and `place` says which elements the tensor has.
 */
#include "bindings/python/operators/operators.h"

namespace philox
{

namespace
{

struct philox_fill_desc fill_of(enum philox_dist dist, const Tensor &out,
				const struct place &place, const char *op)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);

	fill.dist = dist;
	fill.dtype = dtype_of(out, op);
	fill.span = span_of(out, place, op);
	fill.out = out.data_ptr();
	return fill;
}

/* Draws into `out`, which is in order, unless it is empty. */
void draw_into(const Tensor &out, const Tensor &states, int64_t op,
	       struct philox_fill_desc fill, const char *name)
{
	source source(states, op, out, name);

	if (out.numel())
		draw(source, fill);
}

/* A dist with two parameters a and b. */
struct parameters {
	enum philox_dist dist;
	double a, b;
};

void set(struct philox_fill_desc *fill, const struct parameters &p)
{
	fill->p = fill->low = fill->mean = fill->rate = p.a;
	fill->high = fill->std = p.b;
}

void write(const Tensor &out, const Tensor &states, const parameters &p,
	   int64_t op, const struct place &place, const char *name)
{
	struct philox_fill_desc fill = fill_of(p.dist, out, place, name);

	require(out.is_contiguous(), name, "the tensor is not contiguous");
	set(&fill, p);
	draw_into(out, states, op, fill, name);
}

Tensor make(const Tensor &like, const Tensor &states, const parameters &p,
	    int64_t op, const struct place &place, const char *name)
{
	Tensor out = new_like(like);

	write(out, states, p, op, place, name);
	return out;
}

void write_integers(const Tensor &out, const Tensor &states, int64_t low,
		    int64_t high, int64_t op, const struct place &place,
		    const char *name)
{
	struct philox_fill_desc fill =
		fill_of(PHILOX_DIST_INTEGERS, out, place, name);

	require(out.is_contiguous(), name, "the tensor is not contiguous");
	require(low < high, name, "low is not below high");
	fill.from = static_cast<uint64_t>(low);
	fill.to = static_cast<uint64_t>(high) - 1;
	draw_into(out, states, op, fill, name);
}

} // namespace

#define PLACE (place{first, cols, stride})
#define TWO(name, NAME)                                                       \
	Tensor name(Tensor like, Tensor states, double a, double b,           \
		    int64_t op, int64_t first, int64_t cols, int64_t stride)  \
	{                                                                     \
		return make(like, states, {PHILOX_DIST_##NAME, a, b}, op,     \
			    PLACE, #name);                                    \
	}                                                                     \
	void name##_(Tensor out, Tensor states, double a, double b,           \
		     int64_t op, int64_t first, int64_t cols, int64_t stride) \
	{                                                                     \
		write(out, states, {PHILOX_DIST_##NAME, a, b}, op, PLACE,     \
		      #name "_");                                             \
	}
#define ONE(name, NAME)                                                   \
	Tensor name(Tensor like, Tensor states, double a, int64_t op,     \
		    int64_t first, int64_t cols, int64_t stride)          \
	{                                                                 \
		return make(like, states, {PHILOX_DIST_##NAME, a, 0}, op, \
			    PLACE, #name);                                \
	}                                                                 \
	void name##_(Tensor out, Tensor states, double a, int64_t op,     \
		     int64_t first, int64_t cols, int64_t stride)         \
	{                                                                 \
		write(out, states, {PHILOX_DIST_##NAME, a, 0}, op, PLACE, \
		      #name "_");                                         \
	}

TWO(uniform, UNIFORM)
TWO(normal, NORMAL)
TWO(log_normal, LOG_NORMAL)
ONE(exponential, EXPONENTIAL)
ONE(bernoulli, BERNOULLI)

Tensor gumbel(Tensor like, Tensor states, int64_t op, int64_t first,
	      int64_t cols, int64_t stride)
{
	return make(like, states, {PHILOX_DIST_GUMBEL, 0, 0}, op, PLACE,
		    "gumbel");
}

Tensor integers(Tensor like, Tensor states, int64_t low, int64_t high,
		int64_t op, int64_t first, int64_t cols, int64_t stride)
{
	Tensor out = new_like(like);

	write_integers(out, states, low, high, op, PLACE, "integers");
	return out;
}

void integers_(Tensor out, Tensor states, int64_t low, int64_t high, int64_t op,
	       int64_t first, int64_t cols, int64_t stride)
{
	write_integers(out, states, low, high, op, PLACE, "integers_");
}

Tensor dropout(Tensor x, Tensor states, double p, int64_t op, int64_t first,
	       int64_t cols, int64_t stride)
{
	Tensor in = in_order(x), out = new_like(x);
	struct philox_fill_desc fill =
		fill_of(PHILOX_DIST_DROPOUT, out, PLACE, "dropout");

	fill.in = in.data_ptr();
	fill.p = p;
	draw_into(out, states, op, fill, "dropout");
	return out;
}

void dropout_(Tensor x, Tensor states, double p, int64_t op, int64_t first,
	      int64_t cols, int64_t stride)
{
	struct philox_fill_desc fill =
		fill_of(PHILOX_DIST_DROPOUT, x, PLACE, "dropout_");

	require(x.is_contiguous(), "dropout_", "the tensor is not contiguous");
	fill.in = x.data_ptr();
	fill.p = p;
	draw_into(x, states, op, fill, "dropout_");
}

Tensor stochastic_round(Tensor x, Tensor states, ScalarType dtype, int64_t op,
			int64_t first, int64_t cols, int64_t stride)
{
	Tensor in = in_order(x), out = new_like(x, dtype);
	struct philox_fill_desc fill = fill_of(PHILOX_DIST_STOCHASTIC_ROUND,
					       out, PLACE, "stochastic_round");

	require(x.scalar_type() == ScalarType::Float, "stochastic_round",
		"the input is not of dtype float32");
	fill.in = in.data_ptr();
	draw_into(out, states, op, fill, "stochastic_round");
	return out;
}

} // namespace philox
