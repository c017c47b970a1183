/*
 * graph/runner/function/function.h - functions: their keys, inputs, recordings
 */
#ifndef GRAPH_RUNNER_FUNCTION_FUNCTION_H
#define GRAPH_RUNNER_FUNCTION_FUNCTION_H

#include "graph/runner/state/state.h"
#include "lib/text/text.h"

/* --- fields: what texts say of functions ---------------------------------- */

/* Words of enums and of flags, in their order; NULL comes after the last. */
extern const char *const function_modes[], *const function_flags[];
extern const char *const input_kinds[], *const input_flags[];

/*
 * Of struct philox_policy. By name a number of calls without a limit is "never"
 * throughout. policy_wrong() names a field that has a value that it cannot
 * have, or is NULL; policy_fill() puts the defaults in.
 */
extern const struct field policy_fields[];
const char *policy_wrong(const struct philox_policy *policy);
void policy_fill(struct philox_policy *policy);

/*
 * As plans and snapshots of version 1 have it. policy_of_1() makes it the
 * policy that is like it; *fixed: and its inputs are FIXED. It names a field
 * that nothing is like, NULL if there is none.
 */
struct policy_1 {
	uint32_t moved, live, refused, limit, warmups, dry, after, again, retry,
		keys, verify, differs;
	uint64_t bytes;
};

enum { MOVED_ERROR_1 = 2 };

extern const struct field policy_1_fields[];
const char *policy_of_1(const struct policy_1 *old,
			struct philox_policy *policy, int *fixed);

/* Of struct philox_function_stats. */
extern const struct field count_calls[], count_bodies[], count_prepared[],
	count_misses[], count_verified[], count_kept[];

/* --- script: what a body does under a key, compared with before ----------- */

/*
 * run_fail() keeps the first failure of a run with the thread's message, and
 * returns `status`.
 */
enum philox_status run_fail(struct run *run, enum philox_status status);

/* run_is_ours() tells whether a run's body is running, and on this thread. */
int run_is_ours(const struct run *run);

/* run_check() refuses a run whose body is not running on this thread. */
enum philox_status run_check(const struct run *run);

/* run_called() is the function of a run's call, whichever body runs. */
const struct philox_function *run_called(const struct run *run);

/*
 * script_begin() begins a run; script_step() takes its next step:
 * ERROR_MISMATCH if an earlier run did something else, ERROR_MEMORY.
 * script_end() ends it: an earlier run may have done more. script_forget()
 * forgets what a run did that does not count. script_free() frees one, and has
 * it be empty.
 *
 * script_same_step() is whether two steps do the same. script_calls() is whether
 * one of a script is a call of a function of that name.
 *
 * script_share() has an empty script be the n steps that others have, too;
 * script_unshare() gives up one reference to them.
 */
void script_begin(struct run *run);
enum philox_status script_step(struct run *run, const struct step *step);
enum philox_status script_end(struct run *run);
int script_same_step(const struct step *one, const struct step *other);
int script_calls(const struct script *script, const char *function);
void script_forget(struct run *run);
void script_free(struct script *script);
void script_share(struct script *script, struct script_share *share, size_t n);
void script_unshare(struct script_share *share);

/* --- steps.c: what a body does while it is recorded ----------------------- */

/*
 * steps_note() notes a step of a run that is recorded, and of no other. One for
 * which there is no room is counted. steps_keep() has a recording keep those of
 * a run: ERROR_MEMORY.
 */
void steps_note(struct run *run, const struct body_step *step, const char *tag);
enum philox_status steps_keep(struct recording *recording,
			      const struct run *run);

/* --- agree: processes settle on what a call is executed as ---------------- */

/*
 * See `agree` of struct philox_function_desc. Functions that are not
 * PHILOX_FUNCTION_COLLECTIVE ask nobody, and it costs them nothing.
 */

/*
 * agree_on() asks the other processes with the kind that this one wants, and
 * writes what all have agreed on. Errors: ERROR_STATE (others cannot make the
 * call), ERROR_INVALID (the callback's answer is no kind, or above `wanted`),
 * what the callback returned.
 */
enum philox_status agree_on(struct philox_function *function,
			    enum philox_call_kind wanted,
			    enum philox_call_kind *agreed);

/*
 * agree_failed() asks with NONE, for a call that cannot be made, and returns
 * its error with the thread's message as it was, whatever the others say.
 */
enum philox_status agree_failed(struct philox_function *function,
				enum philox_status status);

/* --- key: the keys of a function ------------------------------------------ */

/* key_find() finds a key, NULL: there is none. */
struct key *key_find(const struct philox_function *function, const void *bytes,
		     size_t size);

/* key_get() finds the key of a call, or makes one: ERROR_MEMORY. */
enum philox_status key_get(struct philox_function *function, const void *bytes,
			   size_t size, struct key **key);

