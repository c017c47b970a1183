/*
 * tools/bench/torch.c - a Python process with PyTorch in it, as a peer
 *
 * The script is part of this program and handed over on the command line of
 * Python. It is a process of its own, so that this one needs no Python; a GPU
 * then belongs to both, and they work on it in turns. Questions and answers are
 * lines on a pair of sockets.
 */
#include "tools/bench/torch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/bench/fill.h"

#define PATIENCE 300000 /* milliseconds for an answer: torch may load slowly */

extern char **environ;

/* The script, with a zero at its end. */
extern const char torch_script[];
__asm__(".pushsection .rodata\n"
	"torch_script:\n"
	".incbin \"tools/bench/torch.py\"\n"
	".byte 0\n"
	".popsection\n");

struct torch {
	pid_t process;
	int socket;
	char text[1024]; /* what came and was not read yet */
	size_t length;
};

/* --- lines ---------------------------------------------------------------- */

static int fail(char note[RACE_NOTE_MAX], const char *what)
{
	snprintf(note, RACE_NOTE_MAX, "%.*s", RACE_NOTE_MAX - 1, what);
	return -1;
}

/* More of what the process says: 0, or -1 with a note. */
static int receive(struct torch *torch, char note[RACE_NOTE_MAX])
{
	struct pollfd wait = {.fd = torch->socket, .events = POLLIN};
	ssize_t got;
	int ready;

	do
		ready = poll(&wait, 1, PATIENCE);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return fail(note, "Python does not answer");
	if (torch->length == sizeof(torch->text))
		torch->length = 0; /* too long for an answer */
	got = recv(torch->socket, torch->text + torch->length,
		   sizeof(torch->text) - torch->length, 0);
	if (got <= 0)
		return fail(note, "Python has ended");
	torch->length += (size_t)got;
	return 0;
}

/* Takes a line, without its end, if there is a whole one. */
static int take_line(struct torch *torch, char *line, size_t size)
{
	char *end = memchr(torch->text, '\n', torch->length);
	size_t length;

	if (!end)
		return 0;
	length = (size_t)(end - torch->text);
	snprintf(line, size, "%.*s", (int)length, torch->text);
	torch->length -= length + 1;
	memmove(torch->text, end + 1, torch->length);
	return 1;
}

/* The rest of the next line with ok; -1 with the note of one with error. */
static int read_answer(struct torch *torch, char *rest, size_t size,
		       char note[RACE_NOTE_MAX])
{
	char line[sizeof(torch->text)];

	for (;;) {
		if (!take_line(torch, line, sizeof(line))) {
			if (receive(torch, note))
				return -1;
		} else if (!strncmp(line, "ok ", 3)) {
			snprintf(rest, size, "%.*s", (int)size - 1, line + 3);
			return 0;
		} else if (!strncmp(line, "error ", 6)) {
			return fail(note, line + 6);
		}
	}
}

int torch_ask(struct torch *torch, const char *line, struct race_time *time,
	      char note[RACE_NOTE_MAX])
{
	char question[160], answer[160];
	int length = snprintf(question, sizeof(question), "%s\n", line);

	if (send(torch->socket, question, (size_t)length, MSG_NOSIGNAL) !=
	    length)
		return fail(note, "Python has ended");
	if (read_answer(torch, answer, sizeof(answer), note))
		return -1;
	if (sscanf(answer, "%lf %lf", &time->call, &time->whole) != 2)
		return fail(note, "an answer that is no time");
	return 0;
}

/* --- the process ---------------------------------------------------------- */

/* Starts it with one end of the pair as its standard input and output. */
static int start(struct torch *torch, const char *device, const char *threads,
		 int end)
{
	const char *python = getenv("PHILOX_PYTHON");
	char *arguments[] = {(char *)(python ? python : "python3"),
			     "-c",
			     (char *)torch_script,
			     (char *)device,
			     (char *)threads,
			     NULL};
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

static const char *torch_device(struct philox_device *device, char *text,
				size_t size)
{
	const char *name = philox_device_name(device);

	if (philox_device_is_host(device))
		return "cpu";
	snprintf(text, size, "cuda%s",
		 strchr(name, ':') ? strchr(name, ':') : ":0");
	return text;
}

static int open_pair(struct torch *torch, struct philox_device *device,
		     unsigned threads, char note[RACE_NOTE_MAX])
{
	char text[32], count[16];
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return fail(note, strerror(errno));
	snprintf(count, sizeof(count), "%u", threads);
	error = start(torch, torch_device(device, text, sizeof(text)), count,
		      ends[1]);
	close(ends[1]);
	torch->socket = ends[0];
	if (!error)
		return 0;
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
		fail(note, "out of memory");
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

/* Without its input it ends by itself; it is not waited for without end. */
void torch_close(struct torch *torch)
{
	struct pollfd wait;
	int status;

	if (!torch)
		return;
	shutdown(torch->socket, SHUT_WR);
	wait = (struct pollfd){.fd = torch->socket, .events = POLLIN};
	while (poll(&wait, 1, 10000) > 0 &&
	       recv(torch->socket, torch->text, sizeof(torch->text), 0) > 0)
		;
	close(torch->socket);
	if (waitpid(torch->process, &status, WNOHANG) == 0) {
		kill(torch->process, SIGTERM);
		waitpid(torch->process, &status, 0);
	}
	free(torch);
}

/* --- the peer of fills ---------------------------------------------------- */

static const char *const fills[] = {
	"integers/i32",    "integers/i64",    "uniform/f32",
	"uniform/f64",     "uniform/f16",     "uniform/bf16",
	"normal/f32",      "normal/f64",      "normal/f16",
	"normal/bf16",     "log-normal/f32",  "log-normal/f64",
	"log-normal/f16",  "log-normal/bf16", "exponential/f32",
	"exponential/f64", "exponential/f16", "exponential/bf16",
	"bernoulli/f32",   "bernoulli/f64",   "bernoulli/f16",
	"bernoulli/bf16",  "dropout/f32",     "dropout/f64",
	"dropout/f16",     "dropout/bf16",    NULL};

static int has(const struct fill_peer *peer, const struct fill_bench *of)
{
	(void)peer;
	return fill_is(of->kind, fills);
}

static int open_peer(struct fill_peer *peer, const struct fill_bench *of,
		     char note[RACE_NOTE_MAX])
{
	peer->state = torch_open(of->bench->device, of->bench->threads, note);
	return peer->state ? 0 : -1;
}

static int run(const struct fill_peer *peer, const struct fill_bench *of,
	       int times, struct race_time *time, char note[RACE_NOTE_MAX])
{
	char line[128];

	snprintf(line, sizeof(line), "fill %s %s %zu %d", of->kind->dist_name,
		 of->kind->dtype_name, of->bytes, times);
	return torch_ask(peer->state, line, time, note);
}

static void close_peer(struct fill_peer *peer)
{
	torch_close(peer->state);
}

struct fill_peer fill_torch = {.name = "torch",
			       .has = has,
			       .open = open_peer,
			       .run = run,
			       .close = close_peer};
