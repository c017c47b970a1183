/*
 * tests/support/loops.h - branches and loops whose conditions come from a tape,
 * and a log of what their bodies drew
 *
 * Each question takes the next word of a tape in device memory, whatever asks
 * it: an IF or SWITCH once, a WHILE before its first run and after each. So one
 * tape says what several launches do that are queued behind each other. All is
 * done by copies, as any device can in a body.
 */
#ifndef TESTS_SUPPORT_LOOPS_H
#define TESTS_SUPPORT_LOOPS_H

#include "tests/support/support.h"

enum { TAPE = 96, LOG = 64 };

/* Device memory: the word taken last, then those to come. */
struct tape {
	uint32_t *word;
};

struct tape make_tape(struct fixture *f);
/* The words to come, zeros after them; waits for the stream. */
void set_tape(struct fixture *f, struct tape tape, const uint32_t *words,
	      size_t n);
/* What the next launches of one WHILE do: so many runs in each. */
void set_counts(struct fixture *f, struct tape tape, const unsigned *counts,
		size_t n);
/* Records that the next word is taken. */
void take_word(struct fixture *f, philox_stream stream, struct tape tape);

/* Numbers in the order in which they were drawn; the last LOG of them. */
struct log {
	struct numbers *device; /* the latest first */
	struct numbers run[LOG];
	unsigned n;
};

void make_log(struct fixture *f, struct log *log);
void clear_log(struct fixture *f, struct log *log);
/* Records that a pass draws the next numbers. */
void draw_to_log(struct fixture *f, const struct philox_pass *pass,
		 struct log *log);
/* Records a copy of memory of at most a struct numbers as the next entry. */
void copy_to_log(struct fixture *f, philox_stream stream, struct log *log,
		 const void *from, size_t size);
void read_log(struct fixture *f, struct log *log);

/* An entry, and the number of them, as they must be. */
#define LOGGED(log, i, expected)                                               \
	do {                                                                   \
		unsigned entry_ = (unsigned)(i);                               \
                                                                               \
		cr_assert_lt(entry_, (log)->n, "entry %u of %u in %s", entry_, \
			     (log)->n, #log);                                  \
		SAME((log)->run[entry_], expected, "entry %u of %s", entry_,   \
		     #log);                                                    \
	} while (0)
#define LOGGED_IN_ALL(log, expected)                             \
	cr_assert_eq((log)->n, (unsigned)(expected),             \
		     "%u entries in %s, not %u", (log)->n, #log, \
		     (unsigned)(expected))
#define POISON_LOGGED(log, i)                                                  \
	do {                                                                   \
		cr_assert_lt((unsigned)(i), (log)->n);                         \
		cr_assert(all_poison(&(log)->run[i]),                          \
			  "entry %u of %s is no poison", (unsigned)(i), #log); \
	} while (0)

/* A node whose condition is a tape's next word. */
void begin_node(struct fixture *f, philox_stream stream,
		enum philox_conditional_kind kind, uint32_t bodies,
		uint32_t limit, struct tape tape,
		struct philox_conditional *node);
/* A WHILE with its body on `inner`, until end_while(), which asks again. */
void begin_while(struct fixture *f, philox_stream stream, philox_stream inner,
		 uint32_t limit, struct tape tape,
		 struct philox_conditional *node);
void end_while(struct fixture *f, philox_stream inner, struct tape tape,
	       struct philox_conditional *node);
/* The end of a WHILE whose condition the caller's own kernels set. */
void end_while_own(struct fixture *f, philox_stream inner, struct tape tape,
		   struct philox_conditional *node);
/* An IF of one body. */
void begin_if(struct fixture *f, philox_stream stream, philox_stream inner,
	      struct tape tape, struct philox_conditional *node);

/* Passes in bodies; they draw to a log. */
struct philox_ticket forward_in(struct fixture *f, struct philox_region *region,
				philox_stream stream, struct log *log);
void backward_in(struct fixture *f, struct philox_region *region,
		 struct philox_ticket ticket, philox_stream stream,
		 unsigned flags, struct log *log);

/* Graphs of one WHILE, on f->side, with one pass in it. */
struct philox_graph *record_while(struct fixture *f,
				  struct philox_region *region, uint32_t limit,
				  struct tape tape, struct log *log);
struct philox_graph *record_while_backward(struct fixture *f,
					   struct philox_region *region,
					   uint32_t limit, struct tape tape,
					   struct log *log);

/* Launches a graph of one use, and returns that. */
struct philox_launch_pass launch_one(struct fixture *f,
				     struct philox_graph *graph);

/* An eager backward at one iteration of a ticket; the ticket is kept. */
struct numbers iteration_of(struct fixture *f, struct philox_region *region,
			    struct philox_ticket ticket, uint32_t iteration);

/* The stream is capturing nothing. */
void runs(struct fixture *f, philox_stream stream);
/* philox_context_check() reports so many things beyond limits, once. */
void beyond_limits(struct fixture *f, uint64_t count);
/* ... so many loops that ended at their limits while they wanted to go on */
void loops_cut(struct fixture *f, uint64_t count);
/* ... nothing */
void nothing_wrong(struct fixture *f);

/* A region of SITES sites whose operators advance by different words. */
enum { WIDE_ADVANCE = 12, WIDE_SUM = 8 + 2 * 4 + 12 };
struct philox_region *make_wide(struct fixture *f, const char *name,
				uint32_t flags);
/* What a forward of such a SHARED region draws from a state. */
struct numbers predict_shared(struct philox_state state);

#endif
