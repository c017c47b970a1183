/*
 * tools/matrix/bed/bodies.h - graphs with branches and loops, for their parts
 *
 *  record.c  recording a form in a capture
 *  bodies.c  capturing it as a whole, and dropping it
 *  follow.c  launching it, and what ran
 *
 * What decides about branches and loops are tapes in device memory, one for
 * each node: a word is read, then the tape moves on by one. What ran is in a
 * log in device memory: each pass that draws moves the log on and writes its
 * first entry. All of it is copies in stream order, so that it is the same on
 * every device, and nothing has to wait before the end of the run.
 */
#ifndef TOOLS_MATRIX_BED_BODIES_H
#define TOOLS_MATRIX_BED_BODIES_H

#include "tools/matrix/bed/bed.h"

/* One thing that was drawn. */
struct form_entry {
	uint32_t ran[2]; /* which pass and view, from 1; run of its body */
	uint32_t none[2];
	struct matrix_numbers numbers;
};

enum { FORM_TAGS = 1 + FORM_PASSES * (FORM_VIEWS + 2) };

/* The device memory of a graph. */
struct form_memory {
	uint32_t tape[FORM_TAPES][FORM_TAPE];
	uint32_t shorter[FORM_TAPE];          /* a tape on its way */
	uint32_t tag[FORM_TAGS];              /* 0, 1, 2, ... */
	struct form_entry log[FORM_SEEN + 1]; /* the last is first */
	struct form_entry longer[FORM_SEEN];  /* the log on its way */
};

/* The name in a log of a pass, or of a view of it. */
static inline uint32_t form_tag(unsigned pass, unsigned view)
{
	return 1 + pass * (FORM_VIEWS + 2) + view;
}

/* What is recorded, and the first call that failed. */
struct recorder {
	struct matrix_bed *bed;
	const struct matrix_event *event;
	const struct form *form;
	struct form_memory *memory;
	unsigned regions;                /* with passes in it, as bits */
	unsigned entries;                /* of the log, at most */
	struct philox_ticket tickets[2]; /* of its forwards */
	struct philox_ticket named;      /* of the last pass named at launch */
	int ends_body;  /* the call ends the capture of a body, among others */
	int ended_body; /* ... which is so for the one that failed */
	const char *what;
	enum philox_status status;
};

/* form_region() returns the region of a pass. */
unsigned form_region(const struct matrix_bed *bed,
		     const struct matrix_event *event,
		     const struct form_pass *pass);

/*
 * record_form() records the form of an event on its region's stream, which is
 * capturing. On failure it returns -1, with the call and its status in the
 * recorder; all passes and nodes have ended.
 */
void record_init(struct recorder *recorder, struct matrix_bed *bed,
		 const struct matrix_event *event, struct form_memory *memory);
int record_form(struct recorder *recorder);

/* bodies_need() captures the graph of an event unless that is done. */
struct bodied *bodies_need(struct matrix_bed *bed,
			   const struct matrix_event *event);

#endif
