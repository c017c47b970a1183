/*
 * tests/ledger/journal.c - a journal has one line for each event, the same in
 * every run, and makes no call fail
 */
#include <fcntl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/allocations.h"
#include "tests/support/left.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"

/* --- files ---------------------------------------------------------------- */

static char folder[] = "/tmp/philox-journal-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[sizeof(folder) + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[sizeof(folder) + 16];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(journal, .init = make_folder, .fini = remove_folder, .timeout = 120);

/* Reads it whole; the caller frees it. */
static char *read_file(const char *name)
{
	FILE *file = fopen(path_of(name), "r");
	char *text = calloc(1, 1 << 20);

	cr_assert(file && text, "%s", path_of(name));
	cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
	fclose(file);
	return text;
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned found = 0;

	while ((text = strstr(text, part))) {
		found++;
		text += strlen(part);
	}
	return found;
}

#define HAS(name, part)                                                   \
	do {                                                              \
		char *text_ = read_file(name);                            \
		cr_assert(strstr(text_, part), "no \"%s\" in:\n%s", part, \
			  text_);                                         \
		free(text_);                                              \
	} while (0)

/* --- a program with every event ------------------------------------------- */

static struct philox_ticket step(struct fixture *f,
				 struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void no_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
}

static void use_generators(struct fixture *f)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_generator *other;

	OK(philox_generator_seed(generator, 42));
	OK(philox_generator_set_state(generator, (struct philox_state){42, 8}));
	OK(philox_generator_create(f->context, 7, &other));
	OK(philox_generator_fold(other, 3));
	OK(philox_generator_advance(other, 8, NULL));
	OK(philox_generator_destroy(other));
}

static void use_passes(struct fixture *f, struct philox_region *region)
{
	struct philox_ticket ticket = step(f, region);
	struct philox_pass pass;

	OK(philox_ticket_attach(region, ticket, f, no_release));
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_abort(&pass));
	OK(philox_ticket_release(region, f->stream, step(f, region)));
}

/* A forward that its backward in the graph retains, and one named at launch. */
static struct philox_graph *capture_three(struct fixture *f,
					  struct philox_region *region)
{
	uint32_t *array = make_array(f);
	struct philox_ticket named = {0}, ticket;

	record_begin(f);
	ticket = captured_forward(f, region, 0, array);
	captured_backward(f, region, ticket, PHILOX_PASS_RETAIN, array);
	captured_backward(f, region, named, 0, array);
	return record_end(f);
}

static void use_graphs(struct fixture *f, struct philox_region *region)
{
	struct philox_graph *graph = capture_three(f, region);
	struct philox_launch_pass uses[3];
	struct philox_pass pass;

	memset(uses, 0, sizeof(uses));
	FAILS(philox_graph_launch(graph, f->stream, uses, 3),
	      PHILOX_ERROR_MISMATCH);
	uses[2].ticket = step(f, region);
	OK(philox_device_fail(f->device, "exec_launch", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_graph_launch(graph, f->stream, uses, 3),
	      PHILOX_ERROR_DEVICE);
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	OK(philox_graph_destroy(graph));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_abort(&pass));
	FAILS(record_end_failing(f), PHILOX_ERROR_STATE);
}

static void save_and_load(struct fixture *f)
{
	char *text;
	size_t size;

	OK(philox_context_save_text(f->context, &text, &size));
	OK(philox_context_load_text(f->context, text, size));
	free(text);
}

/* Everything is done with the fixture's context, from its creation on. */
static void run_program(const char *device)
{
	struct fixture f;
	struct philox_region *region;

	fixture_open(&f, device);
	left_file();
	f.injected = 1;
	use_generators(&f);
	region = make_region(&f, "layer");
	use_passes(&f, region);
	use_graphs(&f, region);
	save_and_load(&f);
	OK(philox_region_destroy(region));
	make_region(&f, "left");
	fixture_close(&f);
}

/* In a process of its own: contexts are numbered from 0 in each. */
static void run_process(const char *device, const char *name)
{
	pid_t child = fork();
	int status;

	cr_assert_geq(child, 0);
	if (!child) {
		setenv("PHILOX_JOURNAL", path_of(name), 1);
		run_program(device);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status));
}

