/*
 * tests/support/ranks/world.c - see tests/support/ranks/world.h
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/ranks/world.h"

enum { PATIENCE = 120 /* seconds */, PIECE = 256 /* bytes of a gather */ };

enum what { LEAST, SAME, SUM, GATHER };

static const char *const whats[] = {"asks", "reports", "adds", "gathers"};

/* What a rank sends, and what it gets back. */
struct message {
	uint32_t what, epoch;
	uint32_t number; /* counts what was sent on the socket */
	uint32_t value;
	uint32_t members;
	uint32_t words[WORLD_WORDS];
	unsigned char pieces[RANKS_MAX][PIECE];
};

/* --- in a rank ------------------------------------------------------------ */

static _Atomic uint64_t *shared_tallies;

/* The rank ends with the socket to the process that stands between. */
static void exchange(int socket, struct message *message)
{
	if (send(socket, message, sizeof(*message), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(*message) ||
	    recv(socket, message, sizeof(*message), 0) !=
		    (ssize_t)sizeof(*message))
		_exit(3);
}

static int is_whole(struct world *world, const struct message *answer)
{
	const int whole = answer->epoch == world->epoch;

	world->epoch = answer->epoch;
	world->members = answer->members;
	return whole;
}

int world_least(struct world *world, uint32_t value, uint32_t *least)
{
	struct message message = {.what = LEAST,
				  .epoch = world->epoch,
				  .number = world->asked++,
				  .value = value};

	exchange(world->ask, &message);
	*least = message.value;
	return is_whole(world, &message);
}

int world_same(struct world *world, uint32_t value)
{
	struct message message = {.what = SAME,
				  .epoch = world->epoch,
				  .number = world->asked++,
				  .value = value};

	exchange(world->ask, &message);
	return is_whole(world, &message);
}

/* How many ranks there were in the beginning, the other side knows. */
static int gather_piece(struct world *world, const unsigned char *mine,
			uint32_t size, uint32_t whole, unsigned char *all)
{
	struct message message = {.what = GATHER,
				  .epoch = world->epoch,
				  .number = world->asked++,
				  .value = whole};

	memcpy(message.pieces[world->rank], mine, size);
	exchange(world->ask, &message);
	if (!is_whole(world, &message))
		return 0;
	for (int rank = 0; rank < RANKS_MAX; rank++)
		if (message.members & 1u << rank)
			memcpy(all + (size_t)rank * whole, message.pieces[rank],
			       size);
	return 1;
}

int world_gather(struct world *world, const void *mine, size_t size, void *all)
{
	const unsigned char *from = mine;
	unsigned char *to = all;

	for (size_t done = 0; done < size; done += PIECE) {
		const size_t left = size - done;

		if (!gather_piece(world, from + done,
				  (uint32_t)(left < PIECE ? left : PIECE),
				  (uint32_t)size, to + done))
			return 0;
	}
	return 1;
}

void world_sum(struct world *world, uint32_t kind, uint32_t *words)
{
	struct message message = {.what = SUM,
				  .epoch = world->epoch,
				  .number = world->added++,
				  .value = kind};

	memcpy(message.words, words, sizeof(message.words));
	exchange(world->add, &message);
	if (is_whole(world, &message))
		memcpy(words, message.words, sizeof(message.words));
	else
		world->broken = 1;
}

void world_tally(unsigned which, uint64_t count)
{
	shared_tallies[which] += count;
}

/* --- between them --------------------------------------------------------- */

/* Each rank has two sockets: questions and sums may be under way at a time. */
enum { SOCKETS = 2 };

struct between {
	int n;
	pid_t process[RANKS_MAX];
	int socket[RANKS_MAX][SOCKETS]; /* -1: closed */
	int has[RANKS_MAX][SOCKETS];    /* a message that is not answered */
	struct message message[RANKS_MAX][SOCKETS];
	uint32_t members, epoch;
};

static void end_test(const struct between *all, const char *why)
{
	fprintf(stderr, "%s\n", why);
	for (int rank = 0; rank < all->n; rank++)
		for (int i = 0; i < SOCKETS; i++) {
			const struct message *message = &all->message[rank][i];

			if (all->has[rank][i])
				fprintf(stderr,
					"rank %d %s, number %u, with %u\n",
					rank, whats[message->what],
					message->number, message->value);
		}
	for (int rank = 0; rank < all->n; rank++)
		if (all->process[rank] > 0)
			kill(all->process[rank], SIGKILL);
	exit(1);
}

static void answer(struct between *all, int rank, int i,
		   struct message *message)
{
	message->epoch = all->epoch;
	message->members = all->members;
	all->has[rank][i] = 0;
	send(all->socket[rank][i], message, sizeof(*message), MSG_NOSIGNAL);
}

/* Whatever was asked together with the rank that died fails. */
static void bury(struct between *all, int rank)
{
	for (int i = 0; i < SOCKETS; i++) {
		close(all->socket[rank][i]);
		all->socket[rank][i] = -1;
		all->has[rank][i] = 0;
	}
	all->members &= ~(1u << rank);
	all->epoch++;
	for (int other = 0; other < all->n; other++)
		for (int i = 0; i < SOCKETS; i++)
			if (all->has[other][i])
				answer(all, other, i, &all->message[other][i]);
}

static void check_alike(const struct between *all, const struct message *one,
			const struct message *other)
{
	if (one->what != other->what || one->number != other->number ||
	    (one->what != LEAST && one->value != other->value))
		end_test(all, "ranks do different things:");
}

/* An answer to all, when all that live have asked. */
static void answer_all(struct between *all, int i)
{
	const struct message *first = NULL;
	struct message made;

	for (int rank = 0; rank < all->n; rank++) {
		const struct message *message = &all->message[rank][i];

		if (!(all->members & 1u << rank))
			continue;
		if (!all->has[rank][i])
			return;
		if (!first) {
			made = *message;
			first = message;
			continue;
		}
		check_alike(all, first, message);
		if (message->value < made.value)
			made.value = message->value;
		for (int k = 0; k < WORLD_WORDS; k++)
			made.words[k] += message->words[k];
		memcpy(made.pieces[rank], message->pieces[rank], PIECE);
	}
	for (int rank = 0; first && rank < all->n; rank++)
		if (all->members & 1u << rank)
			answer(all, rank, i, &made);
}

static void receive(struct between *all, int rank, int i)
{
	struct message *message = &all->message[rank][i];
	const ssize_t size =
		recv(all->socket[rank][i], message, sizeof(*message), 0);

	if (size != (ssize_t)sizeof(*message)) {
		bury(all, rank);
		return;
	}
	all->has[rank][i] = 1;
	if (message->epoch != all->epoch)
		answer(all, rank, i, message);
	else
		answer_all(all, i);
}

static void stand_between(struct between *all)
{
	while (all->members) {
		struct pollfd polled[RANKS_MAX * SOCKETS];

		for (int k = 0; k < all->n * SOCKETS; k++)
			polled[k] = (struct pollfd){
				.fd = all->socket[k / SOCKETS][k % SOCKETS],
				.events = POLLIN};
		if (poll(polled, (nfds_t)(all->n * SOCKETS), PATIENCE * 1000) ==
		    0)
			end_test(all, "ranks wait for one that does nothing:");
		for (int k = 0; k < all->n * SOCKETS; k++)
			if (polled[k].revents &&
			    all->socket[k / SOCKETS][k % SOCKETS] >= 0)
				receive(all, k / SOCKETS, k % SOCKETS);
	}
}

/* --- all of it ------------------------------------------------------------ */

static void begin_rank(struct between *all, int rank,
		       void (*work)(struct world *world, void *user),
		       void *user)
{
	struct world world = {.rank = rank, .members = (1u << all->n) - 1};
	int pairs[SOCKETS][2];

	for (int i = 0; i < SOCKETS; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pairs[i]))
			end_test(all, "no sockets");
	all->process[rank] = fork();
	if (all->process[rank] < 0)
		end_test(all, "no processes");
	if (!all->process[rank]) {
		for (int k = 0; k < rank; k++)
			for (int i = 0; i < SOCKETS; i++)
				close(all->socket[k][i]);
		for (int i = 0; i < SOCKETS; i++)
			close(pairs[i][0]);
		world.ask = pairs[0][1];
		world.add = pairs[1][1];
		alarm(4 * PATIENCE);
		work(&world, user);
		exit(0);
	}
	for (int i = 0; i < SOCKETS; i++) {
		close(pairs[i][1]);
		all->socket[rank][i] = pairs[i][0];
	}
}