/* key_drop() forgets a key and retires its recordings. */
void key_drop(struct philox_function *function, struct key *key);

/* keys_free() frees all keys of a function, which have no recordings. */
void keys_free(struct philox_function *function);

/*
 * Several keys at once. key_new() makes one that is in no list: all is 0 but
 * its bytes; NULL: no memory. keys_replace() frees the keys of a function,
 * which have no recordings, and puts those of a list, in the reverse of its
 * order, into an empty map that has room for them, which becomes the
 * function's. keys_free_list() frees a list.
 */
struct key *key_new(const struct philox_function *function, const void *bytes,
		    size_t size);
void keys_replace(struct philox_function *function, struct key *list,
		  const struct map *map);
void keys_free_list(struct key *list);

/*
 * key_log() logs a decision about a key, once. key_refuse() has the key wait to
 * be recorded, and says why.
 */
void key_log(const struct philox_function *function, struct key *key,
	     enum logged about, const char *event, enum philox_call_kind kind,
	     const char *input, const char *text);
void key_refuse(struct philox_function *function, struct key *key,
		enum philox_call_kind kind, const char *reason);

/* --- uses: recordings by their use, and what they write ------------------- */

/*
 * use_begin() has a recording be the one that was used last, of its function
 * and its key; use_again() does that at each further use; use_end() takes it
 * out. function_calls() is how many calls of a function succeeded.
 */
void use_begin(struct recording *recording);
void use_again(struct recording *recording);
void use_end(struct recording *recording);
uint64_t function_calls(const struct philox_function *function);

/*
 * pool_uses_reserve() finds the extents of the pool that a recording writes: 0
 * if there is no memory. pool_uses_begin() counts it as their user,
 * pool_uses_end() no more, and frees what it has; pool_uses_free() is for one
 * that was not counted. pool_uses_finish() is for a runner that ends.
 */
int pool_uses_reserve(struct recording *recording);
void pool_uses_begin(struct recording *recording);
void pool_uses_end(struct recording *recording);
void pool_uses_free(struct recording *recording);
void pool_uses_finish(struct philox_runner *runner);

/*
 * evicted_find() is the field of the policy for which the recording of a call
 * was evicted, by the hash of its inputs; NULL: it was not, or long ago.
 * evicted_forget() is for when it is recorded again.
 */
const char *evicted_find(const struct philox_function *function, uint64_t hash);
void evicted_forget(struct philox_function *function, uint64_t hash);

/* --- bounds: how many recordings, bytes and keys a function keeps --------- */

/*
 * bounds_keep() evicts recordings and drops keys, but never what a call under
 * this key has just used, until the function is within the bounds of its
 * policy, or nothing is left that would help.
 *
 * bounds_hold() says why a call under a key is not recorded, since a bound is
 * met and recordings were wasted; NULL: it may be.
 */
void bounds_keep(struct philox_function *function, struct key *now);
const char *bounds_hold(const struct philox_function *function,
			const struct key *key);

/* --- inputs: the inputs of a call: static, copied, moved ------------------ */

/* inputs_check() checks the inputs of a call against their descriptors. */
enum philox_status inputs_check(const struct philox_function *function,
				const struct philox_call *call);

/*
 * inputs_fit() checks that they have the sizes that they have under the key:
 * ERROR_INVALID. inputs_note() remembers them for the next call, which one that
 * succeeded was executed as `kind`, and returns 1 if it has decided to copy one
 * from now on. inputs_returned() is for a replay of another recording than the
 * one before.
 */
enum philox_status inputs_fit(const struct philox_function *function,
			      const struct key *key,
			      const struct philox_call *call);
int inputs_note(struct philox_function *function, struct key *key,
		const struct philox_call *call, enum philox_call_kind kind,
		int expected);
void inputs_returned(struct key *key, const struct recording *from,
		     const struct recording *to);

/* inputs_misaligned() tells whether the body cannot use one where it is. */
int inputs_misaligned(const struct philox_function *function,
		      const struct philox_call *call, size_t index);

/* inputs_copied() tells whether a recording has one copied. */
int inputs_copied(const struct philox_function *function, const struct key *key,
		  const struct philox_call *call, size_t index);

/*
 * inputs_hash() is equal for calls that one recording may serve; inputs_same()
 * tells whether a recording does, as far as its inputs go.
 */
uint64_t inputs_hash(const struct philox_function *function,
		     const struct key *key, const struct philox_call *call);
int inputs_same(const struct recording *recording,
		const struct philox_call *call);

/*
 * inputs_unrecordable() returns the name of an input because of which the calls
 * of a key cannot be recorded: mutated, copied and not written back. NULL:
 * none.
 */
