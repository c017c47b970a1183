/*
 * bindings/python/operators/operators.h - the operators of the library "philox"
 *
 * Their schemas are in library.cpp, and what they compute is in the docstrings
 * of philox/torch. All are pure: they draw from the states they are given, and
 * reserve nothing.
 */
#ifndef BINDINGS_PYTHON_OPERATORS_OPERATORS_H
#define BINDINGS_PYTHON_OPERATORS_OPERATORS_H

#include "bindings/python/operators/tensors.h"

namespace philox
{

/* Where a tensor is in the operator's output: see struct place. */
#define WHERE int64_t op, int64_t first, int64_t cols, int64_t stride

Tensor uniform(Tensor like, Tensor states, double low, double high, WHERE);
Tensor normal(Tensor like, Tensor states, double mean, double std, WHERE);
Tensor log_normal(Tensor like, Tensor states, double mean, double std, WHERE);
Tensor exponential(Tensor like, Tensor states, double rate, WHERE);
Tensor bernoulli(Tensor like, Tensor states, double p, WHERE);
Tensor gumbel(Tensor like, Tensor states, WHERE);
Tensor integers(Tensor like, Tensor states, int64_t low, int64_t high, WHERE);
Tensor dropout(Tensor x, Tensor states, double p, WHERE);
Tensor stochastic_round(Tensor x, Tensor states, ScalarType dtype, WHERE);

void uniform_(Tensor out, Tensor states, double low, double high, WHERE);
void normal_(Tensor out, Tensor states, double mean, double std, WHERE);
void log_normal_(Tensor out, Tensor states, double mean, double std, WHERE);
void exponential_(Tensor out, Tensor states, double rate, WHERE);
void bernoulli_(Tensor out, Tensor states, double p, WHERE);
void integers_(Tensor out, Tensor states, int64_t low, int64_t high, WHERE);
void dropout_(Tensor x, Tensor states, double p, WHERE);

/*
 * Element i is x[i] scale + shift where the mask's element i / inner is kept,
 * else `dropped`: dropout of whole channels, of its derivatives, and alpha
 * dropout. The mask is that of dropout.
 */
Tensor masked(Tensor x, Tensor states, double p, double scale, double shift,
	      double dropped, int64_t inner, WHERE);

/* Element i is 1 with probability p[i], else 0. */
Tensor bernoulli_of(Tensor p, Tensor states, WHERE);

/* One token for each row of logits, from rows op, op + 1 ... of the states. */
Tensor sample(Tensor logits, Tensor states, double temperature, int64_t top_k,
	      double top_p, double min_p, int64_t op);

#undef WHERE

} // namespace philox
#endif
