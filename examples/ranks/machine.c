/*
 * examples/ranks/machine.c - what a rank uses of its machine: device, network,
 * memory, and the file with the text
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "digest.h"
#include "model.h"
#include "world.h"

enum { MESSAGE = 200 };

/* --- memory --------------------------------------------------------------- */

static void *take_memory(struct model *model, size_t size)
{
	void *memory;

	model->memory =
		realloc(model->memory, (model->n_memory + 1) * sizeof(void *));
	if (!model->memory)
		world_fail("out of memory");
	TRY(philox_memory_alloc(model->device, size, &memory));
	model->memory[model->n_memory++] = memory;
	return memory;
}

float *model_floats(struct model *model, size_t n)
{
	return take_memory(model, n * sizeof(float));
}

void model_upload(struct model *model, void *to, const void *from, size_t size)
{
	TRY(philox_memory_copy(model->device, model->stream, to, from, size));
	TRY(philox_stream_synchronize(model->device, model->stream));
}

void model_download(struct model *model, void *to, const void *from,
		    size_t size)
{
	model_upload(model, to, from, size);
}

/* --- opening --------------------------------------------------------------- */

/* The bytes of a file, up to 4 GiB and some, to be freed; or NULL and errno. */
static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;
	size_t room = 0;

	*size = 0;
	while (file && !ferror(file) && !feof(file) && *size <= UINT32_MAX) {
		if (*size == room) {
			room = 2 * room + 65536;
			bytes = realloc(bytes, room);
		}
		if (!bytes)
			world_fail("out of memory");
		*size += fread(bytes + *size, 1, room - *size, file);
	}
	if (file && ferror(file)) {
		free(bytes);
		bytes = NULL;
	}
	if (file)
		fclose(file);
	return bytes;
}

/* Returns what is wrong, or "". */
static void read_text(struct model *model, char message[MESSAGE])
{
	const char *path = model->options->text;
	char *text = read_file(path, &model->text_size);
	void *memory;

	*message = '\0';
	if (!text) {
		snprintf(message, MESSAGE, "--text %.80s: %s", path,
			 strerror(errno));
	} else if (model->text_size < model->shape->places + 2) {
		snprintf(message, MESSAGE,
			 "--text %.80s: it is shorter than a sample", path);
	} else if (model->text_size > UINT32_MAX) {
		snprintf(message, MESSAGE,
			 "--text %.80s: it is longer than 4 GiB", path);
	} else {
		memory = take_memory(model, model->text_size);
		model_upload(model, memory, text, model->text_size);
		model->text = memory;
		model->text_digest = digest_of(text, model->text_size);
	}
	free(text);
}

/* Every rank reads a file of its own machine: they must be the same. */
static void compare_texts(const struct model *model, char message[MESSAGE])
{
	const struct place *place = model->place;
	uint64_t mine[2] = {model->text_size, model->text_digest};
	uint64_t(*all)[2] = malloc(place->world * sizeof(*all));

	if (!all)
		world_fail("out of memory");
	world_gather(NULL, mine, sizeof(mine), all);
	if (memcmp(mine, all[0], sizeof(mine)))
		snprintf(
			message, MESSAGE,
			"--text %.80s: rank %u has read another text than rank 0",
			model->options->text, (unsigned)place->rank);
	free(all);
}

/* "cuda" is a GPU for each rank of this machine, in turn if they are fewer. */
static void name_device(struct model *model, char name[64],
			char message[MESSAGE])
{
	const char *asked = model->options->device;
	const unsigned rank = world_local_rank();
	unsigned gpus;

	*message = '\0';
	snprintf(name, 64, "%.63s", asked);
	if (strcmp(asked, "cuda"))
		return;
	if (philox_device_count("cuda", &gpus))
		snprintf(message, MESSAGE, "--device cuda: %.150s",
			 philox_error_message());
	else if (rank >= gpus && !strcmp(model->options->comm, "nccl"))
		snprintf(
			message, MESSAGE,
			"--comm nccl: needs a GPU for each rank, this machine has %u (--comm mpi lets ranks share one)",
			gpus);
	else
		snprintf(name, 64, "cuda:%u", rank % gpus);
}

static void open_device(struct model *model, char message[MESSAGE])
{
	char name[64];
	const char *wrong = NULL;

	name_device(model, name, message);
	if (*message)
		return;
	if (philox_device_open(name, &model->device)) {
		snprintf(message, MESSAGE, "--device %.60s: %.120s", name,
			 philox_error_message());
		return;
	}
	model->host = philox_device_is_host(model->device);
#ifdef WITH_CUDA
	if (!model->host)
		wrong = kernels_load_cuda(model->device);
#else
	if (!model->host)
		wrong = "this program was built without nvcc";
#endif
	if (wrong)
		snprintf(message, MESSAGE, "--device %.60s: %.120s", name,
			 wrong);
}

static void open_context(struct model *model)
{
	TRY(philox_context_create(model->device, &model->context));
	TRY(philox_context_set_mesh(model->context, &model->place->mesh));
	TRY(philox_generator_seed(philox_context_generator(model->context),
				  model->shape->seed));
	TRY(philox_stream_create(model->device, 0, &model->stream));
}

static void open_comm(struct model *model, char message[MESSAGE])
{
	*message = '\0';
	if (!strcmp(model->options->comm, "mpi"))
		model->comm = comm_open_mpi(model->place, model->device,
					    model->stream);
	else
		model->comm = comm_open_nccl(model->place, model->device,
					     model->stream, message);
}

int machine_open(struct model *model)
{
	char message[MESSAGE];

	open_device(model, message);
	if (!world_is_well(message))
		return -1;
	open_context(model);
	open_comm(model, message);
	if (!world_is_well(message))
		return -1;
	model->comm->join(model->comm);
	read_text(model, message);
	if (!world_is_well(message))
		return -1;
	compare_texts(model, message);
	return world_is_well(message) ? 0 : -1;
}

void machine_close(struct model *model)
{
	model->comm->close(model->comm);
	philox_context_destroy(model->context);
	for (size_t i = 0; i < model->n_memory; i++)
		TRY(philox_memory_free(model->device, model->memory[i]));
	TRY(philox_stream_destroy(model->device, model->stream));
	TRY(philox_device_close(model->device));
	free(model->memory);
}

void model_launch(struct model *model, enum kernel kernel, const void *args,
		  size_t size, size_t count)
{
	const char *wrong = NULL;

	if (model->host)
		wrong = kernel_launch_host(model->device, model->stream, kernel,
					   args, size, count);
#ifdef WITH_CUDA
	else
		wrong = kernel_launch_cuda(model->stream, kernel, args, count);
#endif
	if (wrong)
		world_fail("a kernel: %s", wrong);
}
