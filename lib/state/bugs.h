/*
 * lib/state/bugs.h - deliberate bugs, to see that the tests notice them
 *
 * In a build with PHILOX_BUGS, and in no other, PHILOX_BUG(n) is 1 if the
 * environment variable PHILOX_BUG is n; the library then has that one bug.
 * Otherwise it is the constant 0. tests/scripts/bugs.sh reads the list below,
 * builds the library so, and expects `philox matrix` to find each of them.
 */
#ifndef LIB_STATE_BUGS_H
#define LIB_STATE_BUGS_H

/*
 * bug 1: a backward reads one block further than its forward
 * bug 2: a backward that is to retain its ticket uses it up
 * bug 3: a launch that fails uses up its tickets
 * bug 4: a ticket is freed while another pass reads it
 * bug 5: a re-seed reaches pending tickets
 * bug 6: a graph's parameters are updated after its launch
 * bug 7: a launch that fails does not take its claims back
 * bug 8: a warm-up reserves numbers
 * bug 9: an aborted forward's numbers are issued again
 * bug 10: a released ticket stays pending
 * bug 11: a region made again restarts at offset 0
 * bug 12: a backward paired in a capture reads cells of its own
 * bug 13: a retained ticket's saved context is released with each backward
 * bug 14: two consuming backwards of a ticket may be open
 * bug 15: an aborted forward's serial is issued again
 * bug 16: a launch that is refused keeps the numbers it took
 * bug 17: an inference forward reserves nothing
 * bug 18: PHILOX_RETAIN is ignored at a launch
 * bug 19: cells of an open pass are given to the next one
 * bug 20: a region advances by its first operator, not its largest
 * bug 21: a re-seed does not restart the offset
 * bug 22: a forward refused for a full table has taken its numbers
 * bug 23: a forward whose cells cannot be filled stays open
 * bug 24: a region destroyed does not release its saved contexts
 * bug 25: an aborted backward uses its ticket up
 * bug 26: a load restarts its regions' offsets
 * bug 27: a saved text leaves out the last ticket
 */
#ifdef PHILOX_BUGS

#include <stdlib.h>

static inline int bug_is(int number)
{
	static int chosen = -1;

	if (chosen < 0)
		chosen = getenv("PHILOX_BUG") ? atoi(getenv("PHILOX_BUG")) : 0;
	return chosen == number;
}

#define PHILOX_BUG(number) bug_is(number)
#else
#define PHILOX_BUG(number) 0
#endif

#endif
