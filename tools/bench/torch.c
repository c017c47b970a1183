/*
 * tools/bench/torch.c - a Python process with PyTorch in it, as a peer
 *
 * It runs the script pytorch.py, which is in the folder of the other peers. It
 * is a separate process, so that this one needs no Python; the two share a GPU
 * and use it in turns. Questions and answers are lines on a pair of sockets.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/bench/fills/fills.h"

#define PATIENCE     300 /* seconds for an answer: torch may load slowly */
#define PATIENCE_END 10  /* seconds until it is ended */

extern char **environ;

struct torch {
	pid_t process;
	FILE *answers;
};

static int torch_fails(char note[RACE_NOTE_MAX], const char *what)
{
	snprintf(note, RACE_NOTE_MAX, "%.*s", RACE_NOTE_MAX - 1, what);
	return -1;
}

/* --- questions and answers ------------------------------------------------ */

static int set_patience(struct torch *torch, int seconds)
{
	struct timeval patience = {.tv_sec = seconds};

	return setsockopt(fileno(torch->answers), SOL_SOCKET, SO_RCVTIMEO,
			  &patience, sizeof(patience));
}

/* The rest of the next line if it is ok; -1 and a note if it is an error. */
static int read_answer(struct torch *torch, char *rest, size_t size,
		       char note[RACE_NOTE_MAX])
{
	char line[1024];

	errno = 0;
	while (fgets(line, sizeof(line), torch->answers)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "error ", 6))
			return torch_fails(note, line + 6);
		if (strncmp(line, "ok ", 3))
			continue;
		snprintf(rest, size, "%.*s", (int)size - 1, line + 3);
		return 0;
	}
	return torch_fails(note, errno == EAGAIN ? "Python does not answer"
						 : "Python has ended");
}

int torch_ask(struct torch *torch, const char *line, struct race_time *time,
	      char note[RACE_NOTE_MAX])
{
	char question[160], answer[160];
	int length = snprintf(question, sizeof(question), "%s\n", line);

	if (send(fileno(torch->answers), question, (size_t)length,
		 MSG_NOSIGNAL) != length)
		return torch_fails(note, "Python has ended");
	if (read_answer(torch, answer, sizeof(answer), note))
		return -1;
	if (sscanf(answer, "%lf %lf", &time->call, &time->whole) != 2)
		return torch_fails(note, "an answer that is not a time");
	return 0;
}

/* --- the process ---------------------------------------------------------- */

/* Starts it with one end of the pair as its standard input and output. */
static int start_python(struct torch *torch, char *script, char *device,
			char *threads, int end)
{
	char *python = getenv("PHILOX_PYTHON");
	char *arguments[] = {python ? python : "python3", script, device,
			     threads, NULL};
	posix_spawn_file_actions_t actions;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, end, 0);
	posix_spawn_file_actions_adddup2(&actions, end, 1);
	error = posix_spawnp(&torch->process, arguments[0], &actions, NULL,
			     arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* PyTorch's name for a device. */
static void name_device(struct philox_device *device, char *text, size_t size)
{
	const char *name = philox_device_name(device);

	if (philox_device_is_host(device))
		snprintf(text, size, "cpu");
	else
		snprintf(text, size, "cuda%s",
			 strchr(name, ':') ? strchr(name, ':') : ":0");
}

static int open_pair(struct torch *torch, struct philox_device *device,
		     unsigned threads, char note[RACE_NOTE_MAX])
{
	char script[PATH_MAX], name[32], count[16];
	int ends[2], error;

	peer_path("pytorch.py", script, sizeof(script));
	if (access(script, R_OK)) {
		snprintf(note, RACE_NOTE_MAX, "no %.*s", RACE_NOTE_MAX - 4,
			 script);
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return torch_fails(note, strerror(errno));
	name_device(device, name, sizeof(name));
	snprintf(count, sizeof(count), "%u", threads);
	error = start_python(torch, script, name, count, ends[1]);
	close(ends[1]);
	torch->answers = error ? NULL : fdopen(ends[0], "r");
	if (torch->answers)
		return set_patience(torch, PATIENCE);
	close(ends[0]);
	snprintf(note, RACE_NOTE_MAX, "no Python: %s", strerror(error));
	return -1;
}

struct torch *torch_open(struct philox_device *device, unsigned threads,
			 char note[RACE_NOTE_MAX])
{
	struct torch *torch = calloc(1, sizeof(*torch));
	char version[RACE_NOTE_MAX];

	if (!torch) {
		torch_fails(note, "out of memory");
		return NULL;
	}
	if (open_pair(torch, device, threads, note)) {
		free(torch);
		return NULL;
	}
	if (read_answer(torch, version, sizeof(version), note)) {
		torch_close(torch);
		return NULL;
	}
	memcpy(note, version, RACE_NOTE_MAX);
	return torch;
}

/* Without its input it ends by itself; the wait for it has a limit. */
void torch_close(struct torch *torch)
{
	int status;

	if (!torch)
		return;
	shutdown(fileno(torch->answers), SHUT_WR);
	set_patience(torch, PATIENCE_END);
	while (getc(torch->answers) != EOF)
		;
	fclose(torch->answers);
	if (waitpid(torch->process, &status, WNOHANG) == 0) {
		kill(torch->process, SIGTERM);
		waitpid(torch->process, &status, 0);
	}
	free(torch);
}

/* --- the peer of fills ---------------------------------------------------- */

static int torch_has(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	switch (of->kind->dist) {
	case PHILOX_DIST_UNIFORM:
	case PHILOX_DIST_NORMAL:
	case PHILOX_DIST_LOG_NORMAL:
	case PHILOX_DIST_EXPONENTIAL:
	case PHILOX_DIST_BERNOULLI:
	case PHILOX_DIST_DROPOUT:
		return 1;
	case PHILOX_DIST_INTEGERS:
		return of->kind->dtype == PHILOX_DTYPE_I32 ||
		       of->kind->dtype == PHILOX_DTYPE_I64;
	default:
		return 0;
	}
}

static int open_torch(struct fill_peer *peer, const struct fill_bench *of,
		      char note[RACE_NOTE_MAX])
{
	peer->state = torch_open(of->bench->device, of->bench->threads, note);
	return peer->state ? 0 : -1;
}

static int fill_by_torch(const struct fill_peer *peer,
			 const struct fill_bench *of, int times,
			 struct race_time *time, char note[RACE_NOTE_MAX])
{
	char line[128];

	snprintf(line, sizeof(line), "fill %s %s %zu %d", of->kind->dist_name,
		 of->kind->dtype_name, of->bytes, times);
	return torch_ask(peer->state, line, time, note);
}

static void close_torch(struct fill_peer *peer)
{
	torch_close(peer->state);
}

struct fill_peer fill_torch = {.name = "torch",
			       .has = torch_has,
			       .open = open_torch,
			       .run = fill_by_torch,
			       .close = close_torch};
