/*
 * bindings/python/jax/numbers.cpp - what philox/jax.py calls, as targets of
 * XLA's foreign function interface
 *
 * All are for a CPU and pure: they draw from the states they are given, and
 * reserve nothing. A state is an array of 16 bytes, {seed, offset}.
 */
#include <cstdint>
#include <cstring>
#include <vector>
#include "xla/ffi/api/ffi.h"
#include <philox.h>
#include "bindings/python/operators/filters.h"

namespace philox
{

namespace
{

namespace ffi = xla::ffi;

ffi::Error result_of(enum philox_status status)
{
	if (status == PHILOX_OK)
		return ffi::Error::Success();
	return ffi::Error(status == PHILOX_ERROR_INVALID
				  ? ffi::ErrorCode::kInvalidArgument
				  : ffi::ErrorCode::kUnknown,
			  philox_error_message());
}

ffi::Error refuse(const char *sentence)
{
	return ffi::Error::InvalidArgument(sentence);
}

/* Sets the dtype of floating numbers; false: philox has none. */
bool find_dtype(ffi::DataType type, uint32_t *dtype)
{
	switch (type) {
	case ffi::F32:
		*dtype = PHILOX_DTYPE_F32;
		return true;
	case ffi::F64:
		*dtype = PHILOX_DTYPE_F64;
		return true;
	case ffi::BF16:
		*dtype = PHILOX_DTYPE_BF16;
		return true;
	case ffi::F16:
		*dtype = PHILOX_DTYPE_F16;
		return true;
	default:
		return false;
	}
}

/* XLA may put 4-byte words where a state could not be: so they are copied. */
std::vector<struct philox_state> states_of(ffi::AnyBuffer words)
{
	std::vector<struct philox_state> states(words.size_bytes() /
						sizeof(struct philox_state));

	if (!states.empty())
		std::memcpy(states.data(), words.untyped_data(),
			    states.size() * sizeof(struct philox_state));
	return states;
}

ffi::Error fill(const ffi::ThreadPool &pool, ffi::AnyBuffer words,
		ffi::AnyBuffer out, struct philox_fill_desc fill)
{
	std::vector<struct philox_state> states = states_of(words);
	int64_t threads = pool.num_threads();

	if (states.size() != 1)
		return refuse("philox: a draw takes one state");
	if (!find_dtype(out.element_type(), &fill.dtype))
		return refuse("philox: the dtype is none of float32, float64, "
			      "bfloat16 and float16");
	if (!out.element_count())
		return ffi::Error::Success();
	fill.span = philox_span_elements(0, out.element_count());
	fill.out = out.untyped_data();
	return result_of(philox_state_fill(
		states[0], &fill,
		threads > 1 ? static_cast<uint32_t>(threads) : 1));
}

/* Numbers of a dist with two parameters, a and b. */
ffi::Error draw(ffi::ThreadPool pool, ffi::AnyBuffer state,
		ffi::Result<ffi::AnyBuffer> out, int64_t dist, double a,
		double b)
{
	struct philox_fill_desc desc = PHILOX_INIT(struct philox_fill_desc);

	desc.dist = static_cast<uint32_t>(dist);
	desc.low = desc.mean = a;
	desc.high = desc.std = b;
	return fill(pool, state, *out, desc);
}

ffi::Error dropout(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::AnyBuffer state,
		   ffi::Result<ffi::AnyBuffer> out, double p)
{
	struct philox_fill_desc desc = PHILOX_INIT(struct philox_fill_desc);

	if (x.element_type() != out->element_type() ||
	    x.element_count() != out->element_count())
		return refuse("philox: dropout's output is not like its input");
	desc.dist = PHILOX_DIST_DROPOUT;
	desc.in = x.untyped_data();
	desc.p = p;
	return fill(pool, state, *out, desc);
}

/* A device that is open for as long as the process runs. */
enum philox_status open_host(struct philox_device **device)
{
	static struct philox_device *host;
	static enum philox_status status =
		philox_device_open("host:sync", &host);

	*device = host;
	return status;
}

ffi::Error sample(ffi::AnyBuffer logits, ffi::AnyBuffer words,
		  ffi::Result<ffi::Buffer<ffi::S32>> tokens, double temperature,
		  int64_t top_k, double top_p, double min_p)
{
	struct philox_sample_desc desc = PHILOX_INIT(struct philox_sample_desc);
	std::vector<struct philox_state> states = states_of(words);
	struct philox_device *device;
	enum philox_status status = open_host(&device);

	if (status != PHILOX_OK)
		return result_of(status);
	if (logits.dimensions().size() != 2 ||
	    static_cast<uint64_t>(logits.dimensions()[0]) != states.size() ||
	    tokens->element_count() != states.size())
		return refuse("philox: sample has not a row of logits for each "
			      "state");
	if (!find_dtype(logits.element_type(), &desc.dtype))
		return refuse("philox: the dtype of logits is none of float32, "
			      "bfloat16 and float16");
	desc.logits = logits.untyped_data();
	desc.vocab = static_cast<uint32_t>(logits.dimensions()[1]);
	desc.pitch = desc.vocab;
	desc.tokens = tokens->typed_data();
	desc.temperature = temperature;
	philox::set_filters(&desc, top_k, top_p, min_p);
	return result_of(philox_sample_states(
		device, nullptr, states.data(),
		static_cast<uint32_t>(states.size()), &desc));
}

} // namespace

#define TARGET(name)                                                           \
	extern "C" __attribute__((visibility("default"))) XLA_FFI_Error *name( \
		XLA_FFI_CallFrame *)

TARGET(philox_jax_draw);
XLA_FFI_DEFINE_HANDLER_SYMBOL(philox_jax_draw, draw,
			      ffi::Ffi::Bind()
				      .Ctx<ffi::ThreadPool>()
				      .Arg<ffi::AnyBuffer>()
				      .Ret<ffi::AnyBuffer>()
				      .Attr<int64_t>("dist")
				      .Attr<double>("a")
				      .Attr<double>("b"));

TARGET(philox_jax_dropout);
XLA_FFI_DEFINE_HANDLER_SYMBOL(philox_jax_dropout, dropout,
			      ffi::Ffi::Bind()
				      .Ctx<ffi::ThreadPool>()
				      .Arg<ffi::AnyBuffer>()
				      .Arg<ffi::AnyBuffer>()
				      .Ret<ffi::AnyBuffer>()
				      .Attr<double>("p"));

TARGET(philox_jax_sample);
XLA_FFI_DEFINE_HANDLER_SYMBOL(philox_jax_sample, sample,
			      ffi::Ffi::Bind()
				      .Arg<ffi::AnyBuffer>()
				      .Arg<ffi::AnyBuffer>()
				      .Ret<ffi::Buffer<ffi::S32>>()
				      .Attr<double>("temperature")
				      .Attr<int64_t>("top_k")
				      .Attr<double>("top_p")
				      .Attr<double>("min_p"));

} // namespace philox