Test(journal, is_the_same_in_every_run_and_on_every_device)
{
	char *first, *again, *other;

	run_process("host", "first");
	run_process("host", "again");
	run_process("host:sync", "other");
	first = read_file("first");
	again = read_file("again");
	other = read_file("other");
	cr_assert_str_eq(first, again);
	cr_assert_str_eq(first, other);
	free(first);
	free(again);
	free(other);
}

/* The tools read what the library writes. */
static void is_read(const char *text)
{
	struct written written = {.kind = WRITTEN_JOURNAL};

	OK(journal_read(text, strlen(text), &written));
	cr_assert_eq(written.n_events, count_of(text, "\n") - 1);
	free(written.events);
}

Test(journal, has_a_line_for_every_event)
{
	static const struct {
		const char *event;
		unsigned lines;
	} events[] = {
		{" context digest ", 1},
		{" context-load digest ", 1},
		{" context-destroy\n", 1},
		{" generator-create generator 1 seed 0000000000000007 offset "
		 "0\n",
		 1},
		{" generator-set generator 0 seed 000000000000002a offset 0\n",
		 1},
		{" generator-move generator 0 seed 000000000000002a offset 8\n",
		 1},
		{" generator-fold generator 1 ", 1},
		{" generator-advance generator 1 ", 1},
		{" generator-destroy generator 1 ", 1},
		{" region-create region \"layer\" generator 0 flags none cells "
		 "4 advance 4 ",
		 1},
		{" region-destroy region \"layer\" pending 1\n", 1},
		{" region-destroy region \"left\" pending 0\n", 1},
		{" forward-begin region \"layer\" ticket ", 4},
		{" forward-commit region \"layer\" ticket ", 3},
		{" forward-abort region \"layer\" ticket 0 ", 1},
		{" backward-begin region \"layer\" ticket 1 ", 3},
		{" backward-commit region \"layer\" ticket 1 ", 2},
		{" backward-abort region \"layer\" ticket 1 ", 1},
		{" ticket-attach region \"layer\" ticket 1\n", 1},
		{" ticket-release region \"layer\" ticket 2\n", 1},
		{" capture-begin capture ", 2},
		{" capture-forward capture ", 2},
		{" capture-backward capture 1 pass 1 region \"layer\" forward "
		 "0 ",
		 1},
		{" capture-backward capture 1 pass 2 region \"layer\" forward "
		 "launch ",
		 1},
		{" capture-commit capture 1 pass ", 3},
		{" capture-abort capture 2 pass 0\n", 1},
		{" capture-adopt capture 1 graph \"graph 1\" passes 3\n", 1},
		{" capture-drop capture 2 passes 1\n", 1},
		{" launch-begin graph \"graph 1\" sequence ", 2},
		{" launch-use use 0 pass forward region \"layer\" ticket 4 ",
		 1},
		{" launch-use use 0 pass forward region \"layer\" ticket 5 ",
		 1},
		{" launch-use use 1 pass repeat region \"layer\" forward 0\n",
		 2},
		{" launch-use use 2 pass backward region \"layer\" ticket 3 ",
		 2},
		{" launch-commit graph \"graph 1\" sequence 2\n", 1},
		{" launch-abort graph \"graph 1\" sequence 1 status "
		 "PHILOX_ERROR_DEVICE\n",
		 1},
		{" launch-refuse graph \"graph 1\" use 2 status "
		 "PHILOX_ERROR_MISMATCH\n",
		 1},
		{" check graph \"graph 1\" launches 1 sequence 2\n", 1},
		{" graph-destroy graph \"graph 1\"\n", 1},
	};
	char *text;

	run_process("host", "all");
	text = read_file("all");
	cr_assert_eq(strncmp(text, "philox journal 1\n0 1 context digest ", 36),
		     0);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		cr_assert(count_of(text, events[i].event) == events[i].lines,
			  "not %u times \"%s\" in:\n%s", events[i].lines,
			  events[i].event, text);
	is_read(text);
	free(text);
}

