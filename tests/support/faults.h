/*
 * tests/support/faults.h - one system call of a job that fails, or kills it
 *
 * The job runs in a child, which this process traces: nothing of the library
 * or of the C library is replaced, so no call escapes.
 */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

enum fault {
	FAULT_NONE,
	FAULT_ERROR,     /* the call is not made, and gives `error` */
	FAULT_INTERRUPT, /* likewise, EINTR */
	FAULT_NOTHING,   /* from then on each write() takes nothing: 0 */
	FAULT_KILL,      /* the job is killed before the call is made */
	FAULT_SIGNAL     /* SIGINT comes before the call is made */
};

enum { FAULTS = FAULT_SIGNAL + 1 };

struct fault_run {
	enum fault fault;
	unsigned at;        /* which call it is, from 0 */
	int error;          /* of FAULT_ERROR; 0: EIO */
	long number;        /* of the call; -1: the job has made fewer */
	int skipped;        /* it is one that does not fail in this way */
	int killed;         /* the job did not end by itself */
	int result;         /* what the job has returned */
	char message[1024]; /* philox_error_message() then */
};

/* faults_possible() tells whether children can be traced here. */
int faults_possible(void);

/*
 * faults_try() runs a job in a child. Of its calls those count that it makes
 * between faults_begin() and faults_end().
 */
void faults_try(int (*job)(const void *user), const void *user,
		struct fault_run *run);
void faults_begin(void);
void faults_end(void);

/* faults_name() says which fault it was, for messages. */
const char *faults_name(const struct fault_run *run);

#endif
