/*
 * examples/raii.cpp - C++17 with owning handles
 *
 * A training step that fails half-way gives everything back by itself: the open
 * pass is aborted, and its numbers are not drawn again.
 */
#include <philox.hpp>
#include <cstdio>
#include <vector>

namespace
{

constexpr std::size_t count = 1000;
constexpr philox_span all = {0, count, 0, 0};

philox_status step(philox_region *layer, philox_stream stream, bool fails,
		   const float *x, float *y, philox_ticket *ticket)
{
	philox::pass pass;
	philox_status status =
		philox_forward_begin(layer, stream, 0, pass.put());

	if (status != PHILOX_OK)
		return status;
	/* a probability of 2 is refused; leaving aborts the pass */
	status =
		philox_dropout(pass, 0, PHILOX_F32, all, fails ? 2 : 0.5, x, y);
	if (status != PHILOX_OK)
		return status;
	return philox_forward_commit(pass, ticket);
}

philox_status run()
{
	const char *op = "dropout";
	philox_ticket ticket = {};
	std::vector<float> ones(count, 1);
	philox_status status;
	std::size_t pending = 0;

	philox::device device;
	if ((status = philox_device_open("host", device.put())))
		return status;
	philox::stream stream(device);
	philox::memory x(device), y(device);
	philox::context context;
	philox::region layer;

	if ((status = philox_context_create(device, context.put())) ||
	    (status = philox_region_create_named(context, "layer", &op, 1,
						 layer.put())) ||
	    (status = philox_stream_create(device, 0, stream.put())) ||
	    (status = philox_memory_alloc(device, 4 * count, x.put())) ||
	    (status = philox_memory_alloc(device, 4 * count, y.put())) ||
	    (status = philox_memory_copy(device, x, ones.data(), 4 * count,
					 stream)))
		return status;

	if (step(layer, stream, true, x.as<float>(), y.as<float>(), &ticket) ==
	    PHILOX_OK)
		return PHILOX_ERROR_STATE;
	std::printf("refused: %s\n", philox_error_message());
	if ((status = philox_region_pending(layer, &pending)))
		return status;
	std::printf("%zu tickets are owed after it\n", pending);
	return step(layer, stream, false, x.as<float>(), y.as<float>(),
		    &ticket);
}

} // namespace

int main()
{
	if (run() == PHILOX_OK)
		return 0;
	std::fprintf(stderr, "%s\n", philox_error_message());
	return 1;
}
