/*
 * tests/support/support.c - fixtures, an oracle of numbers, and short forms of
 * passes
 *
 * The oracle (predict() and what it calls) knows only philox/kernel.h and the
 * comments of philox/region.h. Everything here aborts the test on an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "tests/support/left.h"
#include "tests/support/support.h"

static const struct {
	uint32_t op, call;
} sites[SITES] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}};

const char *const device_operations[] = {"mem_alloc",
					 "mem_free",
					 "mapped_alloc",
					 "mapped_free",
					 "mem_info",
					 "space_granularity",
					 "space_reserve",
					 "space_map",
					 "space_unmap",
					 "space_release",
					 "copy",
					 "set",
					 "stream_create",
					 "stream_destroy",
					 "stream_priority",
					 "stream_sync",
					 "stream_query",
					 "device_sync",
					 "event_create",
					 "event_create_timed",
					 "event_destroy",
					 "event_record",
					 "event_wait",
					 "event_sync",
					 "event_query",
					 "event_elapsed",
					 "capture_begin",
					 "capture_begin_to",
					 "capture_end",
					 "capture_info",
					 "capture_tips",
					 "capture_depend",
					 "capture_after",
					 "capture_mode",
					 "graph_add_kernel",
					 "graph_set_kernel",
					 "condition_create",
					 "graph_add_conditional",
					 "graph_retain",
					 "graph_nodes",
					 "node_deps",
					 "node_priority",
					 "graph_destroy",
					 "exec_create",
					 "exec_set_kernel",
					 "exec_launch",
					 "exec_destroy",
					 "launch",
					 "launch_host",
					 NULL};

/* --- messages ------------------------------------------------------------- */

static size_t word_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* "philox_x: ...", said by a call of philox_y() */
static void names_its_function(const char *call, const char *said)
{
	size_t length = word_length(said);

	if (strncmp(said, "philox_", 7) || said[length] != ':' ||
	    strncmp(call, "philox_", 7))
		return;
	cr_assert(word_length(call) == length && !strncmp(call, said, length),
		  "%s names another function: %s", call, said);
}

/* "device: device: ..." */
static void has_no_prefix_twice(const char *call, const char *said)
{
	const char *end;

	for (const char *at = said; (end = strstr(at, ": ")); at = end + 2) {
		size_t length = (size_t)(end + 2 - at);

		cr_assert(strncmp(at, end + 2, length),
			  "%s has a prefix twice: %s", call, said);
	}
}

static int is_plural(const char *word)
{
	static const char *const not [] = {"is", "was", "has", "comes", "axis"};
	size_t length = word_length(word);

	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (length == strlen(not [i]) &&
		    !strncmp(word, not [i], length))
			return 0;
	return length > 1 && word[length - 1] == 's' && word[length - 2] != 's';
}

/* "1 tickets" */
static void has_no_plural_after_1(const char *call, const char *said)
{
	for (const char *at = said; (at = strstr(at, "1 ")); at += 2) {
		/* not the end of 11, nor of 2^31 - 1 */
		int whole = at == said || at[-1] == '(' ||
			    (at[-1] == ' ' && (at - said < 2 || at[-2] != '-'));

		cr_assert(!whole || !is_plural(at + 2),
			  "%s has a plural after 1: %s", call, said);
	}
}

void well_said(const char *call)
{
	const char *said = philox_error_message();

	names_its_function(call, said);
	has_no_prefix_twice(call, said);
	has_no_plural_after_1(call, said);
}

/* --- fixtures ------------------------------------------------------------- */

void fixture_open(struct fixture *f, const char *device_name)
{
	memset(f, 0, sizeof(*f));
	left_begin();
	OK(philox_device_open(device_name, &f->device));
	OK(philox_context_create(f->device, &f->context));
	OK(philox_stream_create(f->device, PHILOX_STREAM_BLOCKING, &f->stream));
	OK(philox_stream_create(f->device, 0, &f->side));
	f->scratch = make_array(f);
}

