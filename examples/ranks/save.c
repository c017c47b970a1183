/*
 * examples/ranks/save.c - a training that can go on elsewhere
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "save.h"
#include "world.h"

enum { PATH_SIZE = 4096, MESSAGE = 400, ARRAYS = 3 };

/* The beginning of a file of parameters. */
struct header {
	char magic[16];
	uint64_t step, total, text; /* numbers of the model; digest */
	struct shape shape;
};

static const char magic[16] = "ranks model 1";

static void make_path(char path[PATH_SIZE], const char *folder, uint64_t step,
		      const char *ending)
{
	if (snprintf(path, PATH_SIZE, "%s/step-%" PRIu64 "%s", folder, step,
		     ending) >= PATH_SIZE)
		world_fail("the path %.60s... is too long", folder);
}

/* --- files, whole or not at all ------------------------------------------- */

static void write_all(FILE *file, const char *path, const void *from,
		      size_t size)
{
	if (fwrite(from, 1, size, file) != size)
		world_fail("%s: %s", path, strerror(errno));
}

static FILE *begin_file(char temporary[PATH_SIZE + 8], const char *path)
{
	FILE *file;

	snprintf(temporary, PATH_SIZE + 8, "%s.tmp", path);
	file = fopen(temporary, "wb");
	if (!file)
		world_fail("%s: %s", temporary, strerror(errno));
	return file;
}

static void end_file(FILE *file, const char *temporary, const char *path)
{
	if (fflush(file) || fsync(fileno(file)) || fclose(file) ||
	    rename(temporary, path))
		world_fail("%s: %s", path, strerror(errno));
}

/* --- the model ------------------------------------------------------------ */

float *collect_whole(struct model *model, const float *array)
{
	const struct tensors *tensors = &model->tensors;
	const size_t size = tensors->mine * sizeof(float);
	float *mine = malloc(size), *all = NULL;

	if (model->place->rank == 0)
		all = malloc(tensors->total * sizeof(float));
	if (!mine || (model->place->rank == 0 && !all))
		world_fail("out of memory");
	model_download(model, mine, array, size);
	tensors_collect(tensors, model->shape, model->place, mine, all);
	free(mine);
	return all;
}

static float *array_of(struct model *model, int which)
{
	return which == 0 ? model->parameters : model->moments[which - 1];
}

static void save_model(struct model *model, const char *path, uint64_t step)
{
	struct header header = {.step = step,
				.total = model->tensors.total,
				.text = model->text_digest};
	char temporary[PATH_SIZE + 8];
	const int writes = model->place->rank == 0;
	FILE *file = writes ? begin_file(temporary, path) : NULL;

	memcpy(header.magic, magic, sizeof(magic));
	header.shape = *model->shape;
	if (writes)
		write_all(file, path, &header, sizeof(header));
	for (int i = 0; i < ARRAYS; i++) {
		float *all = collect_whole(model, array_of(model, i));

		if (writes)
			write_all(file, path, all,
				  header.total * sizeof(float));
		free(all);
	}
	if (writes)
		end_file(file, temporary, path);
}

/* The parameters and moments of a file that is as it should be. */
static void load_arrays(struct model *model, const char *path, FILE *file)
{
	const struct tensors *tensors = &model->tensors;
	float *all = malloc(tensors->total * sizeof(float));
	float *mine = malloc(tensors->mine * sizeof(float));

	if (!all || !mine)
		world_fail("out of memory");
	for (int i = 0; i < ARRAYS; i++) {
		if (fread(all, sizeof(float), tensors->total, file) !=
		    tensors->total)
			world_fail("%s: ends too early", path);
		tensors_take(tensors, all, mine);
		model_upload(model, array_of(model, i), mine,
			     tensors->mine * sizeof(float));
	}
	free(all);
	free(mine);
}