const char *inputs_unrecordable(const struct philox_function *function,
				const struct key *key,
				const struct philox_call *call);

/*
 * inputs_next_moved() returns the index, at least `from`, of an input that is
 * read elsewhere than a recording reads it: n_inputs if there is none.
 */
size_t inputs_next_moved(const struct recording *recording,
			 const struct philox_call *call, size_t from);

/* inputs_fixed_moved() tells whether one of them is FIXED. */
int inputs_fixed_moved(const struct recording *recording,
		       const struct philox_call *call);

/*
 * inputs_copy_in() copies those inputs on a stream that have a buffer, to it
 * (buffers NULL: none has one);
 * inputs_copy_back() copies back the mutated ones.
 */
enum philox_status inputs_copy_in(struct philox_function *function,
				  const struct philox_call *call,
				  void *const *buffers, philox_stream stream);
enum philox_status inputs_copy_back(struct philox_function *function,
				    const struct philox_call *call,
				    void *const *buffers, philox_stream stream);

/* --- guess: the recording that comes next --------------------------------- */

/*
 * Note [Guess]
 * ~~~~~~~~~~~~
 * Calls of a key mostly repeat a sequence. So a call is first compared with the
 * recording that followed, last time, the one that the key has used last: one
 * loop over the inputs as a call had them that was checked and found that
 * recording. If all are the same, so is what the checks say, and what
 * recording_find() finds, for
 *
 *  - addresses and sizes decide the checks of an input, but for an input in the
 *    pool, whose block may have gone since: those are checked at each call, and
 *    so are all if the pool has grown;
 *  - an input that is copied may be anywhere outside of the pool. One that is
 *    copied since it was not aligned may be in place now: it is looked up;
 *  - of several recordings that serve the same calls (twins) the first one with
 *    free memory is found: they are looked up, too.
 *
 * A guess that is wrong costs the loop up to the first difference. Recordings
 * follow each other one to one: a new follower of one is no other's any more.
 */

/*
 * guess_find() is the recording that a call will find, NULL: look it up.
 * guess_pack() keeps the inputs of a call that was checked, and has found a
 * recording. guess_follow() has a recording follow the newest of its key.
 * guess_twins() looks for twins among those with a hash. guess_end() is for a
 * recording that is found no more.
 */
struct recording *guess_find(const struct philox_function *function,
			     const struct key *key,
			     const struct philox_call *call);
void guess_pack(struct recording *recording, const struct philox_call *call);
void guess_follow(struct recording *recording);
void guess_twins(const struct philox_function *function, const struct key *key,
		 uint64_t hash);
void guess_end(struct recording *recording);

/* input_meets() is whether one reaches into a range, or between its parts. */
static inline int input_meets(struct range range,
			      const struct philox_call_input *input)
{
	const uintptr_t at = (uintptr_t)input->address;

	return at < range.end &&
	       (at >= range.begin || input->bytes > range.begin - at);
}

/* --- timer: what the device takes for launches ---------------------------- */

/*
 * timer_begin() comes before the work of a launch: 0 if that is not timed, else
 * timer_end() comes after it, unless the launch failed. timers_read() adds what
 * is known by now to the counts of a function and the times of its recordings;
 * timer_finish() destroys events. All keep the message. See Note [Times of the
 * device] in timer.c.
 */
int timer_begin(struct recording *recording, philox_stream stream);
void timer_end(struct recording *recording, philox_stream stream);
void timers_read(struct philox_function *function);
void timer_finish(struct recording *recording);

/* --- recording: recordings: kept, found, launched ------------------------- */

#define RECORDING_DIFFERED "its replay differed from its body"

/*
 * recording_make() makes an empty one for a call. recording_keep() has it found
 * from then on, and recording_played() counts a replay. recording_retire() has
 * it found no more, recordings_retire() all those of a key,
 * recordings_retire_useless() those that are stale or spoiled, see below: their
 * launches may still be under way, and so runner_retire.c frees them. `why`, in
 * words that live on, is for the reason of the next recording of the key; NULL:
 * it has another one. recordings_free() frees the others of a function.
 */
enum philox_status recording_make(struct philox_function *function,
				  struct key *key,
				  const struct philox_call *call,
				  struct recording **recording);
enum philox_status recording_reserve(struct recording *recording);
void recording_keep(struct recording *recording);
void recording_played(struct recording *recording);
void recording_retire(struct recording *recording, const char *why);
void recordings_retire(struct key *key, struct philox_function *function,
		       const char *why);
void recordings_retire_useless(struct key *key,
			       struct philox_function *function);
void recording_free(struct recording *recording);
void recordings_free(struct philox_function *function);

/*
 * recording_is_stale() tells whether a region in one was destroyed;
 * recording_is_spoiled() whether the device finds that it uses memory which was
 * freed.
 */