/* A real GPU cannot be asked, and calls are counted that fail, too. */
static void no_device_memory_is_left(const struct fixture *f)
{
	uint64_t allocated = philox_device_call_count(f->device, "mem_alloc");
	uint64_t freed = philox_device_call_count(f->device, "mem_free");
	uint64_t mapped = philox_device_call_count(f->device, "mapped_alloc");
	uint64_t unmapped = philox_device_call_count(f->device, "mapped_free");

	if (f->injected || philox_device_is_host(f->device))
		return;
	cr_assert(allocated == freed, "%d pieces of device memory leaked",
		  (int)(allocated - freed));
	cr_assert(mapped == unmapped, "%d pieces of mapped memory leaked",
		  (int)(mapped - unmapped));
}

void fixture_close(struct fixture *f)
{
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	for (size_t i = 0; i < f->n_natives; i++) {
		OK(philox_native_exec_destroy(f->device, f->execs[i]));
		OK(philox_native_graph_destroy(f->device, f->natives[i]));
	}
	for (size_t i = 0; i < f->n_arrays; i++)
		OK(philox_memory_free(f->device, f->arrays[i]));
	OK(philox_stream_destroy(f->device, f->stream));
	OK(philox_stream_destroy(f->device, f->side));
	no_device_memory_is_left(f);
	left_on(f->device, f->unfreed);
	OK(philox_device_close(f->device));
	left_end();
}

int wait_for_release(const struct fixture *f, unsigned waits)
{
	const struct timespec moment = {0, 1000000};

	return !philox_device_is_host(f->device) && waits < 5000 &&
	       !nanosleep(&moment, NULL);
}

static void run_on(const char *device, int own,
		   void (*promise)(struct fixture *f))
{
	struct fixture f;

	fixture_open(&f, device);
	f.own = own;
	promise(&f);
	fixture_close(&f);
}

const char *named_device(void)
{
	return getenv("PHILOX_TEST_DEVICE");
}

void on_host_devices(void (*promise)(struct fixture *f))
{
	if (named_device()) {
		run_on(named_device(), 0, promise);
		return;
	}
	run_on("host:sync", 0, promise);
	run_on("host:strict", 0, promise);
}

void on_host_devices_and_captures(void (*promise)(struct fixture *f))
{
	on_host_devices(promise);
	if (named_device()) {
		run_on(named_device(), 1, promise);
		return;
	}
	run_on("host:sync", 1, promise);
	run_on("host:strict", 1, promise);
}

void *make_memory(struct fixture *f, size_t size)
{
	void *memory;

	cr_assert(f->n_arrays < sizeof(f->arrays) / sizeof(f->arrays[0]));
	OK(philox_memory_alloc(f->device, size, &memory));
	f->arrays[f->n_arrays++] = memory;
	return memory;
}

void *upload(struct fixture *f, const void *from, size_t size)
{
	void *to = make_memory(f, size);

	OK(philox_memory_copy(f->device, f->stream, to, from, size));
	OK(philox_stream_synchronize(f->device, f->stream));
	return to;
}

uint32_t *make_array(struct fixture *f)
{
	return make_memory(f, sizeof(struct numbers));
}

struct philox_region *make_region_of(struct philox_context *context,
				     const char *name, uint32_t pending,
				     struct philox_generator *generator)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = OPS,
					     .generator = generator,
					     .pending = pending};
	struct philox_region *region;

	OK(philox_region_create(context, &options, &region));
	return region;
}

struct philox_region *make_region(struct fixture *f, const char *name)
{
	return make_region_of(f->context, name, 0, NULL);
}

/* --- numbers -------------------------------------------------------------- */

unsigned factorial(unsigned n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

void permutation(unsigned k, unsigned n, unsigned order[])
{
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = 0; i < n; i++) {
		unsigned rest = factorial(n - 1 - i);
		unsigned pick = i + k / rest % (n - i);
		unsigned picked = order[pick];

		memmove(&order[i + 1], &order[i], (pick - i) * sizeof(*order));
		order[i] = picked;
	}
}

