/*
 * examples/fused_dropout_host.c - the same on the host device, where a loop
 * takes the kernel's place; see examples/fused_dropout.h
 */
#include "fused_dropout.h"

static void fused_dropout_loop(const void *args)
{
	const struct fused_dropout *f = args;
	struct philox_state state = philox_resolve(f->rng);

	for (uint64_t block = 0; 4 * block < f->count; block++)
		fused_dropout_block(f, state, block);
}

enum philox_status fused_dropout_host(struct philox_device *device,
				      philox_stream stream,
				      const struct fused_dropout *args)
{
	return philox_launch_host(device, stream, fused_dropout_loop, args,
				  sizeof(*args));
}
