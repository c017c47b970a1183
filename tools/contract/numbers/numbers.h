/*
 * tools/contract/numbers/numbers.h - scripts of calls that run on two devices
 *
 * A script of calls on a table of rows runs twice, on its own host device as
 * the reference and on the device under test; the bytes that it reads back are
 * compared.
 */
#ifndef TOOLS_CONTRACT_NUMBERS_NUMBERS_H
#define TOOLS_CONTRACT_NUMBERS_NUMBERS_H

#include "tools/contract/contract.h"

enum { SITE_ROWS = 64, SITE_MEMORY_MAX = 32 };

/* One device with a table of SITE_ROWS rows, and the bytes read back from it. */
struct site {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	philox_stream stream;
	void *memory[SITE_MEMORY_MAX];
	size_t n_memory;
	unsigned char *log;
	size_t size;
};

typedef void (*site_script)(struct contract *c, struct site *site);

/* Puts work on the site's stream. */
typedef enum philox_status site_put(struct site *site, const void *work);

/* site_compare() runs a script on both devices and compares. */
void site_compare(struct contract *c, site_script run);

/*
 * site_word() returns word number i of a sequence, the same everywhere;
 * site_below() the same modulo n.
 */
uint32_t site_word(uint64_t seed, uint64_t i);
uint32_t site_below(uint64_t seed, uint64_t i, uint32_t n);

/*
 * These make an array of `size` bytes on the device, which is freed after the
 * script: of 0xee, or filled from the host.
 */
void site_allocate(struct contract *c, struct site *site, size_t size,
		   void **memory);
void site_upload(struct contract *c, struct site *site, const void *from,
		 size_t size, void **memory);

/* These read back an array, or all rows and what they report. */
void site_note_memory(struct contract *c, struct site *site, const void *memory,
		      size_t size);
void site_note_states(struct contract *c, struct site *site);

/* Steps and counts for n entries; a few are past the end of any row. */
void site_make_steps(struct contract *c, struct site *site, uint32_t n,
		     uint32_t **steps, uint32_t **counts);

/*
 * site_replay() puts work on the stream many times without a wait: as a graph
 * on the device under test, eagerly on the reference. The graph has one node for
 * each of the calls that `put` makes.
 */
void site_replay(struct contract *c, struct site *site, site_put *put,
		 const void *work, size_t calls);

/*
 * site_run_loop() launches a graph of a WHILE several times on the device under
 * test. Each run puts `each`, and those which the launch picks put `some` in the
 * body of an IF; on the reference all of it is put eagerly, call by call. Before
 * a launch, `change` may change what the work reads; after it `note` reads back.
 */
struct site_loop {
	site_put *each, *some;
	void (*change)(struct contract *c, struct site *site, const void *work,
		       uint32_t launch); /* NULL: nothing */
	void (*note)(struct contract *c, struct site *site, const void *work);
	const void *work;
};
void site_run_loop(struct contract *c, struct site *site,
		   const struct site_loop *loop);

#endif
