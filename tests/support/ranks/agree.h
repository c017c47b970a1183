/*
 * tests/support/ranks/agree.h - a layer whose calls are agreed on with others,
 * which a test plays
 */
#ifndef TESTS_SUPPORT_AGREE_BED_H
#define TESTS_SUPPORT_AGREE_BED_H

#include "tests/support/beds/runner_scene.h"

/*
 * The others ask with `others`, or with the n-th of `each` in the n-th question
 * from now on, as digits: the answer is the least of that and of what this
 * process asks with, or as it is with `raw`.
 */
struct team {
	struct layer layer; /* first: it is the function's user */
	uint32_t others;
	const char *each;
	unsigned spared;           /* questions that are answered well first */
	int raw;                   /* the answer is `others` */
	int silent;                /* no answer is written */
	enum philox_status fails;  /* agree() returns this */
	int says;                  /* ... with a message of philox's */
	char asked[1024];          /* digits: the questions since ASKED() */
	uint64_t launched, bodies; /* as they were at the last question */
	void (*hook)(struct team *team, uint32_t wanted);
};

/* Options of the team's function, COLLECTIVE. */
struct philox_function_desc team_options(const char *name, struct team *team);
/* A region and a function of that name; the others need no more care. */
/* ... whose input must not move. */
void make_fixed_team(struct team *team, struct fixture *f,
		     struct philox_runner *r, const char *name);
void make_team(struct team *team, struct fixture *f, struct philox_runner *r,
	       const char *name, const struct philox_policy *policy);

/* The questions so far, as digits of enum philox_call_kind; forgets them. */
#define ASKED(team, digits)                                                   \
	do {                                                                  \
		cr_assert(!strcmp((team)->asked, (digits)),                   \
			  "\"%s\" was asked, not \"%s\" (%s)", (team)->asked, \
			  (digits), philox_error_message());                  \
		(team)->asked[0] = '\0';                                      \
	} while (0)

/* A call of a kind, with these questions. */
#define AGREED(team, x, key, kind, digits)                \
	do {                                              \
		KIND(&(team)->layer, (x), (key), (kind)); \
		ASKED(team, digits);                      \
	} while (0)

#endif
