/*
 * tests/simulated/late.c - user objects are released late, by another thread
 *
 * [user-object-late] The seed says after how many more calls an object is due;
 * a program that calls nothing more gets it after a while all the same. At
 * times the call that destroys returns only after the release.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "tests/simulated/chance.h"
#include "tests/simulated/gpu.h"

#define MOST_CALLS 64
#define MOST_TICKS 20 /* of a millisecond each */
#define WAITS      8  /* one destroying call of so many waits */

struct late {
	void (*destroy)(void *);
	void *object;
	uint64_t due; /* the number of a call */
	unsigned ticks;
	struct late *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct late *first, **last = &first;
static struct chance chance;
static int has_thread;
static size_t unreleased; /* also of those that are being released */
static atomic_uint_fast64_t calls;
static _Thread_local int is_here;

int late_is_here(void)
{
	return is_here;
}

void late_call(void)
{
	atomic_fetch_add(&calls, 1);
}

/* The oldest that is due, taken out; all wait one tick less. */
static struct late *take_due(void)
{
	uint64_t now = atomic_load(&calls);
	struct late **link = &first, *late;

	while (*link && (*link)->due > now && (*link)->ticks) {
		(*link)->ticks--;
		link = &(*link)->next;
	}
	late = *link;
	if (late) {
		*link = late->next;
		if (!late->next)
			last = link;
	}
	return late;
}

static void tick(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&wake, &lock, &until);
}

static void *releases(void *unused)
{
	is_here = 1;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct late *late = take_due();

		if (late) {
			pthread_mutex_unlock(&lock);
			late->destroy(late->object);
			free(late);
			pthread_mutex_lock(&lock);
			unreleased--;
			pthread_cond_broadcast(&released);
		} else if (first) {
			tick();
		} else {
			pthread_cond_wait(&wake, &lock);
		}
	}
	return unused;
}

void late_release(void (*destroy)(void *), void *object)
{
	struct late *late = calloc(1, sizeof(*late));
	pthread_t thread;

	if (!late)
		abort();
	pthread_mutex_lock(&lock);
	*late = (struct late){.destroy = destroy,
			      .object = object,
			      .due = atomic_load(&calls) + 1 +
				     chance_below(&chance, 1, MOST_CALLS),
			      .ticks = MOST_TICKS};
	*last = late;
	last = &late->next;
	unreleased++;
	if (!has_thread && pthread_create(&thread, NULL, releases, NULL))
		abort();
	if (!has_thread)
		pthread_detach(thread);
	has_thread = 1;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

void late_destroyed(void)
{
	pthread_mutex_lock(&lock);
	if (unreleased && !chance_below(&chance, 1, WAITS)) {
		for (struct late *late = first; late; late = late->next)
			late->due = 0;
		pthread_cond_signal(&wake);
		while (unreleased)
			pthread_cond_wait(&released, &lock);
	}
	pthread_mutex_unlock(&lock);
}
