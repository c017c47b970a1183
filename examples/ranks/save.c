/*
 * examples/ranks/save.c - a training that can go on elsewhere
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "digest.h"
#include "save.h"
#include "world.h"

enum { PATH_SIZE = 4096, MESSAGE = 400, ARRAYS = 3 };

/* A save: its files are named step-N..., or step-N-again... */
struct saved {
	uint64_t step; /* 0: there is none */
	int again;
};

/*
 * The beginning of a file of parameters. The arrays follow, and a digest of
 * header and arrays.
 */
struct header {
	char magic[16];
	uint64_t step, total, text; /* numbers of the model; digest */
	struct shape shape;
};

static const char magic[16] = "ranks model 2";

static void make_path(char path[PATH_SIZE], const char *folder,
		      const struct saved *saved, const char *ending)
{
	if (snprintf(path, PATH_SIZE, "%s/step-%" PRIu64 "%s%s", folder,
		     saved->step, saved->again ? "-again" : "",
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
	uint64_t digest;

	memcpy(header.magic, magic, sizeof(magic));
	header.shape = *model->shape;
	digest = digest_of(&header, sizeof(header));
	if (writes)
		write_all(file, path, &header, sizeof(header));
	for (int i = 0; i < ARRAYS; i++) {
		const size_t size = header.total * sizeof(float);
		float *all = collect_whole(model, array_of(model, i));

		if (writes) {
			write_all(file, path, all, size);
			digest = digest_more(digest, all, size);
		}
		free(all);
	}
	if (!writes)
		return;
	write_all(file, path, &digest, sizeof(digest));
	end_file(file, temporary, path);
}

/* The next array of a file; returns -1 if the file ends before it does. */
static int load_array(struct model *model, FILE *file, float *array, float *all,
		      float *mine, uint64_t *digest)
{
	const struct tensors *tensors = &model->tensors;

	if (fread(all, sizeof(float), tensors->total, file) != tensors->total)
		return -1;
	*digest = digest_more(*digest, all, tensors->total * sizeof(float));
	tensors_take(tensors, all, mine);
	model_upload(model, array, mine, tensors->mine * sizeof(float));
	return 0;
}

/* Parameters and moments, behind a header. Returns what is wrong, or NULL. */
static const char *load_arrays(struct model *model, FILE *file, uint64_t digest)
{
	const struct tensors *tensors = &model->tensors;
	float *all = malloc(tensors->total * sizeof(float));
	float *mine = malloc(tensors->mine * sizeof(float));
	const char *wrong = NULL;
	uint64_t written;

	if (!all || !mine)
		world_fail("out of memory");
	for (int i = 0; i < ARRAYS && !wrong; i++)
		if (load_array(model, file, array_of(model, i), all, mine,
			       &digest))
			wrong = "ends too early";
	free(all);
	free(mine);
	if (wrong)
		return wrong;
	if (fread(&written, sizeof(written), 1, file) != 1)
		return "ends too early";
	if (fgetc(file) != EOF)
		return "is longer than it was written";
	return written == digest ? NULL : "is damaged";
}

static void load_model(struct model *model, const char *path, uint64_t step,
		       char message[MESSAGE])
{
	FILE *file = fopen(path, "rb");
	const char *wrong = NULL;
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
		wrong = load_arrays(model, file,
				    digest_of(&header, sizeof(header)));
	if (wrong)
		snprintf(message, MESSAGE, "%.120s: %s", path, wrong);
	if (file)
		fclose(file);
}

/* --- the last that is complete -------------------------------------------- */

/* Reads N, or N-again. Returns -1 if `latest` has neither. */
static int read_latest(const char *folder, struct saved *saved)
{
	char path[PATH_SIZE], line[40] = "", *end = line;
	FILE *file;

	*saved = (struct saved){0, 0};
	snprintf(path, PATH_SIZE, "%s/latest", folder);
	file = fopen(path, "r");
	if (!file)
		return errno == ENOENT ? 0 : -1;
	if (fgets(line, sizeof(line), file) && *line >= '1' && *line <= '9')
		saved->step = strtoull(line, &end, 10);
	fclose(file);
	saved->again = !strcmp(end, "-again\n");
	return saved->step && (saved->again || !strcmp(end, "\n")) ? 0 : -1;
}

static void set_latest(const char *folder, const struct saved *saved)
{
	char path[PATH_SIZE], temporary[PATH_SIZE + 8];
	FILE *file;

	snprintf(path, PATH_SIZE, "%s/latest", folder);
	file = begin_file(temporary, path);
	fprintf(file, "%" PRIu64 "%s\n", saved->step,
		saved->again ? "-again" : "");
	end_file(file, temporary, path);
}

/* --- what other saves have left ------------------------------------------- */

/* Of which save a file is: what follows that in its name, or NULL. */
static const char *read_name(const char *name, struct saved *saved)
{
	char *end;

	if (strncmp(name, "step-", 5) || name[5] < '1' || name[5] > '9')
		return NULL;
	saved->step = strtoull(name + 5, &end, 10);
	saved->again = !strncmp(end, "-again", 6);
	return end + (saved->again ? 6 : 0);
}

/* The rank whose text has this ending, or UINT64_MAX. */
static uint64_t rank_of(const char *ending)
{
	const size_t digits = strspn(ending + (*ending == '.'), "0123456789");

	if (*ending != '.' || !digits || ending[1 + digits])
		return UINT64_MAX;
	return strtoull(ending + 1, NULL, 10);
}

/* Whether a file is one of another save, or of more ranks than there are now. */
static int is_left_over(const char *name, const struct saved *now,
			uint64_t ranks)
{
	struct saved saved;
	const char *ending = read_name(name, &saved);
	int is_other;
	uint64_t rank;

	if (!ending)
		return 0;
	is_other = saved.step != now->step || saved.again != now->again;
	rank = rank_of(ending);
	if (rank != UINT64_MAX)
		return is_other || rank >= ranks;
	if (!strcmp(ending, ".model.tmp"))
		return 1;
	return is_other && (!*ending || !strcmp(ending, ".model"));
}

/*
 * Removes what was there before, of any mesh, and what processes that were
 * killed have left.
 */
static void remove_others(const char *folder, const struct saved *now,
			  uint64_t ranks)
{
	DIR *files = opendir(folder);
	struct dirent *file;
	char path[PATH_SIZE];

	while (files && (file = readdir(files)))
		if (is_left_over(file->d_name, now, ranks) &&
		    snprintf(path, PATH_SIZE, "%s/%s", folder, file->d_name) <
			    PATH_SIZE)
			remove(path);
	if (files)
		closedir(files);
}

/* --- both ----------------------------------------------------------------- */

int save_prepare(const struct model *model, const char *folder)
{
	char message[MESSAGE] = "";
	struct saved before;

	if (model->place->rank != 0)
		return world_is_well(message) ? 0 : -1;
	if ((mkdir(folder, 0777) && errno != EEXIST) ||
	    access(folder, W_OK | X_OK))
		snprintf(message, MESSAGE, "--save %.120s: %s", folder,
			 strerror(errno));
	else if (read_latest(folder, &before))
		snprintf(message, MESSAGE,
			 "--save %.120s: its file 'latest' names no step",
			 folder);
	return world_is_well(message) ? 0 : -1;
}

/*
 * A name that `latest` does not have: what it names is to stay as it is until
 * the new files are complete.
 */
static struct saved new_name(const struct saved *before, uint64_t step)
{
	return (struct saved){.step = step,
			      .again = before->step == step && !before->again};
}

void save_training(struct model *model, const char *folder, uint64_t step)
{
	const int leads = model->place->rank == 0;
	struct saved before = {0, 0}, saved;
	char path[PATH_SIZE];

	if (leads && read_latest(folder, &before))
		world_fail("%s/latest: names no step", folder);
	saved = new_name(&before, step);
	world_tell(&saved, sizeof(saved));
	make_path(path, folder, &saved, ".model");
	save_model(model, path, step);
	make_path(path, folder, &saved, "");
	TRY(philox_context_save_rank(model->context, path));
	world_barrier();
	if (!leads)
		return;
	TRY(philox_mesh_seal(&model->place->mesh, path));
	set_latest(folder, &saved);
	remove_others(folder, &saved, model->place->world);
}

/* What the context goes on with; the seed must be the model's, too. */
static void load_context(struct model *model, const char *folder,
			 const struct saved *saved, char message[MESSAGE])
{
	struct philox_state state;
	char path[PATH_SIZE];

	make_path(path, folder, saved, "");
	if (philox_context_load_ranks(model->context, path)) {
		snprintf(message, MESSAGE, "--resume %.80s: %.300s", folder,
			 philox_error_message());
		return;
	}
	TRY(philox_generator_get_state(philox_context_generator(model->context),
				       &state));
	if (state.seed != model->shape->seed)
		snprintf(message, MESSAGE,
			 "%.120s: has seed %" PRIu64
			 ", %.120s.model has seed %" PRIu64,
			 path, state.seed, path, model->shape->seed);
}

uint64_t load_training(struct model *model, const char *folder)
{
	char path[PATH_SIZE], message[MESSAGE] = "";
	struct saved saved;

	if (read_latest(folder, &saved)) {
		snprintf(message, MESSAGE,
			 "--resume %.80s: its file 'latest' names no step",
			 folder);
	} else if (!saved.step) {
		snprintf(message, MESSAGE,
			 "--resume %.80s: nothing was saved there", folder);
	} else if (saved.step > model->options->steps) {
		snprintf(message, MESSAGE,
			 "--resume %.80s: has step %" PRIu64
			 " already, and --steps is %" PRIu64,
			 folder, saved.step, model->options->steps);
	} else {
		make_path(path, folder, &saved, ".model");
		load_model(model, path, saved.step, message);
	}
	if (!world_is_well(message))
		return 0;
	load_context(model, folder, &saved, message);
	return world_is_well(message) ? saved.step : 0;
}
