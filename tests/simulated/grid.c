/*
 * tests/simulated/grid.c - the threads of kernels, one at a time
 *
 * A fiber runs a thread of a kernel, and when that ends the next one that has
 * not begun: a kernel that never gives way needs one fiber. Its stack comes
 * from makecontext(), and _longjmp() resumes it, as swapcontext() makes two
 * system calls. At a barrier, a shuffle, a fence and at some memory accesses
 * the fiber yields to one that may go on, or to a thread that has not begun,
 * chosen at random, or to another kernel (gpu.c). Shared memory is a section of
 * the program; each block has an image of it, which is put in place when a
 * thread of the block goes on after one of another block. Its whole pages are
 * closed until the thread touches one, since most kernels have no shared memory
 * and a few have much. A fiber may go on in another thread of the host than it
 * began in. gpu.c runs one fiber at a time.
 */
#undef _FORTIFY_SOURCE /* longjmp() goes from stack to stack */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "tests/simulated/chance.h"
#include "tests/simulated/simulated.h"

#define WARP       32
#define STACK_SIZE ((size_t)192 << 10) /* parameters are up to 32 KiB */
#define MOST_LIVE  512 /* fibers of a kernel, unless all wait for others */
#define NEAR_ZERO  4096 /* no memory is below it */

/* Where threads wait; a place in the source must be the same for all. */
struct gate {
	const char *file; /* NULL: no thread waits */
	int line;
	unsigned waiting;
};

struct warp {
	struct gate shuffle;
	unsigned long long brought[WARP]; /* to a shuffle that is not full */
	unsigned long long given[WARP];   /* until the next one is full */
};

/* Blocks that run together. */
struct cluster {
	unsigned left; /* threads that have not ended */
	struct gate barrier;
};

struct block {
	unsigned left; /* threads that have not ended */
	struct gate barrier;
	struct warp *warps; /* NULL before the first shuffle */
	char *shared;
	int has_pages; /* the whole pages of `shared` have been written */
};

struct fiber {
	struct simulated_grid *grid;
	ucontext_t context; /* to begin with */
	jmp_buf here;       /* to go on */
	int begun;
	void *stack;
	unsigned block, thread;
	size_t place;       /* among the grid's */
	struct gate *gate;  /* where it waits, or NULL */
	struct fiber *next; /* of those that rest */
};

struct simulated_place simulated_thread, simulated_block;
struct simulated_place simulated_threads, simulated_blocks;

/* A launch in progress. */
struct simulated_grid {
	const struct simulated_launch *launch;
	struct block *blocks;
	struct cluster *clusters;
	unsigned *order; /* numbers of the threads, shuffled */
	size_t begun, all;
	struct fiber **fibers; /* with a thread; those that wait come last */
	size_t ready, live;
	int has_fault;
};

static struct fiber *resting; /* without a thread: kept for the next one */
static struct fiber *current; /* NULL: no fiber runs */
static struct block *loaded;  /* whose shared memory is in place, or NULL */
static int is_open;           /* ... with its whole pages */
static size_t budget;         /* how often the current piece gives way */
static pthread_t runner;      /* the thread in which `current` runs */
static jmp_buf scheduler;
unsigned simulated_accesses = 1;

static struct simulated_kernel *kernels;
static struct chance chance;

/* The section of all __shared__ variables; weak, as there may be none. */
extern char __start_simulated_shared[] __attribute__((weak));
extern char __stop_simulated_shared[] __attribute__((weak));

static size_t shared_size(void)
{
	return (size_t)(__stop_simulated_shared - __start_simulated_shared);
}

static _Noreturn void die(const char *what, const char *file, int line)
{
	fprintf(stderr, "simulated GPU: block %u, thread %u, %s:%d: %s\n",
		simulated_block.x, simulated_thread.x, file, line, what);
	abort();
}

static void *need(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "simulated GPU: out of memory\n");
	abort();
}

static size_t random_below(size_t n)
{
	return chance_below(&chance, 2, n);
}

/* --- kernels -------------------------------------------------------------- */

void simulated_register(struct simulated_kernel *kernel)
{
	kernel->next = kernels;
	kernels = kernel;
}

struct simulated_kernel *simulated_find(const void *function)
{
	struct simulated_kernel *kernel = kernels;

	while (kernel && kernel->function != function)
		kernel = kernel->next;
	return kernel;
}

size_t simulated_largest_with(const struct simulated_kernel *kernel)
{
	const struct simulated_kernel *other;
	size_t largest = kernel->size;

	for (other = kernels; other; other = other->next)
		if (!strcmp(other->module, kernel->module) &&
		    other->size > largest)
			largest = other->size;
	return largest;
}

