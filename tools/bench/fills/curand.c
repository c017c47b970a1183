/*
 * tools/bench/fills/curand.c - cuRAND's own fills, on the CPU and on a GPU
 *
 * libcurand.so.10 is that of CUDA 10 to 13. Its host generators need neither a
 * driver nor a GPU. On a GPU a call puts kernels on the generator's stream.
 */
#include "tools/bench/fills/fills.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* As in curand.h: that header may be missing where this is built. */
typedef struct curandGenerator_st *curand_generator;
enum {
	CURAND_PHILOX = 161,        /* CURAND_RNG_PSEUDO_PHILOX4_32_10 */
	CURAND_ORDER_DEFAULT = 101, /* CURAND_ORDERING_PSEUDO_DEFAULT */
	CURAND_ORDER_DYNAMIC = 104  /* CURAND_ORDERING_PSEUDO_DYNAMIC */
};

/* The functions of cuRAND: member, its name there, its arguments. */
#define CURAND_LIST(X)                                                         \
	X(version, "curandGetVersion", (int *))                                \
	X(create, "curandCreateGenerator", (curand_generator *, int))          \
	X(create_host, "curandCreateGeneratorHost", (curand_generator *, int)) \
	X(destroy, "curandDestroyGenerator", (curand_generator))               \
	X(set_stream, "curandSetStream", (curand_generator, philox_stream))    \
	X(set_seed, "curandSetPseudoRandomGeneratorSeed",                      \
	  (curand_generator, unsigned long long))                              \
	X(set_order, "curandSetGeneratorOrdering", (curand_generator, int))    \
	X(bits, "curandGenerate", (curand_generator, unsigned *, size_t))      \
	X(uniform, "curandGenerateUniform",                                    \
	  (curand_generator, float *, size_t))                                 \
	X(uniform_f64, "curandGenerateUniformDouble",                          \
	  (curand_generator, double *, size_t))                                \
	X(normal, "curandGenerateNormal",                                      \
	  (curand_generator, float *, size_t, float, float))                   \
	X(normal_f64, "curandGenerateNormalDouble",                            \
	  (curand_generator, double *, size_t, double, double))                \
	X(log_normal, "curandGenerateLogNormal",                               \
	  (curand_generator, float *, size_t, float, float))                   \
	X(log_normal_f64, "curandGenerateLogNormalDouble",                     \
	  (curand_generator, double *, size_t, double, double))

struct curand {
	void *library;
	curand_generator generator;
#define CURAND_MEMBER(member, name, arguments) int(*member) arguments;
	CURAND_LIST(CURAND_MEMBER)
#undef CURAND_MEMBER
};

/* The differences between the peers of this file. */
struct curand_choice {
	int on_gpu;
	int order;
};

/* --- fills ---------------------------------------------------------------- */

static int bits(const struct curand *curand, void *out, size_t bytes)
{
	return curand->bits(curand->generator, out, bytes / 4);
}

static int uniform_f32(const struct curand *curand, void *out, size_t bytes)
{
	return curand->uniform(curand->generator, out, bytes / 4);
}

static int uniform_f64(const struct curand *curand, void *out, size_t bytes)
{
	return curand->uniform_f64(curand->generator, out, bytes / 8);
}

static int normal_f32(const struct curand *curand, void *out, size_t bytes)
{
	return curand->normal(curand->generator, out, bytes / 4, 0, 1);
}

static int normal_f64(const struct curand *curand, void *out, size_t bytes)
{
	return curand->normal_f64(curand->generator, out, bytes / 8, 0, 1);
}

static int log_normal_f32(const struct curand *curand, void *out, size_t bytes)
{
	return curand->log_normal(curand->generator, out, bytes / 4, 0, 1);
}

static int log_normal_f64(const struct curand *curand, void *out, size_t bytes)
{
	return curand->log_normal_f64(curand->generator, out, bytes / 8, 0, 1);
}

