/*
 * examples/ranks/kernels_host.c - the kernels on a host device: loops
 */
#include <string.h>
#include "kernels.h"

#define ARGS_MAX 256

/* What a stream keeps of a launch. */
struct call {
	size_t count;
	_Alignas(8) unsigned char args[ARGS_MAX];
};

/* One row of a product: each element's sum still goes along depth. */
static void product_row(const struct product *p, float *restrict out,
			const float *restrict left, const float *restrict right)
{
	const size_t to = p->out.column, from = p->right.column;

	for (size_t j = 0; j < p->columns; j++)
		out[j * to] = 0;
	for (size_t k = 0; k < p->depth; k++) {
		const float l = left[k * p->left.column];
		const float *restrict r = right + k * p->right.row;

		if (to == 1 && from == 1) /* which compilers make vectors of */
			for (size_t j = 0; j < p->columns; j++)
				out[j] += l * r[j];
		else
			for (size_t j = 0; j < p->columns; j++)
				out[j * to] += l * r[j * from];
	}
}

static void run_product(const void *data)
{
	const struct call *call = data;
	const void *args = call->args;
	const struct product *p = args;

	for (size_t a = 0; a < p->batches[0]; a++)
		for (size_t b = 0; b < p->batches[1]; b++)
			for (size_t row = 0; row < p->rows; row++)
				product_row(p,
					    element_of(&p->out, a, b, row, 0),
					    element_of(&p->left, a, b, row, 0),
					    element_of(&p->right, a, b, 0, 0));
}

#define HOST_KERNEL(name)                                       \
	_Static_assert(sizeof(struct name) <= ARGS_MAX, #name); \
	static void each_##name(const void *data)               \
	{                                                       \
		const struct call *call = data;                 \
		const void *args = call->args;                  \
                                                                \
		for (size_t i = 0; i < call->count; i++)        \
			kernel_##name(args, i);                 \
	}
KERNEL_LIST(HOST_KERNEL)
#undef HOST_KERNEL

static void (*const host_kernels[KERNELS])(const void *) = {
#define HOST_ENTRY(name) [KERNEL_##name] = each_##name,
	KERNEL_LIST(HOST_ENTRY)
#undef HOST_ENTRY
};

const char *kernel_launch_host(struct philox_device *device,
			       philox_stream stream, enum kernel kernel,
			       const void *args, size_t size, size_t count)
{
	struct call call = {.count = count};

	memcpy(call.args, args, size);
	return philox_launch_host(device, stream,
				  kernel == KERNEL_product
					  ? run_product
					  : host_kernels[kernel],
				  &call, sizeof(call))
		       ? philox_error_message()
		       : NULL;
}