Test(journal, names_its_file_after_the_process)
{
	char name[64];
	struct fixture f;

	setenv("PHILOX_JOURNAL", path_of("of-%p"), 1);
	for (int i = 0; i < 2; i++) {
		fixture_open(&f, "host:sync");
		left_file();
		fixture_close(&f);
	}
	snprintf(name, sizeof(name), "of-%ld", (long)getpid());
	HAS(name, "0 1 context digest ");
	HAS(name, "0 2 context-destroy\n1 1 context digest ");
}

/* --- begun by a call ------------------------------------------------------ */

static void has_once(const char *text, const char *line)
{
	cr_assert(count_of(text, line) == 1, "not once \"%s\" in:\n%s", line,
		  text);
}

/* Ranks of one program would write over each other's lines. */
PROMISE(journal, is_not_written_over_one_that_another_process_writes)
{
	const char *path = path_of("taken");
	int other = open(path, O_WRONLY | O_CREAT, 0666);

	cr_assert(other >= 0 && write(other, "theirs", 6) == 6);
	cr_assert_eq(flock(other, LOCK_EX), 0);
	FAILS(philox_context_set_journal(f->context, path), PHILOX_ERROR_FILE);
	NAMES("%p");
	HAS("taken", "theirs");
	close(other);
	OK(philox_context_set_journal(f->context, path));
	OK(philox_context_set_journal(f->context, NULL));
	HAS("taken", "context digest");
}

/* --- and forks ------------------------------------------------------------ */

/* In a child: 0 if it may write to a file of its own, and not to its parent's. */
static int try_in_child(int go)
{
	char name[128], byte;
	struct fixture own;

	if (read(go, &byte, 1) != 1)
		return 1;
	fixture_open(&own, "host:sync");
	snprintf(name, sizeof(name), "%s", path_of("parents"));
	if (philox_context_set_journal(own.context, name) != PHILOX_ERROR_FILE)
		return 2;
	if (!strstr(philox_error_message(), "is a fork of: put %p"))
		return 3;
	if (philox_context_set_journal(own.context, path_of("childs")))
		return 4;
	fixture_close(&own);
	return 0;
}

/* While the parent writes, and when it has ended: the file is its own. */
PROMISE(journal, of_a_parent_is_not_written_by_its_children)
{
	for (int ended = 0; ended < 2; ended++) {
		int go[2], status;
		char *before, *after;
		pid_t child;

		OK(philox_context_set_journal(f->context, path_of("parents")));
		make_region(f, ended ? "one" : "other");
		cr_assert(!pipe(go));
		child = fork();
		if (!child)
			_exit(try_in_child(go[0]));
		if (ended)
			OK(philox_context_set_journal(f->context, NULL));
		before = read_file("parents");
		cr_assert_eq(write(go[1], "", 1), 1);
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "%d",
			  WEXITSTATUS(status));
		after = read_file("parents");
		cr_assert_str_eq(before, after);
		HAS("childs", "context digest");
		OK(philox_context_set_journal(f->context, NULL));
		free(before);
		free(after);
		close(go[0]);
		close(go[1]);
	}
}

/* A child that was made without fork() keeps all descriptors. */
PROMISE(journal, that_has_ended_may_begin_again_beside_a_child_that_lives)
{
	pid_t child;

	OK(philox_context_set_journal(f->context, path_of("again")));
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child)
		for (;;)
			pause();
	OK(philox_context_set_journal(f->context, NULL));
	OK(philox_context_set_journal(f->context, path_of("again")));
	OK(philox_context_set_journal(f->context, NULL));
	cr_assert(child > 0 && !kill(child, SIGKILL));
	cr_assert_eq(waitpid(child, NULL, 0), child);
}

/* --- and links ------------------------------------------------------------ */