uint64_t fnv1a(const char *name)
{
	uint64_t hash = 14695981039346656037ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211ULL;
	return hash;
}

struct philox_state predict_cell(uint64_t seed, const char *name, uint32_t op,
				 uint32_t call, uint64_t offset)
{
	uint64_t region = philox_fold(seed, PHILOX_FOLD_REGION, fnv1a(name));
	struct philox_state cell = {philox_op_seed(region, op, call), offset};

	return cell;
}

struct numbers predict(uint64_t seed, const char *name, uint64_t offset)
{
	struct numbers numbers;

	for (unsigned i = 0; i < WORDS; i++) {
		struct philox_state cell =
			predict_cell(seed, name, sites[i / COUNT].op,
				     sites[i / COUNT].call, offset);
		uint64_t element = i % COUNT;

		numbers.word[i] =
			philox_draw4(cell, element / 4).w[element % 4];
	}
	return numbers;
}

int share_a_block(const struct numbers *a, const struct numbers *b)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		for (unsigned j = 0; j < BLOCKS; j++) {
			if (memcmp(&a->word[4 * i], &b->word[4 * j], 16) == 0)
				return 1;
		}
	}
	return 0;
}

int all_poison(const struct numbers *numbers)
{
	for (unsigned i = 0; i < WORDS; i++) {
		if (numbers->word[i] != 0xffffffffu)
			return 0;
	}
	return 1;
}

struct block_set {
	size_t used, room; /* room is a power of two */
	struct philox_words *block;
	unsigned char *taken;
};

static void block_set_room(struct block_set *set, size_t room)
{
	set->used = 0;
	set->room = room;
	set->block = calloc(room, sizeof(*set->block));
	set->taken = calloc(room, 1);
	cr_assert(set->block && set->taken);
}

struct block_set *block_set_new(void)
{
	struct block_set *set = calloc(1, sizeof(*set));

	cr_assert(set);
	block_set_room(set, 1024);
	return set;
}

void block_set_free(struct block_set *set)
{
	free(set->block);
	free(set->taken);
	free(set);
}

static int block_set_put(struct block_set *set, const uint32_t word[4])
{
	/* The words are random: any of them is a hash. */
	size_t i = word[0] & (set->room - 1);

	for (; set->taken[i]; i = (i + 1) & (set->room - 1)) {
		if (memcmp(&set->block[i], word, 16) == 0)
			return 1;
	}
	memcpy(&set->block[i], word, 16);
	set->taken[i] = 1;
	set->used++;
	return 0;
}

static void block_set_grow(struct block_set *set)
{
	struct block_set old = *set;

	block_set_room(set, 2 * old.room);
	for (size_t i = 0; i < old.room; i++) {
		if (old.taken[i])
			block_set_put(set, old.block[i].w);
	}
	free(old.block);
	free(old.taken);
}

unsigned block_set_add(struct block_set *set, const struct numbers *numbers)
{
	unsigned known = 0;

	if (2 * (set->used + BLOCKS) > set->room)
		block_set_grow(set);
	for (unsigned i = 0; i < BLOCKS; i++)
		known += (unsigned)block_set_put(set, &numbers->word[4 * i]);
	return known;
}

/* --- passes --------------------------------------------------------------- */

size_t pending(struct philox_region *region)
{
	size_t count;

	OK(philox_region_pending_count(region, &count));
	return count;
}

void draw(const struct philox_pass *pass, uint32_t *array)
{
	for (unsigned i = 0; i < SITES; i++) {
		struct philox_fill_desc fill = {.size = sizeof(fill),
						.dist = PHILOX_DIST_BITS,
						.dtype = PHILOX_DTYPE_U32,
						.span = {.count = COUNT},
						.out = array + i * COUNT};

		OK(philox_pass_fill(pass, sites[i].op, sites[i].call, &fill));
	}
}