static void load_model(struct model *model, const char *path, uint64_t step,
		       char message[MESSAGE])
{
	FILE *file = fopen(path, "rb");
	struct header header;

	if (!file)
		snprintf(message, MESSAGE, "%.120s: %s", path, strerror(errno));
	else if (fread(&header, sizeof(header), 1, file) != 1 ||
		 memcmp(header.magic, magic, sizeof(magic)) ||
		 header.step != step)
		snprintf(message, MESSAGE,
			 "%.120s: is no model of step %" PRIu64, path, step);
	else if (memcmp(&header.shape, model->shape, sizeof(header.shape)))
		snprintf(message, MESSAGE,
			 "%.120s: has another model, seed, dropout or rate",
			 path);
	else if (header.text != model->text_digest)
		snprintf(message, MESSAGE, "%.120s: is of another text", path);
	else
		load_arrays(model, path, file);
	if (file)
		fclose(file);
}

/* --- the last that is complete -------------------------------------------- */

/* Returns 0 if nothing was saved there: steps count from 1. */
static uint64_t latest_step(const char *folder)
{
	char path[PATH_SIZE];
	uint64_t step = 0;
	FILE *file;

	snprintf(path, PATH_SIZE, "%s/latest", folder);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64, &step) != 1)
		world_fail("%s: has no number of a step", path);
	fclose(file);
	return step;
}

static void set_latest(const char *folder, uint64_t step)
{
	char path[PATH_SIZE], temporary[PATH_SIZE + 8];
	FILE *file;

	snprintf(path, PATH_SIZE, "%s/latest", folder);
	file = begin_file(temporary, path);
	fprintf(file, "%" PRIu64 "\n", step);
	end_file(file, temporary, path);
}

/* Of any mesh: as many texts as there are */
static void remove_step(const char *folder, uint64_t step)
{
	char path[PATH_SIZE], ending[32];

	make_path(path, folder, step, "");
	remove(path);
	make_path(path, folder, step, ".model");
	remove(path);
	for (unsigned rank = 0;; rank++) {
		snprintf(ending, sizeof(ending), ".%u", rank);
		make_path(path, folder, step, ending);
		if (remove(path))
			return;
	}
}

/* --- both ----------------------------------------------------------------- */

int save_prepare(const struct model *model, const char *folder)
{
	char message[MESSAGE] = "";

	if (model->place->rank == 0 &&
	    ((mkdir(folder, 0777) && errno != EEXIST) ||
	     access(folder, W_OK | X_OK)))
		snprintf(message, MESSAGE, "--save %.120s: %s", folder,
			 strerror(errno));
	return world_is_well(message) ? 0 : -1;
}

void save_training(struct model *model, const char *folder, uint64_t step)
{
	const int leads = model->place->rank == 0;
	const uint64_t before = leads ? latest_step(folder) : 0;
	char path[PATH_SIZE];

	make_path(path, folder, step, ".model");
	save_model(model, path, step);
	make_path(path, folder, step, "");
	TRY(philox_mesh_save(model->context, path));
	world_barrier();
	if (!leads)
		return;
	TRY(philox_mesh_seal(&model->place->mesh, path));
	set_latest(folder, step);
	if (before && before != step)
		remove_step(folder, before);
}

uint64_t load_training(struct model *model, const char *folder)
{
	const uint64_t step = latest_step(folder);
	char path[PATH_SIZE], message[MESSAGE] = "";

	if (!step) {
		snprintf(message, MESSAGE,
			 "--resume %.80s: nothing was saved there", folder);
	} else if (step > model->options->steps) {
		snprintf(message, MESSAGE,
			 "--resume %.80s: has step %" PRIu64
			 " already, and --steps is %" PRIu64,
			 folder, step, model->options->steps);
	} else {
		make_path(path, folder, step, ".model");
		load_model(model, path, step, message);
	}
	if (!world_is_well(message))
		return 0;
	make_path(path, folder, step, "");
	if (philox_mesh_load(model->context, path))
		snprintf(message, MESSAGE, "--resume %.80s: %.300s", folder,
			 philox_error_message());
	return world_is_well(message) ? step : 0;
}
