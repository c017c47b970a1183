/*
 * bindings/python/operators/tensors.cpp - see tensors.h
 */
#include "bindings/python/operators/tensors.h"

#include <dlfcn.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* Not in the oldest version of PyTorch. */
extern "C" __attribute__((weak)) AOTITorchError torch_get_num_threads(
	uint32_t *threads);

namespace philox
{

namespace
{

/* Devices that are open, each for as long as the process runs. */
struct devices {
	std::mutex lock;
	std::vector<struct philox_device *> cuda;
	struct philox_device *host = nullptr;
};

devices &opened()
{
	/* Never destroyed: a GPU may be gone before the process is */
	static devices *all = new devices;

	return *all;
}

struct philox_device *open_host()
{
	devices &all = opened();
	std::lock_guard<std::mutex> guard(all.lock);

	if (!all.host)
		check(philox_device_open("host:sync", &all.host));
	return all.host;
}

struct philox_device *open_cuda(int32_t index)
{
	devices &all = opened();
	std::lock_guard<std::mutex> guard(all.lock);
	size_t i = static_cast<size_t>(index);

	if (all.cuda.size() <= i)
		all.cuda.resize(i + 1);
	if (!all.cuda[i])
		check(philox_device_open(
			("cuda:" + std::to_string(index)).c_str(),
			&all.cuda[i]));
	return all.cuda[i];
}

typedef AOTITorchError (*stream_getter)(int32_t device, void **stream);

/* It is in a library that only PyTorch for CUDA has, and has loaded. */
stream_getter find_stream_getter()
{
	void *cuda = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
	void *found = cuda ? dlsym(cuda, "aoti_torch_get_current_cuda_stream")
			   : nullptr;

	return reinterpret_cast<stream_getter>(found);
}

} // namespace

void check(enum philox_status status)
{
	if (status != PHILOX_OK)
		throw std::runtime_error(philox_error_message());
}

void require(bool holds, const char *op, const char *sentence)
{
	if (!holds)
		throw std::runtime_error(std::string("philox::") + op + ": " +
					 sentence);
}

/* As many as torch.set_num_threads() says, where that can be asked. */
uint32_t threads()
{
	uint32_t n = 0;

	if (torch_get_num_threads && !torch_get_num_threads(&n) && n)
		return n;
	n = std::thread::hardware_concurrency();
	return n ? n : 1;
}

enum philox_dtype dtype_of(const Tensor &tensor, const char *op)
{
	switch (tensor.scalar_type()) {
	case ScalarType::Float:
		return PHILOX_DTYPE_F32;
	case ScalarType::Double:
		return PHILOX_DTYPE_F64;
	case ScalarType::BFloat16:
		return PHILOX_DTYPE_BF16;
	case ScalarType::Half:
		return PHILOX_DTYPE_F16;
	case ScalarType::Int:
		return PHILOX_DTYPE_I32;
	case ScalarType::Long:
		return PHILOX_DTYPE_I64;
	default:
		require(false, op,
			"the dtype is none of float32, float64, bfloat16, "
			"float16, int32 and int64");
	}
	return PHILOX_DTYPE_F32;
}

Tensor new_like(const Tensor &like, ScalarType type)
{
	return torch::stable::new_empty(like, like.sizes(), type);
}

Tensor new_like(const Tensor &like)
{
	return new_like(like, like.scalar_type());
}

Tensor in_order(const Tensor &tensor)
{
	if (tensor.is_contiguous())
		return tensor;
	Tensor copy = new_like(tensor);

	torch::stable::copy_(copy, tensor);
	return copy;
}

struct philox_span span_of(const Tensor &tensor, const struct place &place,
			   const char *op)
{
	uint64_t n = static_cast<uint64_t>(tensor.numel());
	uint64_t first = static_cast<uint64_t>(place.first);
	uint64_t cols = static_cast<uint64_t>(place.cols);

	require(place.first >= 0 && place.cols >= 0 && place.stride >= 0, op,
		"first, cols and stride are not negative");
	if (!cols)
		return philox_span_elements(first, n);
	require(n % cols == 0, op,
		"the number of elements is no multiple of cols");
	return philox_span_rows(first, n / cols, cols,
				static_cast<uint64_t>(place.stride));
}

source::source(const Tensor &states, int64_t row, const Tensor &drawn,
	       const char *op)
    : rng(), on_host(drawn.is_cpu()), kept(in_order(states)),
      index(drawn.get_device_index())
{
	require(states.scalar_type() == ScalarType::Long, op,
		"the state is not of dtype int64");
	require(states.dim() > 0 && states.size(states.dim() - 1) == 2, op,
		"the state's last dimension is not 2");
	require(row >= 0 && row < states.numel() / 2, op,
		"there is no such row of the state");
	require(states.is_cpu() == on_host &&
			(on_host || states.get_device_index() == index),
		op, "the state is on another device than the tensor");
	require(on_host || drawn.is_cuda(), op,
		"the tensor is neither on a CPU nor on a CUDA device");
	this->row =
		static_cast<const struct philox_state *>(kept.data_ptr()) + row;
	if (!on_host) {
		rng.cell = this->row;
		return;
	}
	rng.state = *this->row;
	require(philox_is_poison(rng.state) || rng.state.offset % 4 == 0, op,
		"the state's offset is not a multiple of 4");
}

int32_t source::device_index() const
{
	return index;
}

struct philox_device *source::device() const
{
	return on_host ? open_host() : open_cuda(index);
}

philox_stream source::stream() const
{
	static const stream_getter current = find_stream_getter();
	void *stream = nullptr;

	if (on_host)
		return nullptr;
	if (!current || current(index, &stream))
		throw std::runtime_error(
			"philox: this PyTorch has no current CUDA stream");
	return static_cast<philox_stream>(stream);
}

const struct philox_state *source::address() const
{
	return row;
}

void draw(const source &source, const struct philox_fill_desc &fill)
{
	if (source.on_host)
		check(philox_state_fill(source.rng.state, &fill, threads()));
	else
		check(philox_rng_fill(source.device(), source.stream(),
				      source.rng, &fill));
}

} // namespace philox
