/*
 * examples/ranks/machine.h - what a rank uses of its machine: device, network,
 * memory, and the file with the text
 */
#ifndef RANKS_MACHINE_H
#define RANKS_MACHINE_H

#include <stddef.h>
#include "kernels.h"

struct model;

/*
 * Opens them; all ranks call it together. Returns 0, or -1 on all ranks if one
 * of them has said what it cannot have. machine_close() frees everything.
 */
int machine_open(struct model *model);
void machine_close(struct model *model);

/* An array of n floats, which lives as long as the model. */
float *model_floats(struct model *model, size_t n);

/* Copies of `size` bytes that are there when the call returns. */
void model_upload(struct model *model, void *to, const void *from, size_t size);
void model_download(struct model *model, void *to, const void *from,
		    size_t size);

/* Puts a kernel on the stream: LAUNCH(model, add, count, .x = x ...) */
void model_launch(struct model *model, enum kernel kernel, const void *args,
		  size_t size, size_t count);

#define LAUNCH(model, name, count, ...)                                   \
	model_launch((model), KERNEL_##name, &(struct name){__VA_ARGS__}, \
		     sizeof(struct name), (count))

#endif