PROMISE(journal, does_not_empty_what_a_link_leads_to)
{
	char link[128], target[128];
	int file;

	snprintf(link, sizeof(link), "%s", path_of("link"));
	snprintf(target, sizeof(target), "%s", path_of("target"));
	file = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	cr_assert(file >= 0 && write(file, "theirs", 6) == 6);
	close(file);
	cr_assert(!symlink(target, link));
	FAILS(philox_context_set_journal(f->context, link), PHILOX_ERROR_FILE);
	NAMES("it is a link to a file");
	HAS("target", "theirs");
	unlink(target);
	FAILS(philox_context_set_journal(f->context, link), PHILOX_ERROR_FILE);
	cr_assert(access(target, F_OK), "made by way of a link");
	unlink(link);
	cr_assert(!symlink("/dev/null", link));
	OK(philox_context_set_journal(f->context, link));
	OK(philox_context_set_journal(f->context, NULL));
	unlink(link);
}

PROMISE(journal, to_a_descriptor_is_written_where_it_stands)
{
	char path[64];
	int file = open(path_of("open"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	cr_assert(file >= 0 && write(file, "before\n", 7) == 7);
	snprintf(path, sizeof(path), "/dev/fd/%d", file);
	OK(philox_context_set_journal(f->context, path));
	OK(philox_context_set_journal(f->context, NULL));
	HAS("open", "before\nphilox journal 1\n");
	cr_assert_eq(write(file, "after\n", 6), 6);
	HAS("open", "context digest");
	close(file);
}

PROMISE(journal, is_for_its_owner_alone)
{
	struct stat about;
	char path[128];

	snprintf(path, sizeof(path), "%s", path_of("new"));
	unlink(path);
	OK(philox_context_set_journal(f->context, path));
	OK(philox_context_set_journal(f->context, NULL));
	cr_assert(!stat(path, &about) && (about.st_mode & 0777) == 0600,
		  "it has states");
}

/* Whether the ticket is kept is that of the group, not of its first pass. */
GRAPH_PROMISE(journal, names_the_pass_that_a_pass_is_linked_to)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket = {0};
	struct philox_launch_pass uses[2];
	struct philox_graph *graph;
	struct philox_pass pass;
	const char *use;
	char *text;

	memset(uses, 0, sizeof(uses));
	OK(philox_context_set_journal(f->context, path_of("linked")));
	record_begin(f);
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	OK(philox_pass_ticket(&pass, &ticket));
	OK(philox_pass_commit(&pass, 0, NULL));
	captured_backward(f, region, ticket, 0, f->scratch);
	graph = record_end(f);
	uses[0].ticket = step(f, region);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	OK(philox_context_set_journal(f->context, NULL));
	text = read_file("linked");
	has_once(text, " pass 1 region \"layer\" forward 0 flags none\n");
	has_once(text, " use 1 pass repeat region \"layer\" forward 0\n");
	use = strstr(text, " use 0 pass backward region \"layer\" ticket 1 ");
	cr_assert(use && strncmp(strstr(use, "flags"), "flags none\n", 11) == 0,
		  "%s", text);
	free(text);
}

PROMISE(journal, says_what_each_pass_drew_from)
{
	struct philox_region *region = make_region(f, "layer");
	uint64_t seed = philox_fold(0, PHILOX_FOLD_REGION, fnv1a("layer"));
	uint64_t digest;
	char line[160], *text;

	step(f, region);
	OK(philox_context_digest(f->context, &digest));
	OK(philox_context_set_journal(f->context, path_of("call")));
	step(f, region);
	OK(philox_context_set_journal(f->context, NULL));
	step(f, region);
	text = read_file("call");
	cr_assert_eq(count_of(text, "\n"), 4, "%s", text);
	snprintf(line, sizeof(line), " 1 context digest %016" PRIx64 "\n",
		 digest);
	has_once(text, line);
	for (int commit = 0; commit < 2; commit++) {
		snprintf(line, sizeof(line),
			 " forward-%s region \"layer\" ticket 2 seed "
			 "%016" PRIx64 " offset 4 flags none\n",
			 commit ? "commit" : "begin", seed);
		has_once(text, line);
	}
	free(text);
}

PROMISE(journal, is_silent_when_it_has_ended)
{
	struct philox_region *region = make_region(f, "layer");
	char *before, *after;

	OK(philox_context_set_journal(f->context, path_of("ended")));
	step(f, region);
	OK(philox_context_set_journal(f->context, NULL));
	OK(philox_context_set_journal(f->context, NULL));
	before = read_file("ended");
	step(f, region);
	after = read_file("ended");
	cr_assert_str_eq(before, after);
	cr_assert_eq(count_of(after, "forward-commit"), 1);
	free(before);
	free(after);
}

PROMISE(journal, is_shared_by_contexts_that_name_one_file)
{
	struct philox_context *other;
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *others;
	char *text;

	OK(philox_context_create(f->device, &other));
	others = make_region_of(other, "others", 0, NULL);
	OK(philox_context_set_journal(f->context, path_of("shared")));
	OK(philox_context_set_journal(other, path_of("shared")));
	step(f, region);
	step(f, others);
	OK(philox_context_set_journal(f->context, NULL));
	step(f, others);
	philox_context_destroy(other);
	text = read_file("shared");
	cr_assert_eq(count_of(text, "philox journal 1\n"), 1);
	cr_assert_eq(count_of(text, " context digest "), 2);
	cr_assert_eq(count_of(text, "forward-commit region \"layer\""), 1);
	cr_assert_eq(count_of(text, "forward-commit region \"others\""), 2);
	cr_assert_eq(count_of(text, "context-destroy"), 1);
	free(text);
	OK(philox_context_set_journal(f->context, path_of("shared")));
	text = read_file("shared");
	cr_assert_eq(count_of(text, "\n"), 2, "replaced:\n%s", text);
	free(text);
}

/* Each call says so itself if it succeeds and has changed the message. */
PROMISE(journal, that_has_no_memory_for_a_load_leaves_the_message_alone)
{
	unsigned loaded = 0;
	char *text;

	make_region(f, "layer");
	OK(philox_context_save_text(f->context, &text, NULL));
	OK(philox_context_set_journal(f->context, path_of("loads")));
	for (unsigned n = 1; n < 200 && allocations_fail(n); n++) {
		enum philox_status status = philox_context_load_text(
			f->context, text, strlen(text));

		allocations_fail(0);
		cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_MEMORY,
			  "%s", philox_error_message());
		loaded += status == PHILOX_OK;
	}
	cr_assert(loaded || !allocations_fail(0));
	free(text);
}

