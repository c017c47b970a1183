/*
 * tests/simulated/asked/asked.c - a GPU that others use too, or that is lost,
 * on the simulated one
 *
 * The questions of tests/probe/shared.c, each in a process of its own. Real GPUs
 * are asked them by tests/probe/probe.c. A line for each: its key, what was
 * seen, and whether that is what is assumed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <philox/status.h>
#include "tests/probe/probe.h"

enum { SECONDS = 120 }; /* for one question */

/* --- answers: tests/probe/probe.h ----------------------------------------- */

static const struct question *asked;

void answer(enum verdict verdict, const char *seen, ...)
{
	static const char *const words[] = {"PASS", "DIFFERS", "INFO"};
	va_list arguments;

	printf("%s: ", asked->key);
	va_start(arguments, seen);
	vprintf(seen, arguments);
	va_end(arguments);
	printf(": %s\n", words[verdict]);
	fflush(stdout);
	_exit(verdict == DIFFERS);
}

void must(const char *call, cudaError_t error)
{
	if (error != cudaSuccess)
		answer(DIFFERS, "%s: %s", call, cudaGetErrorString(error));
}

void must_philox(const char *call, int status)
{
	if (status != PHILOX_OK)
		answer(DIFFERS, "%s: %s", call, philox_error_message());
}

/* --- one question after the other ----------------------------------------- */

static int ask(const struct question *question)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(SECONDS);
		asked = question;
		question->ask(question->which);
		answer(DIFFERS, "no answer");
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		printf("FAILED  %s: status %x\n", question->key, status);
		return 1;
	}
	return 0;
}

int main(void)
{
	int failed = 0;

	for (const struct question *q = shared_questions; q->key; q++)
		failed += ask(q);
	return failed != 0;
}
