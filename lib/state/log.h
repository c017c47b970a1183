/*
 * lib/state/log.h - messages to the caller's log callback
 */
#ifndef LIB_STATE_LOG_H
#define LIB_STATE_LOG_H

#include <philox/context.h>

/*
 * log_post() queues a message about `subject` (text, level and event are set
 * from the other arguments) on this thread. May be called with locks held.
 */
void log_post(struct philox_context *context, enum philox_log_level level,
	      const char *event, const struct philox_log_entry *subject,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * context_report() is the last thing every public call does, without locks: it
 * delivers the posted messages and, if the call failed, logs the error as one
 * about `subject` (NULL: nothing in particular). Returns `status`.
 */
enum philox_status context_report(struct philox_context *context,
				  enum philox_status status,
				  const struct philox_log_entry *subject);

/*
 * context_null() fails a call that was given NULL for its argument `name`. If
 * that is the context itself, or an object that would lead to it, `context` is
 * NULL and nothing is logged.
 */
enum philox_status context_null(struct philox_context *context,
				const char *name);

#endif