PROMISE(journal, quotes_names)
{
	char long_name[2][600];

	for (unsigned i = 0; i < 2; i++) {
		memset(long_name[i], 'x', sizeof(long_name[i]));
		long_name[i][sizeof(long_name[i]) - 2] = (char)('a' + i);
		long_name[i][sizeof(long_name[i]) - 1] = '\0';
	}
	OK(philox_context_set_journal(f->context, path_of("names")));
	make_region(f, "a \"b\"\\\xff");
	make_region(f, long_name[0]);
	make_region(f, long_name[1]);
	OK(philox_context_set_journal(f->context, NULL));
	HAS("names", "\"a \\x22b\\x22\\x5c\\xff\" generator 0 ");
	for (unsigned i = 0; i < 2; i++) {
		char hash[48];

		snprintf(hash, sizeof(hash), "xx..#%016" PRIx64 "\" generator",
			 fnv1a(long_name[i]));
		HAS("names", hash);
	}
}

PROMISE(journal, cannot_begin_where_nothing_can_be_written)
{
	struct philox_region *region = make_region(f, "layer");
	char pipe[128];

	OK(philox_context_set_journal(f->context, path_of("kept")));
	FAILS(philox_context_set_journal(NULL, path_of("kept")),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_set_journal(f->context, ""), PHILOX_ERROR_INVALID);
	FAILS(philox_context_set_journal(f->context, path_of("none/there")),
	      PHILOX_ERROR_FILE);
	NAMES("none/there");
	FAILS(philox_context_set_journal(f->context, folder),
	      PHILOX_ERROR_FILE);
	FAILS(philox_context_set_journal(f->context, "/dev/full"),
	      PHILOX_ERROR_FILE);
	snprintf(pipe, sizeof(pipe), "%s", path_of("pipe"));
	unlink(pipe);
	cr_assert_eq(mkfifo(pipe, 0600), 0);
	FAILS(philox_context_set_journal(f->context, pipe), PHILOX_ERROR_FILE);
	step(f, region);
	HAS("kept", "forward-commit region \"layer\"");
}

