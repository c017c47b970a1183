/*
 * tools/bench/growth/growth.h - things of which a program may have very many
 *
 * What is done with n of them is told once: `philox bench --growth` measures its
 * time, tests/growth counts its steps.
 */
#ifndef TOOLS_BENCH_GROWTH_GROWTH_H
#define TOOLS_BENCH_GROWTH_GROWTH_H

#include <stddef.h>
#include <philox.h>

/* What the phases of one kind of thing work on. All but the first are its own. */
struct growth_bed {
	struct philox_device *device;
	struct philox_context *context;
	philox_stream stream;
	size_t n;
	size_t *order; /* the numbers below n, shuffled */
	void **things; /* n */
	void **others; /* n */
	struct philox_ticket *tickets; /* n */
	uint64_t *ids;                 /* n */
	struct philox_region *region;
	struct philox_pool *pool;
	struct philox_runner *runner;
	char *text;
	size_t bytes;
};

/* One thing is done n times, or with n things. */
struct growth_phase {
	const char *name;
	enum philox_status (*run)(struct growth_bed *bed);
};

#define GROWTH_PHASES_MAX 8

struct growth_kind {
	const char *name; /* of many: "regions" */
	size_t most;      /* as many are wanted to work */
	/* In order; what is made is gone after the last. Ended by a NULL name. */
	struct growth_phase phases[GROWTH_PHASES_MAX + 1];
};

/* Lists, each ended by a NULL name. */
extern const struct growth_kind growth_states[];
extern const struct growth_kind growth_graphs[];
extern const struct growth_kind growth_pools[];
extern const struct growth_kind growth_runners[];
/* All of them, ended by NULL. */
extern const struct growth_kind *const growth_lists[];

/* Who is told of each phase of a run. */
struct growth_watch {
	void *user;
	void (*begin)(void *user);
	void (*end)(void *user, const struct growth_phase *phase);
};

/*
 * growth_run() runs the phases of a kind with n things, in a context and on a
 * stream of their own. What failed is in philox_error_message().
 */
enum philox_status growth_run(const struct growth_kind *kind,
			      struct philox_device *device, size_t n,
			      const struct growth_watch *watch);

/* growth_region() makes a region with one operator, for so many forwards. */
enum philox_status growth_region(struct growth_bed *bed, const char *name,
				 size_t pending, struct philox_generator *of,
				 struct philox_region **region);

/* growth_name() writes a name with a number: it stays until the next one. */
const char *growth_name(const char *word, size_t number);

/* growth_each() does one thing for 0 .. n - 1, until one fails. */
enum philox_status growth_each(struct growth_bed *bed,
			       enum philox_status (*one)(struct growth_bed *bed,
							 size_t i));

/* growth_save() and growth_load() of the context, to text and from that. */
enum philox_status growth_save(struct growth_bed *bed);
enum philox_status growth_load(struct growth_bed *bed);

#endif
