/*
 * tests/probe/probe.c - asks the questions: see tests/probe/probe.h
 */
#include "tests/probe/probe.h"

#include <philox.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SECONDS = 30, /* for one question */
	NO_GPU = 77   /* exit status: as tests that are skipped have it */
};

static const struct question *const lists[] = {
	params_questions,  shape_questions,  overlap_questions,
	capture_questions, call_questions,   loading_questions,
	memory_questions,  object_questions, body_questions,
	shared_questions,
};

/* --- one question, in a process of its own -------------------------------- */

static const struct question *asked;

static void print_row(const char *seen, const char *verdict)
{
	printf("| %s | %s | %s | %s |\n", asked->key, asked->assumed, seen,
	       verdict);
	fflush(stdout);
}

/* The process ends here: what a driver does at its end is no part of it. */
void answer(enum verdict verdict, const char *seen, ...)
{
	static const char *const words[] = {"PASS", "DIFFERS", "INFO"};
	char text[2048];
	va_list arguments;

	va_start(arguments, seen);
	vsnprintf(text, sizeof(text), seen, arguments);
	va_end(arguments);
	print_row(text, words[verdict]);
	_exit(verdict == DIFFERS);
}

void must(const char *call, cudaError_t error)
{
	if (error != cudaSuccess)
		answer(DIFFERS, "could not be asked: `%s` returned %s", call,
		       cudaGetErrorName(error));
}

void must_philox(const char *call, int status)
{
	if (status != PHILOX_OK)
		answer(DIFFERS, "could not be asked: `%s` returned \"%s\"",
		       call, philox_error_message());
}

static void question_main(const struct question *question)
{
	alarm(SECONDS);
	asked = question;
	question->ask(question->which);
	answer(DIFFERS, "could not be asked: it has no answer");
}

/* A child's exit status; negative: the signal that ended it. */
static int run_child(void (*child)(const struct question *),
		     const struct question *question)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(question);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("gpu-probe");
		exit(1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A process that ends answers what nobody knows: nothing rests on it. */
static int is_open(const struct question *question)
{
	static const char begin[] = "nobody knows";

	return !strncmp(question->assumed, begin, sizeof(begin) - 1);
}

/* Returns 1 if the answer is not what was assumed. */
static int ask(const struct question *question)
{
	char seen[64];
	int status = run_child(question_main, question);

	if (status == 0 || status == 1)
		return status;
	asked = question;
	if (status == -SIGALRM)
		snprintf(seen, sizeof(seen), "no answer within %d s", SECONDS);
	else
		snprintf(seen, sizeof(seen),
			 "no answer: the process ended "
			 "with status %d",
			 status);
	print_row(seen, is_open(question) ? "INFO" : "DIFFERS");
	return !is_open(question);
}

/* --- all of them ---------------------------------------------------------- */

static void count_gpus(const struct question *question)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	(void)question;
	if (error == cudaSuccess && count > 0)
		_exit(0);
	fprintf(stderr, "gpu-probe: there is no GPU: cudaGetDeviceCount: %s\n",
		error == cudaSuccess ? "the driver shows none"
				     : cudaGetErrorString(error));
	_exit(NO_GPU);
}

/* No key chosen: all are. */
static int is_chosen(const char *key, int n, char *const chosen[])
{
	for (int i = 0; i < n; i++)
		if (strncmp(key, chosen[i], strlen(chosen[i])) == 0)
			return 1;
	return n == 0;
}

static int each(int (*call)(const struct question *), int n,
		char *const chosen[])
{
	int sum = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct question *q = lists[i]; q->key; q++)
			if (is_chosen(q->key, n, chosen))
				sum += call(q);
	return sum;
}

static int list_one(const struct question *question)
{
	return printf("%s\t%s\n", question->key, question->assumed) > 0;
}

static int one(const struct question *question)
{
	(void)question;
	return 1;
}

static int refuse_key(const char *key)
{
	fprintf(stderr,
		"gpu-probe: no question's key begins with '%s'; "
		"--list shows all\n",
		key);
	return 2;
}

int main(int argc, char **argv)
{
	int listing = argc > 1 && strcmp(argv[1], "--list") == 0;
	int n = argc - 1 - listing, status;
	char **chosen = argv + 1 + listing;

	for (int i = 0; i < n; i++)
		if (!each(one, 1, chosen + i))
			return refuse_key(chosen[i]);
	if (listing)
		return each(list_one, n, chosen) == 0;
	status = run_child(count_gpus, NULL);
	if (status != 0)
		return status > 0 ? status : 1;
	return each(ask, n, chosen) > 0;
}