/* --- fibers --------------------------------------------------------------- */

static void put_at(struct fiber *fiber, size_t place)
{
	struct fiber **fibers = fiber->grid->fibers;
	struct fiber *other = fibers[place];

	fibers[fiber->place] = other;
	other->place = fiber->place;
	fibers[place] = fiber;
	fiber->place = place;
}

static void let_wait(struct fiber *fiber, struct gate *gate)
{
	fiber->gate = gate;
	gate->waiting++;
	put_at(fiber, --fiber->grid->ready);
}

static void open_gate(struct simulated_grid *grid, struct gate *gate)
{
	for (size_t i = grid->ready; i < grid->live; i++)
		if (grid->fibers[i]->gate == gate) {
			grid->fibers[i]->gate = NULL;
			put_at(grid->fibers[i], grid->ready++);
		}
	gate->file = NULL;
	gate->waiting = 0;
}

static struct block *block_of(const struct fiber *fiber)
{
	return &fiber->grid->blocks[fiber->block];
}

static struct cluster *cluster_of(const struct fiber *fiber)
{
	const unsigned size = fiber->grid->launch->cluster;

	return &fiber->grid->clusters[fiber->block / size];
}

/* --- shared memory -------------------------------------------------------- */

/* The whole pages of the section: where they begin in it, and their size. */
static size_t pages_at, pages_size;

/* Of what is outside of whole pages: from the section, or to it. */
static void copy_edges(char *to, const char *from)
{
	const size_t end = pages_at + pages_size;

	memcpy(to, from, pages_at);
	memcpy(to + end, from + end, shared_size() - end);
}

static void set_open(int open)
{
	if (pages_size &&
	    mprotect(__start_simulated_shared + pages_at, pages_size,
		     open ? PROT_READ | PROT_WRITE : PROT_NONE))
		die("mprotect", __FILE__, __LINE__);
	is_open = open;
}

/*
 * [lost-fault] An access at or near address 0 ends the kernel: its threads are
 * left where they are.
 */
static void end_kernel_at(const void *address)
{
	if (!current || !pthread_equal(pthread_self(), runner) ||
	    (uintptr_t)address >= NEAR_ZERO)
		return;
	current->grid->has_fault = 1;
	_longjmp(scheduler, 1);
}

/* Opens the pages for the block that touches them; other faults are as ever. */
static void fault(int number, siginfo_t *info, void *context)
{
	const uintptr_t pages = (uintptr_t)__start_simulated_shared + pages_at;
	char *to = __start_simulated_shared + pages_at;

	(void)context;
	end_kernel_at(info->si_addr);
	if (is_open || !loaded ||
	    (uintptr_t)info->si_addr - pages >= pages_size) {
		signal(number, SIG_DFL);
		return;
	}
	set_open(1);
	if (loaded->has_pages)
		memcpy(to, loaded->shared + pages_at, pages_size);
	else
		memset(to, 0xee, pages_size);
}

static void find_pages(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = (uintptr_t)__start_simulated_shared;
	const uintptr_t first = (start + page - 1) / page * page;
	const uintptr_t end = (uintptr_t)__stop_simulated_shared / page * page;
	struct sigaction action = {.sa_sigaction = fault,
				   .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &action, NULL);
	if (first >= end)
		return;
	pages_at = first - start;
	pages_size = end - first;
	set_open(0);
}

static void make_shared(struct block *block)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_pages);
	block->shared = need(malloc(shared_size() + 1));
	memset(block->shared, 0xee, pages_at);
	memset(block->shared + pages_at + pages_size, 0xee,
	       shared_size() - pages_at - pages_size);
}

static void load_shared(struct block *block)
{
	if (loaded == block)
		return;
	if (loaded)
		copy_edges(loaded->shared, __start_simulated_shared);
	if (loaded && is_open) {
		memcpy(loaded->shared + pages_at,
		       __start_simulated_shared + pages_at, pages_size);
		loaded->has_pages = 1;
	}
	if (is_open)
		set_open(0);
	copy_edges(__start_simulated_shared, block->shared);
	loaded = block;
}

/* --- threads -------------------------------------------------------------- */

static void enter(struct fiber *fiber)
{
	const struct simulated_launch *launch = fiber->grid->launch;

	load_shared(block_of(fiber));
	current = fiber;
	simulated_blocks = (struct simulated_place){launch->blocks, 1, 1};
	simulated_threads = (struct simulated_place){launch->threads, 1, 1};
	simulated_block.x = fiber->block;
	simulated_thread.x = fiber->thread;
}