/* --- it makes no call fail ------------------------------------------------ */

static unsigned told;

static void on_message(void *user, const struct philox_log_entry *entry)
{
	if (strcmp(entry->event, "journal ended") != 0)
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	cr_assert(strstr(entry->text, user));
	told++;
}

PROMISE(journal, ends_when_the_disk_is_full_and_says_so_once)
{
	struct philox_region *region = make_region(f, "layer");
	struct rlimit limit, small;
	char path[128];

	told = 0;
	snprintf(path, sizeof(path), "%s", path_of("small"));
	OK(philox_context_set_log(f->context, on_message, path));
	OK(philox_context_set_journal(f->context, path));
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 200;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	step(f, region);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(told, 1);
	step(f, region);
	cr_assert_eq(told, 1);
	PENDING(region, 2);
	OK(philox_context_set_journal(f->context, path));
	step(f, region);
	OK(philox_context_set_journal(f->context, NULL));
	HAS("small", "forward-commit region \"layer\" ticket 3 ");
}

/* --- of the environment --------------------------------------------------- */

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int file = 0; file < 256; file++)
		n += fcntl(file, F_GETFD) >= 0;
	return n;
}

/* A context cannot be made, and the reason names all three. */
static void cannot_create(struct fixture *f, const char *variable,
			  const char *path, const char *reason)
{
	struct philox_context *none = f->context;
	unsigned files = open_files();

	setenv(variable, path, 1);
	FAILS(philox_context_create(f->device, &none), PHILOX_ERROR_FILE);
	unsetenv(variable);
	NAMES(variable);
	NAMES(path);
	NAMES(reason);
	cr_assert_eq(none, f->context, "written though it failed");
	cr_assert_eq(open_files(), files, "%s '%s' is still open", variable,
		     path);
}

static void cannot_create_where_nothing_is_written(struct fixture *f,
						   const char *variable)
{
	char path[128], too_long[5000];

	snprintf(path, sizeof(path), "%s", path_of("none/there"));
	cannot_create(f, variable, path, "No such file or directory");
	cannot_create(f, variable, folder, "Is a directory");
	cannot_create(f, variable, "/dev/full", "No space left on device");
	snprintf(path, sizeof(path), "%s", path_of("pipe"));
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cannot_create(f, variable, path, "No such device or address");
	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	setenv(variable, too_long, 1);
	FAILS(philox_context_create(f->device, &(struct philox_context *){0}),
	      PHILOX_ERROR_FILE);
	unsetenv(variable);
	NAMES("File name too long");
}

PROMISE(journal, that_cannot_be_opened_fails_the_creation_of_a_context)
{
	struct philox_context *other;

	cannot_create_where_nothing_is_written(f, "PHILOX_JOURNAL");
	setenv("PHILOX_JOURNAL", "", 1);
	OK(philox_context_create(f->device, &other));
	philox_context_destroy(other);
	setenv("PHILOX_JOURNAL", path_of("good"), 1);
	OK(philox_context_create(f->device, &other));
	philox_context_destroy(other);
	unsetenv("PHILOX_JOURNAL");
	left_file();
	HAS("good", " 1 context digest ");
}

PROMISE(journal, and_trace_of_the_environment_begin_together_or_not_at_all)
{
	char path[128], *text;

	setenv("PHILOX_JOURNAL", path_of("alone"), 1);
	snprintf(path, sizeof(path), "%s", path_of("none/there"));
	cannot_create(f, "PHILOX_TRACE", path, "No such file or directory");
	snprintf(path, sizeof(path), "%s", path_of("alone"));
	cannot_create(f, "PHILOX_TRACE", path, "it is the journal");
	unsetenv("PHILOX_JOURNAL");
	text = read_file("alone");
	cr_assert_str_eq(text, "philox journal 1\n");
	free(text);
}

