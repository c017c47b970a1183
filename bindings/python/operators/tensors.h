/*
 * bindings/python/operators/tensors.h - PyTorch's tensors as philox sees them
 *
 * Only torch's stable ABI is used, as it was in PyTorch 2.9: one binary serves
 * every later version, and knows nothing of Python. Exceptions become Python's
 * RuntimeError, with philox's own sentence.
 */
#ifndef BINDINGS_PYTHON_OPERATORS_TENSORS_H
#define BINDINGS_PYTHON_OPERATORS_TENSORS_H

#include <cstdint>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/stable/ops.h>
#include <philox.h>

namespace philox
{

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/* Throws philox's message if a call has failed. */
void check(enum philox_status status);

/* Throws a sentence about an operator's argument unless it holds. */
void require(bool holds, const char *op, const char *sentence);

/* Returns how many threads may share a call on a CPU, at least 1. */
uint32_t threads();

/* Returns the dtype of a tensor's elements, or throws if philox has none. */
enum philox_dtype dtype_of(const Tensor &tensor, const char *op);

/* Returns the tensor itself, or a copy of it, in the order of its indices. */
Tensor in_order(const Tensor &tensor);

/* Returns a new tensor of the size and on the device of `like`. */
Tensor new_like(const Tensor &like, ScalarType type);
Tensor new_like(const Tensor &like);

/*
 * Which elements of an operator's output a tensor holds: its index in row-major
 * order, from `first` on; or, where cols is not 0, rows of `cols` elements that
 * are `stride` apart.
 */
struct place {
	int64_t first, cols, stride;
};

/* Returns the span of a tensor that is in order. */
struct philox_span span_of(const Tensor &tensor, const struct place &place,
			   const char *op);

/*
 * The state that a call draws from: row `row` of an int64 tensor of pairs {seed,
 * offset}, on the device of what is drawn. Keep it while `rng` is used.
 */
class source
{
      public:
	source(const Tensor &states, int64_t row, const Tensor &drawn,
	       const char *op);

	/* by value on a CPU, by address on a GPU */
	struct philox_rng rng;
	bool on_host;

	int32_t device_index() const;
	struct philox_device *device() const;
	philox_stream stream() const;
	const struct philox_state *address() const;

      private:
	Tensor kept;
	const struct philox_state *row;
	int32_t index;
};

/* Draws what `fill` describes, on the device of the source. */
void draw(const source &source, const struct philox_fill_desc &fill);

} // namespace philox
#endif