static void begin_thread(struct simulated_grid *grid, struct fiber *fiber)
{
	unsigned number = grid->order[grid->begun++];

	fiber->grid = grid;
	fiber->block = number / grid->launch->threads;
	fiber->thread = number % grid->launch->threads;
	fiber->place = grid->live;
	grid->fibers[grid->live++] = fiber;
	put_at(fiber, grid->ready++);
	enter(fiber);
}

static void end_thread(struct fiber *fiber)
{
	struct simulated_grid *grid = fiber->grid;
	struct block *block = block_of(fiber);
	struct cluster *cluster = cluster_of(fiber);

	put_at(fiber, --grid->ready);
	put_at(fiber, --grid->live);
	block->left--;
	cluster->left--;
	if (block->barrier.file && block->barrier.waiting == block->left)
		open_gate(grid, &block->barrier);
	if (cluster->barrier.file && cluster->barrier.waiting == cluster->left)
		open_gate(grid, &cluster->barrier);
}

static void give_way(struct fiber *self)
{
	if (!_setjmp(self->here))
		_longjmp(scheduler, 1);
}

/* Runs threads one after the other, as long as no fiber may go on. */
static void run_fiber(void)
{
	struct fiber *self = current;

	for (;;) {
		struct simulated_grid *grid = self->grid;

		grid->launch->kernel->thread(grid->launch + 1);
		end_thread(self);
		if (budget && !grid->ready && grid->begun < grid->all) {
			budget--;
			begin_thread(grid, self);
			continue;
		}
		self->next = resting;
		resting = self;
		give_way(self);
	}
}

static struct fiber *make_fiber(void)
{
	struct fiber *fiber = need(calloc(1, sizeof(*fiber)));

	fiber->stack = need(malloc(STACK_SIZE));
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&fiber->context, run_fiber, 0);
	return fiber;
}

#define TRIES 8

/*
 * The number of a fiber that may go on, or one more. It is seldom of another
 * block of the same cluster: each such switch moves all shared memory.
 */
static size_t choose_number(const struct simulated_grid *grid, int may_begin)
{
	const size_t all = grid->ready + may_begin;
	size_t chosen = random_below(all);

	for (int i = 1; i < TRIES && grid->launch->cluster > 1; i++) {
		if (chosen == grid->ready ||
		    block_of(grid->fibers[chosen]) == loaded)
			break;
		chosen = random_below(all);
	}
	return chosen;
}

/* A fiber that may go on, or one with a new thread. */
static struct fiber *choose(struct simulated_grid *grid)
{
	int may_begin = grid->begun < grid->all &&
			(grid->live < MOST_LIVE || !grid->ready);
	size_t chosen = choose_number(grid, may_begin);
	struct fiber *fiber = resting;

	if (chosen < grid->ready) {
		enter(grid->fibers[chosen]);
		return grid->fibers[chosen];
	}
	if (fiber)
		resting = fiber->next;
	else
		fiber = make_fiber();
	begin_thread(grid, fiber);
	return fiber;
}

static void go_on(struct fiber *fiber)
{
	if (_setjmp(scheduler))
		return;
	if (fiber->begun)
		_longjmp(fiber->here, 1);
	fiber->begun = 1;
	setcontext(&fiber->context);
}

/* --- launches ------------------------------------------------------------- */

static void shuffle_order(struct simulated_grid *grid)
{
	for (size_t i = 0; i < grid->all; i++)
		grid->order[i] = (unsigned)i;
	for (size_t i = grid->all; i > 1; i--) {
		size_t j = random_below(i);
		unsigned number = grid->order[j];

		grid->order[j] = grid->order[i - 1];
		grid->order[i - 1] = number;
	}
}

static void make_block(struct block *block, unsigned threads)
{
	block->left = threads;
	/* Not yet written: it may hold anything */
	make_shared(block);
}

struct simulated_grid *simulated_begin(const void *pointer)
{
	const struct simulated_launch *launch = pointer;
	struct simulated_grid *grid = need(calloc(1, sizeof(*grid)));

	grid->launch = launch;
	grid->all = (size_t)launch->blocks * launch->threads;
	grid->order = need(malloc(grid->all * sizeof(*grid->order)));
	grid->fibers = need(calloc(grid->all, sizeof(struct fiber *)));
	grid->blocks = need(calloc(launch->blocks, sizeof(*grid->blocks)));
	grid->clusters = need(calloc(launch->blocks / launch->cluster,
				     sizeof(*grid->clusters)));
	for (unsigned i = 0; i < launch->blocks; i++)
		make_block(&grid->blocks[i], launch->threads);
	for (unsigned i = 0; i < launch->blocks / launch->cluster; i++)
		grid->clusters[i].left = launch->cluster * launch->threads;
	shuffle_order(grid);
	return grid;
}