static uint32_t wait_for_all(struct between *all)
{
	uint32_t killed = 0;

	for (int rank = 0; rank < all->n; rank++) {
		int status;

		if (waitpid(all->process[rank], &status, 0) < 0)
			end_test(all, "a process is lost");
		all->process[rank] = 0;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			killed |= 1u << rank;
		else if (status) {
			fprintf(stderr, "rank %d ended with 0x%x\n", rank,
				(unsigned)status);
			end_test(all, "a rank has failed");
		}
	}
	return killed;
}

uint32_t world_run(int n, void (*work)(struct world *world, void *user),
		   void *user, uint64_t tallies[WORLD_TALLIES])
{
	struct between all = {.n = n, .members = (1u << n) - 1};
	const size_t size = WORLD_TALLIES * sizeof(*shared_tallies);
	uint32_t killed;

	shared_tallies = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared_tallies == MAP_FAILED)
		end_test(&all, "no memory");
	fflush(NULL);
	for (int rank = 0; rank < n; rank++)
		begin_rank(&all, rank, work, user);
	stand_between(&all);
	killed = wait_for_all(&all);
	for (int i = 0; tallies && i < WORLD_TALLIES; i++)
		tallies[i] = shared_tallies[i];
	munmap((void *)shared_tallies, size);
	return killed;
}
