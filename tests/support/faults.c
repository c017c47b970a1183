/*
 * tests/support/faults.c - see faults.h
 */
#include "tests/support/faults.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/support.h"

/* An option that prctl() does not have: it marks the end. */
#define MARK 0x70686c78

/* More than one write() of a job needs to see that nothing is taken. */
#define NOTHINGS_MAX 100

/* What a child tells, in memory that both have. */
struct told {
	int result;
	char message[1024];
};

/* --- registers ------------------------------------------------------------ */

#ifdef __x86_64__
static long call_number(pid_t child)
{
	struct user_regs_struct registers;

	cr_assert(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
	return (long)registers.orig_rax;
}

static int is_mark(pid_t child)
{
	struct user_regs_struct registers;

	cr_assert(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
	return registers.orig_rax == SYS_prctl && registers.rdi == MARK;
}

/* The C library's own streams write again for ever if nothing is taken. */
static int is_write(pid_t child)
{
	struct user_regs_struct registers;

	cr_assert(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
	return registers.orig_rax == SYS_write && registers.rdi > 2;
}

static void set_registers(pid_t child, long number, long result)
{
	struct user_regs_struct registers;

	cr_assert(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
	registers.orig_rax = (unsigned long)number;
	registers.rax = (unsigned long)result;
	cr_assert(!ptrace(PTRACE_SETREGS, child, NULL, &registers));
}

static const int known_registers = 1;
#else
static long call_number(pid_t child)
{
	return child ? -1 : 0;
}

static int is_mark(pid_t child)
{
	return child != 0;
}

static int is_write(pid_t child)
{
	return child != 0;
}

static void set_registers(pid_t child, long number, long result)
{
	(void)child, (void)number, (void)result;
}

static const int known_registers;
#endif

/* --- the child ------------------------------------------------------------ */

void faults_begin(void)
{
	raise(SIGSTOP);
}

void faults_end(void)
{
	syscall(SYS_prctl, MARK, 0, 0, 0, 0);
}

static void be_child(int (*job)(const void *user), const void *user,
		     struct told *told)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(3);
	told->result = job(user);
	snprintf(told->message, sizeof(told->message), "%s",
		 philox_error_message());
	_exit(0);
}

/* --- tracing -------------------------------------------------------------- */

/* Goes on to the next stop of a call, with the signals of others; 0: over. */
static int to_next_stop(pid_t child, struct fault_run *run)
{
	int status, with = 0;

	for (;;) {
		cr_assert(!ptrace(PTRACE_SYSCALL, child, NULL, (long)with));
		cr_assert_eq(waitpid(child, &status, 0), child);
		run->killed |= WIFSIGNALED(status);
		if (!WIFSTOPPED(status))
			return 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 1;
		with = WSTOPSIG(status);
	}
}

/* What no system says of these calls, and C libraries do not survive. */
static int can_fail(long number, enum fault fault)
{
	switch (number) {
	case SYS_futex:
	case SYS_exit_group:
	case SYS_rt_sigreturn:
	case SYS_rt_sigprocmask:
	case SYS_getpid:
	case SYS_geteuid:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_brk:
	case SYS_mmap:
	case SYS_madvise:
	case SYS_clock_gettime:
		return fault >= FAULT_KILL;
	default:
		return 1;
	}
}

static void fail_call(pid_t child, struct fault_run *run)
{
	const int error = run->error ? run->error : EIO;
	const long results[FAULTS] = {[FAULT_ERROR] = -error,
				      [FAULT_INTERRUPT] = -EINTR};

	set_registers(child, -1, -ENOSYS);
	if (to_next_stop(child, run))
		set_registers(child, -1, results[run->fault]);
}

/* Whoever writes again and again would do so for ever: it is killed. */
static void take_nothing(pid_t child, struct fault_run *run)
{
	unsigned writes = 0;

	do {
		if (is_write(child) && writes++ > NOTHINGS_MAX) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			run->killed = 1;
			return;
		}
		if (is_write(child))
			fail_call(child, run);
		else if (!to_next_stop(child, run))
			return;
	} while (to_next_stop(child, run) && !is_mark(child));
}

/* Returns 1 if the child still runs. */
static int trace(pid_t child, struct fault_run *run)
{
	for (unsigned i = 0;; i++) {
		if (!to_next_stop(child, run))
			return 0;
		if (is_mark(child))
			return 1;
		if (i == run->at && run->fault != FAULT_NONE)
			break;
		if (!to_next_stop(child, run))
			return 0;
	}
	run->number = call_number(child);
	run->skipped = !can_fail(run->number, run->fault) ||
		       (run->fault == FAULT_NOTHING && !is_write(child));
	if (run->skipped)
		return 1;
	if (run->fault == FAULT_KILL)
		kill(child, SIGKILL);
	else if (run->fault == FAULT_SIGNAL)
		kill(child, SIGINT);
	else if (run->fault == FAULT_NOTHING)
		take_nothing(child, run);
	else
		fail_call(child, run);
	return !run->killed;
}

static void finish_child(pid_t child, struct fault_run *run)
{
	int status;

	if (run->number < 0 || run->fault != FAULT_KILL || run->skipped)
		cr_assert(!ptrace(PTRACE_DETACH, child, NULL, NULL));
	cr_assert_eq(waitpid(child, &status, 0), child);
	run->killed |= WIFSIGNALED(status);
	cr_assert(run->killed || !WEXITSTATUS(status), "exit %d",
		  WEXITSTATUS(status));
}

static void trace_child(pid_t child, struct fault_run *run)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
	int status;

	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP,
		  "the job has not begun: %d", status);
	cr_assert(!ptrace(PTRACE_SETOPTIONS, child, NULL, options));
	if (trace(child, run))
		finish_child(child, run);
}

void faults_try(int (*job)(const void *user), const void *user,
		struct fault_run *run)
{
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	cr_assert(told != MAP_FAILED);
	run->number = -1;
	run->skipped = run->killed = 0;
	fflush(NULL);
	child = fork();
	cr_assert(child >= 0);
	if (!child)
		be_child(job, user, told);
	trace_child(child, run);
	run->result = told->result;
	memcpy(run->message, told->message, sizeof(run->message));
	munmap(told, sizeof(*told));
}

int faults_possible(void)
{
	int status = 0;
	pid_t child;

	if (!known_registers || (child = fork()) < 0)
		return 0;
	if (!child)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

const char *faults_name(const struct fault_run *run)
{
	static const char *const names[] = {"no fault", "EIO", "EINTR", "0",
					    "killed", "SIGINT"};
	static char name[128];

	snprintf(name, sizeof(name), "system call %ld, which is number %u: %s",
		 run->number, run->at,
		 run->error ? strerror(run->error) : names[run->fault]);
	return name;
}
