/*
 * bindings/python/operators/sample.cpp - one token for each row of logits
 */
#include "bindings/python/operators/filters.h"
#include "bindings/python/operators/operators.h"

namespace philox
{

namespace
{

struct philox_sample_desc describe(const Tensor &logits, const Tensor &tokens)
{
	struct philox_sample_desc sample =
		PHILOX_INIT(struct philox_sample_desc);

	sample.logits = logits.data_ptr();
	sample.dtype = dtype_of(logits, "sample");
	sample.vocab = static_cast<uint32_t>(logits.size(1));
	sample.pitch = sample.vocab;
	sample.tokens = static_cast<int32_t *>(tokens.data_ptr());
	return sample;
}

} // namespace

Tensor sample(Tensor logits, Tensor states, double temperature, int64_t top_k,
	      double top_p, double min_p, int64_t op)
{
	require(logits.dim() == 2, "sample", "logits have not 2 dimensions");
	require(logits.size(1) > 0 && logits.size(1) < INT32_MAX, "sample",
		"the vocabulary has no size from 1 to 2^31 - 2");
	require(op >= 0 && states.numel() / 2 - op >= logits.size(0), "sample",
		"there are fewer states than rows of logits");
	require(top_k >= 0 && top_k <= INT32_MAX, "sample",
		"top_k is out of range");
	int64_t rows = logits.size(0);
	Tensor in = in_order(logits);
	Tensor tokens = torch::stable::new_empty(
		in, torch::headeronly::IntHeaderOnlyArrayRef(&rows, 1),
		ScalarType::Int);

	if (!rows)
		return tokens;
	source source(states, op, in, "sample");
	struct philox_sample_desc sample = describe(in, tokens);

	sample.temperature = temperature;
	set_filters(&sample, top_k, top_p, min_p);
	check(philox_sample_states(source.device(), source.stream(),
				   source.address(),
				   static_cast<uint32_t>(rows), &sample));
	return tokens;
}

} // namespace philox