PROMISE(journal, of_the_environment_that_ends_fails_no_call)
{
	struct philox_context *other;
	struct rlimit limit, small;
	char path[128];

	told = 0;
	snprintf(path, sizeof(path), "%s", path_of("ends"));
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 30; /* there is room for the first line */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	setenv("PHILOX_JOURNAL", path, 1);
	OK(philox_context_create(f->device, &other));
	unsetenv("PHILOX_JOURNAL");
	left_file();
	step(f, make_region_of(other, "first", 0, NULL));
	OK(philox_context_set_log(other, on_message, path));
	step(f, make_region_of(other, "second", 0, NULL));
	cr_assert_eq(told, 1);
	philox_context_destroy(other);
	cr_assert_eq(told, 1);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* --- meshes --------------------------------------------------------------- */

static struct philox_mesh journal_mesh_of(struct philox_axis *axes, uint32_t n)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = n;
	memcpy(mesh.axes, axes, n * sizeof(*axes));
	return mesh;
}

static struct philox_region *make_differing(struct fixture *f, const char *name,
					    const char *const *differs,
					    size_t n)
{
	const struct philox_op_desc op = {.name = "only"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = &op,
					     .n_ops = 1,
					     .differs = differs,
					     .n_differs = n};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

static void pass_once(struct philox_region *region)
{
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

PROMISE(journal, says_the_mesh_and_along_what_regions_differ)
{
	struct philox_axis axes[] = {
		{.name = "tensor", .n_ranks = 3, .coordinate = 2},
		{.name = "d\"ta", .n_ranks = 2, .coordinate = 1}};
	struct philox_mesh mesh = journal_mesh_of(axes, 2);
	struct philox_mesh none = journal_mesh_of(axes, 0);
	char *text, line[160];
	uint64_t seed;

	OK(philox_context_set_journal(f->context, path_of("mesh")));
	OK(philox_context_set_mesh(f->context, &none));
	OK(philox_context_set_mesh(f->context, &mesh));
	make_differing(f, "shared", NULL, 0);
	pass_once(make_differing(f, "noise",
				 (const char *[]){"tensor", "d\"ta"}, 2));
	FAILS(philox_context_set_mesh(f->context, &none), PHILOX_ERROR_STATE);
	OK(philox_context_set_journal(f->context, NULL));
	text = read_file("mesh");
	has_once(text, " mesh-set mesh \"\" rank 0\n");
	has_once(text, " mesh-set mesh \"tensor=2/3 d\\x22ta=1/2\" rank 5\n");
	cr_assert_eq(count_of(text, "mesh-set"), 2);
	cr_assert_eq(count_of(text, "differs"), 1);
	seed = philox_fold(0, PHILOX_FOLD_REGION, fnv1a("noise"));
	seed = philox_axis_seed(seed, fnv1a("d\"ta"), 1);
	seed = philox_axis_seed(seed, fnv1a("tensor"), 2);
	snprintf(line, sizeof(line),
		 " seed %016" PRIx64
		 " offset 0 serial 1 differs \"d\\x22ta tensor\"\n",
		 seed);
	has_once(text, line);
	has_once(text, " offset 0 serial 1\n");
	free(text);
}

/* Two meshes that are not the same never have the same line. */
PROMISE(journal, cuts_long_names_of_axes_and_keeps_their_hash)
{
	char names[2][400], *text, *texts[2];

	for (int i = 0; i < 2; i++) {
		struct philox_axis axis = {.name = names[i], .n_ranks = 2};
		struct philox_mesh mesh = journal_mesh_of(&axis, 1);

		memset(names[i], 'n', sizeof(names[i]));
		names[i][sizeof(names[i]) - 2] = (char)('0' + i);
		names[i][sizeof(names[i]) - 1] = '\0';
		OK(philox_context_set_journal(f->context, path_of("long")));
		OK(philox_context_set_mesh(f->context, &mesh));
		OK(philox_context_set_journal(f->context, NULL));
		text = read_file("long");
		cr_assert_eq(count_of(text, "nnnn..#"), 1, "%s", text);
		cr_assert_eq(count_of(text, "\" rank 0\n"), 1, "%s", text);
		texts[i] = text;
	}
	cr_assert_neq(strcmp(strstr(texts[0], "..#"), strstr(texts[1], "..#")),
		      0);
	free(texts[0]);
	free(texts[1]);
}