struct copy_cells {
	const struct philox_state *from;
	struct philox_state *to;
};

static void copy_cells(const void *args)
{
	const struct copy_cells *copy = args;

	memcpy(copy->to, copy->from, SITES * sizeof(*copy->to));
}

void read_cells(struct fixture *f, const struct philox_pass *pass,
		struct philox_state to[SITES])
{
	struct copy_cells copy = {NULL, to};
	struct philox_rng rng;

	OK(philox_pass_states(pass, &copy.from));
	OK(philox_pass_rng(pass, 1, 1, &rng));
	cr_assert_eq(rng.cell, copy.from + 2);
	OK(philox_stream_launch_host(f->device, f->stream, copy_cells, &copy,
				     sizeof(copy)));
}

struct numbers read_numbers(struct fixture *f, const uint32_t *array)
{
	struct numbers numbers;

	OK(philox_device_synchronize(f->device));
	memcpy(&numbers, array, sizeof(numbers));
	return numbers;
}

struct forward forward(struct fixture *f, struct philox_region *region)
{
	struct forward made = {.region = region};
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &made.ticket));
	made.saw = read_numbers(f, f->scratch);
	return made;
}

struct numbers forward_numbers(struct fixture *f, struct philox_region *region,
			       unsigned flags)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, flags, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, NULL));
	return read_numbers(f, f->scratch);
}

struct numbers backward_numbers(struct fixture *f, struct philox_region *region,
				struct philox_ticket ticket, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, ticket, flags, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, NULL));
	return read_numbers(f, f->scratch);
}

void backward(struct fixture *f, const struct forward *of, unsigned flags)
{
	SAME(backward_numbers(f, of->region, of->ticket, flags), of->saw,
	     "the backward of forward %" PRIu64 " drew other numbers",
	     of->ticket.serial);
}

struct numbers peek(struct fixture *f, struct philox_region *region)
{
	return forward_numbers(f, region, PHILOX_PASS_WARMUP);
}

struct ledger_view look(struct fixture *f, struct philox_region *region)
{
	struct ledger_view view;

	view.pending = pending(region);
	view.next = peek(f, region);
	return view;
}

void unchanged(struct fixture *f, struct philox_region *region,
	       const struct ledger_view *before)
{
	PENDING(region, before->pending);
	SAME(peek(f, region), before->next, "the next numbers changed");
}

/* --- what fuzzers begin with ---------------------------------------------- */

DIR *corpus_open(const char *path)
{
	DIR *folder = opendir(path);

	if (folder)
		return folder;
	cr_assert(access(".git", F_OK) && !access("tests/fuzz", F_OK),
		  "'%s': tests run from the top of the tree", path);
	cr_skip_test("'%s' is not in an archive of the source", path);
	return NULL;
}

char *corpus_read(const char *folder, const char *name, size_t *size)
{
	char path[512], *text = NULL;
	FILE *file;
	long end;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	cr_assert(file && !fseek(file, 0, SEEK_END), "%s", path);
	end = ftell(file);
	cr_assert(end >= 0 && !fseek(file, 0, SEEK_SET), "%s", path);
	*size = (size_t)end;
	text = malloc(*size + 1);
	cr_assert(text && fread(text, 1, *size, file) == *size, "%s", path);
	text[*size] = '\0';
	fclose(file);
	return text;
}

struct corpus corpus_each(const char *path,
			  int (*run)(const uint8_t *data, size_t size))
{
	DIR *folder = corpus_open(path);
	struct corpus corpus = {0, 0};
	const struct dirent *entry;

	while ((entry = readdir(folder))) {
		size_t size;
		char *text;

		if (entry->d_name[0] == '.')
			continue;
		text = corpus_read(path, entry->d_name, &size);
		corpus.read += run((const uint8_t *)text, size) != 0;
		corpus.inputs++;
		free(text);
	}
	closedir(folder);
	return corpus;
}