int recording_is_stale(const struct recording *recording);
int recording_is_spoiled(const struct recording *recording);

/* recording_is_unplayed() tells whether none of its launches was a replay. */
int recording_is_unplayed(const struct recording *recording);

/*
 * recording_find() finds one of the key for a call, of several one whose memory
 * holds no output; *in_use is that block, if all of them have one. NULL: there
 * is none.
 */
struct recording *recording_find(const struct philox_function *function,
				 const struct key *key,
				 const struct philox_call *call,
				 const struct live_block **in_use);

/* --- recording.c: recordings of a plan that are to be made again ---------- */

/*
 * See Loading in Note [Plan], graph/runner/plan/plan.h.
 */

/*
 * expected_warm_up() tells whether a call that could be recorded must be a
 * warm-up since the key's body has not run in this process. expected_dry() has
 * such a key warmed up dry, if the policy has dry warm-ups and it does not
 * wait.
 */
int expected_warm_up(const struct key *key, const struct philox_policy *policy);
void expected_dry(struct key *key, const struct philox_policy *policy);

/*
 * expected_made() counts a new recording, which is not linked yet, as one that
 * was expected of its key, if one was. expected_end() has none be expected.
 */
void expected_made(struct recording *recording);
void expected_end(struct key *key, struct philox_function *function);

/* --- recording.c: recordings that are not used any more ------------------- */

/*
 * See Going in Note [Runner], graph/runner/state/state.h.
 */

/*
 * retired_mark() records an event after a call's work; when it completes,
 * retired recordings can be freed. retired_sweep() frees those for which it
 * has. What fails is done after a later call.
 */
void retired_mark(struct philox_runner *runner, philox_stream stream);
void retired_sweep(struct philox_runner *runner);

/*
 * retired_free() frees all of a function, whose launches have ended; NULL: of all
 * functions, and the rest of what the list needs.
 */
void retired_free(struct philox_runner *runner,
		  const struct philox_function *function);

/* --- function: functions of a runner -------------------------------------- */

/* function_find() finds one that was not destroyed; NULL: there is none. */
struct philox_function *function_find(const struct philox_runner *runner,
				      const char *name);

/* function_end() frees what a function has but its names, which messages need. */
void function_end(struct philox_function *function);

/* function_free() frees the rest. */
void function_free(struct philox_function *function);

/*
 * function_refuse_capture() refuses a call on a stream that is capturing:
 * ERROR_CAPTURE_UNSUPPORTED. A launch asks by itself, but only its own stream.
 */
enum philox_status function_refuse_capture(
	const struct philox_function *function, philox_stream stream);

/* --- reason: what is said of a call: why it is no replay, its inputs ------ */

/* Why a call is no replay. */
struct reason {
	int written;
	const char *option; /* what the policy makes of it; NULL: nothing */
	char text[REASON_SIZE];
};

/* What the policy makes of a body that refused to be recorded, or broke. */
#define OPTION_WAITS "its key waits, for policy.retry"
#define OPTION_RUNS  "its body is run, for policy.refused; " OPTION_WAITS
#define OPTION_FAILS "the call fails, for policy.refused; " OPTION_WAITS

/*
 * reason_write() writes it, without an option, reason_add() goes on.
 * reason_tell() is the whole, as the function's, of a call of a key.
 */
void reason_write(struct reason *reason, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void reason_add(struct reason *reason, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void reason_tell(const struct reason *reason, struct philox_function *function,
		 const struct key *key);

/*
 * key_words() describes a key, by its label if it has one; "" for one without
 * bytes. key_label() is "key 'label'" between two texts, or `none` for a key
 * without a label, or NULL. KEY_JOINT() begins a text about one that has a
 * label.
 */
struct words key_words(const struct key *key);
struct words key_label(const struct key *key, const char *before,
		       const char *none, const char *after);
#define KEY_JOINT(key) key_label(key, "", "", ": ")

/*
 * reason_live() writes it for a call whose recording's memory has a live block:
 * which output of which call is in it.
 */
void reason_live(struct reason *reason, const struct philox_runner *runner,
		 const struct live_block *block);

/*
 * input_words() describes an input of a call: with its origin, or else with the
 * output of a function that it is, `slot`; NULL: it is none.
 */
struct words input_words(const struct philox_function *function, size_t index,
			 const struct output_slot *slot);

/*
 * reason_moved() adds which static inputs of a call are elsewhere than in a
 * recording: some of them, and how many more. log_moved() tells all of them in
 * the log, in as many messages as it takes.
 */
void reason_moved(struct reason *reason, const struct recording *recording,
		  const struct philox_call *call);
void log_moved(const struct recording *recording,
	       const struct philox_call *call);

#endif