static const struct {
	const char *kind[2];
	int (*fill)(const struct curand *curand, void *out, size_t bytes);
} fills[] = {
	{{"bits/u32"}, bits},
	{{"bits/u64"}, bits},
	{{"uniform/f32"}, uniform_f32},
	{{"uniform/f64"}, uniform_f64},
	{{"normal/f32"}, normal_f32},
	{{"normal/f64"}, normal_f64},
	{{"log-normal/f32"}, log_normal_f32},
	{{"log-normal/f64"}, log_normal_f64},
};

#define N_FILLS ((int)(sizeof(fills) / sizeof(fills[0])))

static int find_fill(const struct fill_kind *kind)
{
	int i = 0;

	while (i < N_FILLS && !fill_is(kind, fills[i].kind))
		i++;
	return i;
}

static int curand_has(const struct fill_peer *peer, const struct fill_bench *of)
{
	const struct curand_choice *choice = peer->choice;

	return choice->on_gpu == !!of->cuda && find_fill(of->kind) < N_FILLS;
}

static int curand_work(const struct fill_peer *peer,
		       const struct fill_bench *of)
{
	return fills[find_fill(of->kind)].fill(peer->state, of->out, of->bytes);
}

/* --- the library ---------------------------------------------------------- */

static void curand_close(struct fill_peer *peer)
{
	struct curand *curand = peer->state;

	if (curand->generator)
		curand->destroy(curand->generator);
	if (curand->library)
		dlclose(curand->library);
	free(curand);
}

static int find_functions(struct curand *curand, char note[RACE_NOTE_MAX])
{
	curand->library = peer_library("libcurand.so.10", 1, note);
	if (!curand->library)
		return -1;
#define CURAND_FIND(member, name, arguments)                           \
	if (peer_symbol(curand->library, name, &curand->member, note)) \
		return -1;
	CURAND_LIST(CURAND_FIND)
#undef CURAND_FIND
	return 0;
}

/* cuRAND's status of the first call that fails. */
static int make_generator(struct curand *curand,
			  const struct curand_choice *choice,
			  philox_stream stream)
{
	int error = choice->on_gpu
			    ? curand->create(&curand->generator, CURAND_PHILOX)
			    : curand->create_host(&curand->generator,
						  CURAND_PHILOX);

	if (error) {
		curand->generator = NULL;
		return error;
	}
	if (choice->on_gpu)
		error = curand->set_stream(curand->generator, stream);
	if (!error)
		error = curand->set_order(curand->generator, choice->order);
	return error ? error : curand->set_seed(curand->generator, 1);
}

static int curand_open(struct fill_peer *peer, const struct fill_bench *of,
		       char note[RACE_NOTE_MAX])
{
	struct curand *curand = calloc(1, sizeof(*curand));
	int error, version = 0;

	peer->state = curand;
	if (!curand) {
		snprintf(note, RACE_NOTE_MAX, "out of memory");
		return -1;
	}
	if (find_functions(curand, note))
		goto fail;
	error = make_generator(curand, peer->choice, of->bench->stream);
	if (error) {
		snprintf(note, RACE_NOTE_MAX,
			 "it makes no such generator: error %d", error);
		goto fail;
	}
	curand->version(&version);
	snprintf(note, RACE_NOTE_MAX, "cuRAND %d.%d.%d", version / 1000,
		 version / 100 % 10, version % 100);
	return 0;
fail:
	curand_close(peer);
	return -1;
}

#define CURAND(its_name, ...)                                             \
	{                                                                 \
		.name = its_name, .has = curand_has, .open = curand_open, \
		.work = curand_work, .close = curand_close,               \
		.choice = &(const struct curand_choice){__VA_ARGS__},     \
	}

struct fill_peer fill_curand_host =
	CURAND("curand_host", 0, CURAND_ORDER_DEFAULT);
struct fill_peer fill_curand = CURAND("curand", 1, CURAND_ORDER_DEFAULT);
struct fill_peer fill_curand_dynamic =
	CURAND("curand_dynamic", 1, CURAND_ORDER_DYNAMIC);