void simulated_drop(struct simulated_grid *grid)
{
	for (unsigned i = 0; i < grid->launch->blocks; i++) {
		if (loaded == &grid->blocks[i])
			loaded = NULL;
		free(grid->blocks[i].shared);
		free(grid->blocks[i].warps);
	}
	free(grid->blocks);
	free(grid->clusters);
	free(grid->fibers);
	free(grid->order);
	free(grid);
}

int simulated_advance(struct simulated_grid *grid, size_t pieces)
{
	runner = pthread_self();
	for (budget = pieces; grid->ready || grid->begun < grid->all;) {
		if (!budget)
			return 0;
		budget--;
		go_on(choose(grid));
		current = NULL;
		if (grid->has_fault)
			return -1;
	}
	if (grid->live) {
		enter(grid->fibers[0]);
		die("not all threads come to where this one waits",
		    grid->fibers[0]->gate->file, grid->fibers[0]->gate->line);
	}
	simulated_drop(grid);
	return 1;
}

/*
 * --- functions for device code -----------------------------------------------
 */

/*
 * All threads that pass a gate together must do so at one place in the source.
 */
static void come_to(struct gate *gate, const char *file, int line)
{
	if (gate->file && (gate->line != line || strcmp(gate->file, file) != 0))
		die("threads of one block, or warp, wait at different places",
		    file, line);
	gate->file = file;
	gate->line = line;
}

void simulated_barrier(const char *file, int line)
{
	struct fiber *self = current;
	struct block *block = block_of(self);

	come_to(&block->barrier, file, line);
	let_wait(self, &block->barrier);
	if (block->barrier.waiting == block->left)
		open_gate(self->grid, &block->barrier);
	give_way(self);
}

void simulated_cluster_barrier(const char *file, int line)
{
	struct fiber *self = current;
	struct cluster *cluster = cluster_of(self);

	come_to(&cluster->barrier, file, line);
	let_wait(self, &cluster->barrier);
	if (cluster->barrier.waiting == cluster->left)
		open_gate(self->grid, &cluster->barrier);
	give_way(self);
}

unsigned simulated_cluster_size(void)
{
	return current->grid->launch->cluster;
}

unsigned simulated_cluster_rank(void)
{
	return current->block % simulated_cluster_size();
}

/*
 * Of another block it is in the image: that is not in place as long as this
 * thread runs. A block that has ended has none. [cluster-shared]
 */
void *simulated_shared_of(const void *mine, unsigned rank)
{
	const unsigned size = simulated_cluster_size();
	struct block *block = block_of(current) - current->block % size + rank;
	const size_t at =
		(size_t)((const char *)mine - __start_simulated_shared);

	if (rank >= size || at >= shared_size())
		die("no shared memory of the cluster", __FILE__, __LINE__);
	if (!block->left)
		die("shared memory of a block that has ended", __FILE__,
		    __LINE__);
	if (block == block_of(current))
		return (void *)mine;
	if (!block->has_pages)
		memset(block->shared + pages_at, 0xee, pages_size);
	block->has_pages = 1;
	return block->shared + at;
}

void simulated_fence(void)
{
	give_way(current);
}

/*
 * [switch-at-access] How many accesses go by until the next switch: often few,
 * at times some thousands. Each second one is to any kernel, as what this thread
 * was about to do may be what others must not come between. Code of the host
 * does not switch.
 */
void simulated_switch(void)
{
	simulated_accesses =
		1 + (unsigned)random_below((size_t)1 << random_below(12));
	if (!current || !pthread_equal(pthread_self(), runner))
		return;
	if (random_below(2))
		budget = 0;
	give_way(current);
}

unsigned long long simulated_shuffle(unsigned mask, unsigned long long value,
				     unsigned apart, const char *file, int line)
{
	struct fiber *self = current;
	struct block *block = block_of(self);
	unsigned warps = self->grid->launch->threads / WARP;
	unsigned lane = self->thread % WARP;
	struct warp *warp;

	if (mask != 0xffffffffu || apart >= WARP ||
	    self->thread / WARP >= warps)
		die("a shuffle of less than a warp", file, line);
	if (!block->warps)
		block->warps = need(calloc(warps, sizeof(*block->warps)));
	warp = &block->warps[self->thread / WARP];
	come_to(&warp->shuffle, file, line);
	warp->brought[lane] = value;
	let_wait(self, &warp->shuffle);
	if (warp->shuffle.waiting == WARP) {
		memcpy(warp->given, warp->brought, sizeof(warp->given));
		open_gate(self->grid, &warp->shuffle);
	}
	give_way(self);
	return warp->given[lane ^ apart];
}
