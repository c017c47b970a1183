/*
 * bindings/python/operators/library.cpp - the library "philox": schemas, and
 * which function carries each out
 *
 * Of `states`, an int64 tensor of pairs {seed, offset}, an operator draws from
 * row `op`. `first`, `cols` and `stride` are those of struct place.
 */
#include <torch/csrc/stable/library.h>
#include "bindings/python/operators/operators.h"

#define WHERE ", int op=0, SymInt first=0, SymInt cols=0, SymInt stride=0)"

STABLE_TORCH_LIBRARY(philox, m)
{
	m.def("uniform(Tensor like, Tensor states, float low, float high" WHERE
	      " -> Tensor");
	m.def("normal(Tensor like, Tensor states, float mean, float std" WHERE
	      " -> Tensor");
	m.def("log_normal(Tensor like, Tensor states, float mean, float std" WHERE
	      " -> Tensor");
	m.def("exponential(Tensor like, Tensor states, float rate" WHERE
	      " -> Tensor");
	m.def("bernoulli(Tensor like, Tensor states, float p" WHERE
	      " -> Tensor");
	m.def("gumbel(Tensor like, Tensor states" WHERE " -> Tensor");
	m.def("integers(Tensor like, Tensor states, int low, int high" WHERE
	      " -> Tensor");
	m.def("dropout(Tensor x, Tensor states, float p" WHERE " -> Tensor");
	m.def("stochastic_round(Tensor x, Tensor states, ScalarType dtype" WHERE
	      " -> Tensor");
	m.def("masked(Tensor x, Tensor states, float p, float scale, float "
	      "shift, float dropped, SymInt inner" WHERE " -> Tensor");
	m.def("bernoulli_of(Tensor p, Tensor states" WHERE " -> Tensor");
	m.def("sample(Tensor logits, Tensor states, float temperature, int "
	      "top_k=0, float top_p=1.0, float min_p=0.0, int op=0) -> Tensor");

	m.def("uniform_(Tensor(a!) out, Tensor states, float low, float high" WHERE
	      " -> ()");
	m.def("normal_(Tensor(a!) out, Tensor states, float mean, float std" WHERE
	      " -> ()");
	m.def("log_normal_(Tensor(a!) out, Tensor states, float mean, float std" WHERE
	      " -> ()");
	m.def("exponential_(Tensor(a!) out, Tensor states, float rate" WHERE
	      " -> ()");
	m.def("bernoulli_(Tensor(a!) out, Tensor states, float p" WHERE
	      " -> ()");
	m.def("integers_(Tensor(a!) out, Tensor states, int low, int high" WHERE
	      " -> ()");
	m.def("dropout_(Tensor(a!) x, Tensor states, float p" WHERE " -> ()");
}

static void carry_out(torch::stable::detail::StableLibrary &m)
{
	m.impl("uniform", TORCH_BOX(&philox::uniform));
	m.impl("normal", TORCH_BOX(&philox::normal));
	m.impl("log_normal", TORCH_BOX(&philox::log_normal));
	m.impl("exponential", TORCH_BOX(&philox::exponential));
	m.impl("bernoulli", TORCH_BOX(&philox::bernoulli));
	m.impl("gumbel", TORCH_BOX(&philox::gumbel));
	m.impl("integers", TORCH_BOX(&philox::integers));
	m.impl("dropout", TORCH_BOX(&philox::dropout));
	m.impl("stochastic_round", TORCH_BOX(&philox::stochastic_round));
	m.impl("masked", TORCH_BOX(&philox::masked));
	m.impl("bernoulli_of", TORCH_BOX(&philox::bernoulli_of));
	m.impl("sample", TORCH_BOX(&philox::sample));
	m.impl("uniform_", TORCH_BOX(&philox::uniform_));
	m.impl("normal_", TORCH_BOX(&philox::normal_));
	m.impl("log_normal_", TORCH_BOX(&philox::log_normal_));
	m.impl("exponential_", TORCH_BOX(&philox::exponential_));
	m.impl("bernoulli_", TORCH_BOX(&philox::bernoulli_));
	m.impl("integers_", TORCH_BOX(&philox::integers_));
	m.impl("dropout_", TORCH_BOX(&philox::dropout_));
}

STABLE_TORCH_LIBRARY_IMPL(philox, CPU, m)
{
	carry_out(m);
}

STABLE_TORCH_LIBRARY_IMPL(philox, CUDA, m)
{
	carry_out(m);
}
