/*
 * tests/save/save_places.c - a save replaces files, and nothing else
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/support.h"

static char folder[] = "/tmp/philox-test-XXXXXX";

static void enter_folder(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	cr_assert(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	cr_assert(!chdir("/") && !rmdir(folder), "something is left in %s",
		  folder);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static void holds(const char *path, const char *before, const char *text)
{
	static char read[1 << 16];
	FILE *file = fopen(path, "r");
	size_t size;

	cr_assert(file, "%s", path);
	size = fread(read, 1, sizeof(read) - 1, file);
	read[size] = '\0';
	fclose(file);
	cr_assert(!strncmp(read, before, strlen(before)), "%s: %s", path, read);
	cr_assert_str_eq(read + strlen(before), text);
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

static struct stat about(const char *path)
{
	struct stat found;

	cr_assert(!lstat(path, &found), "%s is gone", path);
	return found;
}

static int is_kind(const char *path, mode_t kind)
{
	return (about(path).st_mode & S_IFMT) == kind;
}

/* --- devices, pipes, sockets and folders ---------------------------------- */

/*
 * A node of a device in this folder, made by root; never that in /dev, which a
 * bug would replace.
 */
static int make_node(const char *path, unsigned minor_number)
{
	int node;

	if (mknod(path, S_IFCHR | 0666, makedev(1, minor_number)))
		return 0;
	node = open(path, O_WRONLY | O_NONBLOCK);
	if (node >= 0)
		close(node);
	else
		unlink(path);
	return node >= 0;
}

PROMISE(save_places, a_device_is_written_to_and_never_replaced)
{
	enter_folder();
	if (!make_node("null", 3)) {
		leave_folder();
		cr_skip_test("no node of a device can be made here");
	}
	cr_assert(make_node("full", 7));
	OK(philox_context_save(f->context, "null"));
	cr_assert(is_kind("null", S_IFCHR));
	FAILS(philox_context_save(f->context, "full"), PHILOX_ERROR_FILE);
	NAMES("'full'");
	NAMES("No space left on device");
	cr_assert(is_kind("full", S_IFCHR));
	unlink("null");
	unlink("full");
	leave_folder();
}

PROMISE(save_places, a_pipe_is_written_to_if_somebody_reads_it)
{
	char *text = text_of(f->context), read_text[1 << 12];
	ssize_t size;
	int reader;

	enter_folder();
	cr_assert(!mkfifo("pipe", 0600));
	FAILS(philox_context_save(f->context, "pipe"), PHILOX_ERROR_FILE);
	NAMES("'pipe': nobody reads this pipe");
	reader = open("pipe", O_RDONLY | O_NONBLOCK);
	OK(philox_context_save(f->context, "pipe"));
	size = read(reader, read_text, sizeof(read_text) - 1);
	cr_assert(size > 0);
	read_text[size] = '\0';
	cr_assert_str_eq(read_text, text);
	cr_assert(is_kind("pipe", S_IFIFO));
	close(reader);
	unlink("pipe");
	leave_folder();
	free(text);
}

PROMISE(save_places, a_socket_or_a_folder_stays_one)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX,
				      .sun_path = "socket"};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	enter_folder();
	cr_assert(!bind(listener, (void *)&address, sizeof(address)));
	cr_assert(!listen(listener, 1) && !mkdir("folder", 0755));
	FAILS(philox_context_save(f->context, "socket"), PHILOX_ERROR_FILE);
	NAMES("'socket': it is a socket");
	FAILS(philox_context_save(f->context, "folder"), PHILOX_ERROR_FILE);
	NAMES("'folder': it is a folder");
	cr_assert(is_kind("socket", S_IFSOCK) && is_kind("folder", S_IFDIR));
	close(listener);
	unlink("socket");
	rmdir("folder");
	leave_folder();
}

/* --- descriptors ---------------------------------------------------------- */

PROMISE(save_places, a_descriptor_is_written_to_where_it_stands)
{
	char *text = text_of(f->context), path[5][64];
	int file;

	enter_folder();
	cr_assert(!symlink("/proc/self/fd", "fds"));
	for (int i = 0; i < 5; i++) {
		static const char *const forms[] = {
			"/dev/fd/%d", "/proc/self/fd/%d",
			"/proc/thread-self/fd/%d", "link", "/proc/%d/fd/%d"};
		ino_t before;

		file = open("there", O_RDWR | O_CREAT, 0600);
		cr_assert(write(file, "before ", 7) == 7);
		before = about("there").st_ino;
		if (i == 4)
			snprintf(path[i], 64, "/proc/%d/fd/%d", getpid(), file);
		else
			snprintf(path[i], 64, forms[i], file);
		if (i == 3)
			cr_assert(!symlink(path[0], "link"));
		OK(philox_context_save(f->context, path[i]));
		holds("there", "before ", text);
		cr_assert_eq(about("there").st_ino, before, "%s", path[i]);
		close(file);
		unlink("there");
	}
	snprintf(path[0], 64, "/dev/fd/%d", file);
	FAILS(philox_context_save(f->context, path[0]), PHILOX_ERROR_FILE);
	NAMES("Bad file descriptor");
	unlink("link");
	unlink("fds");
	leave_folder();
	free(text);
}

PROMISE(save_places, the_standard_streams_are_written_to_where_they_stand)
{
	static const char *const names[] = {"/dev/stdout", "/dev/stderr"};
	char *text = text_of(f->context);

	enter_folder();
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		int kept = dup(i + 1), file;
		enum philox_status status;

		file = open("there", O_RDWR | O_CREAT, 0600);
		cr_assert(write(file, "before ", 7) == 7);
		dup2(file, i + 1);
		status = philox_context_save(f->context, names[i]);
		dup2(kept, i + 1);
		OK(status);
		holds("there", "before ", text);
		close(file);
		close(kept);
		unlink("there");
	}
	leave_folder();
	free(text);
}

PROMISE(save_places, a_reader_that_has_gone_is_an_error_and_no_death)
{
	char path[64];
	sigset_t pending;
	int ends[2];

	cr_assert(!pipe(ends) && !close(ends[0]));
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	FAILS(philox_context_save(f->context, path), PHILOX_ERROR_FILE);
	NAMES("Broken pipe");
	cr_assert(!sigpending(&pending) && !sigismember(&pending, SIGPIPE));
	close(ends[1]);
}

/* The pipe takes less than the text, and its reader comes later. */
PROMISE(save_places, a_pipe_that_is_full_is_waited_for)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 3000, NULL);
	char path[64], *text, *seen;
	size_t size = 0, n;
	int ends[2];
	pid_t reader;
	FILE *file;

	for (int i = 0; i < 3000; i++)
		forward(f, region);
	text = text_of(f->context);
	enter_folder();
	cr_assert(!pipe(ends));
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	reader = fork();
	if (!reader) {
		char bytes[1000];
		ssize_t taken;

		close(ends[1]);
		file = fopen("seen", "w");
		while ((taken = read(ends[0], bytes, sizeof(bytes))) > 0)
			fwrite(bytes, 1, (size_t)taken, file);
		fclose(file);
		_exit(0);
	}
	close(ends[0]);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	OK(philox_context_save(f->context, path));
	close(ends[1]);
	cr_assert_eq(waitpid(reader, NULL, 0), reader);
	file = fopen("seen", "r");
	seen = calloc(strlen(text) + 2, 1);
	while ((n = fread(seen + size, 1, strlen(text) + 1 - size, file)))
		size += n;
	cr_assert_str_eq(seen, text);
	fclose(file);
	unlink("seen");
	leave_folder();
	free(seen);
	free(text);
}

/* --- links ---------------------------------------------------------------- */

PROMISE(save_places, a_link_stays_and_what_it_leads_to_is_replaced)
{
	char *text = text_of(f->context), absolute[128];
	ino_t before;

	enter_folder();
	cr_assert(!mkdir("folder", 0755));
	put("folder/file", "before");
	before = about("folder/file").st_ino;
	snprintf(absolute, sizeof(absolute), "%s/folder/second", folder);
	cr_assert(!symlink(absolute, "first"));
	cr_assert(!symlink("file", "folder/second"));
	OK(philox_context_save(f->context, "first"));
	cr_assert(is_kind("first", S_IFLNK));
	cr_assert(is_kind("folder/second", S_IFLNK));
	cr_assert(is_kind("folder/file", S_IFREG));
	cr_assert_neq(about("folder/file").st_ino, before,
		      "replaced, not written over");
	holds("first", "", text);
	unlink("folder/file");
	OK(philox_context_save(f->context, "first"));
	holds("folder/file", "", text);
	unlink("first");
	unlink("folder/second");
	unlink("folder/file");
	rmdir("folder");
	leave_folder();
	free(text);
}

PROMISE(save_places, a_link_that_leads_nowhere_is_refused)
{
	enter_folder();
	cr_assert(!symlink("loop", "loop") && !symlink("none/file", "far"));
	FAILS(philox_context_save(f->context, "loop"), PHILOX_ERROR_FILE);
	NAMES("Too many levels of symbolic links");
	FAILS(philox_context_save(f->context, "far"), PHILOX_ERROR_FILE);
	NAMES("No such file or directory");
	cr_assert(is_kind("loop", S_IFLNK) && is_kind("far", S_IFLNK));
	unlink("loop");
	unlink("far");
	leave_folder();
}

/* What root owns is another user's for the user that it becomes. */
PROMISE(save_places, a_link_of_another_user_in_a_sticky_folder_is_not_followed)
{
	const uid_t nobody = 65534, other = 65533;

	if (geteuid())
		cr_skip_test("only root can make links of other users");
	enter_folder();
	cr_assert(!mkdir("sticky", 0777) && !chmod("sticky", 01777));
	cr_assert(!mkdir("plain", 0777) && !chmod("plain", 0777));
	put("victim", "before");
	cr_assert(!symlink("../victim", "sticky/link"));
	cr_assert(!symlink("../victim", "sticky/own"));
	cr_assert(!symlink("../victim", "plain/link"));
	cr_assert(!lchown("sticky/link", other, other));
	cr_assert(!lchown("plain/link", other, other));
	FAILS(philox_context_save(f->context, "sticky/link"),
	      PHILOX_ERROR_FILE);
	NAMES("a link of another user");
	holds("victim", "", "before");
	cr_assert(!chown("sticky", nobody, nobody));
	OK(philox_context_save(f->context, "sticky/own"));
	OK(philox_context_save(f->context, "plain/link"));
	unlink("sticky/link");
	unlink("sticky/own");
	unlink("plain/link");
	rmdir("sticky");
	rmdir("plain");
	unlink("victim");
	leave_folder();
}

/* --- who may read --------------------------------------------------------- */

PROMISE(save_places, a_file_that_is_replaced_keeps_its_mode)
{
	static const mode_t modes[] = {0600, 0644, 0666, 0440, 0751};

	enter_folder();
	umask(077);
	put("there", "before");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		cr_assert(!chmod("there", modes[i]));
		OK(philox_context_save(f->context, "there"));
		cr_assert_eq(about("there").st_mode & 07777, modes[i]);
	}
	unlink("there");
	leave_folder();
}

PROMISE(save_places, a_file_that_root_replaces_keeps_its_owner)
{
	if (geteuid())
		cr_skip_test("only root can give files away");
	enter_folder();
	put("there", "before");
	cr_assert(!chown("there", 65534, 65533));
	OK(philox_context_save(f->context, "there"));
	cr_assert_eq(about("there").st_uid, 65534);
	cr_assert_eq(about("there").st_gid, 65533);
	unlink("there");
	leave_folder();
}

PROMISE(save_places, a_new_file_with_states_is_for_its_owner_alone)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool *pool;

	options.name = "pool";
	OK(philox_pool_create(f->context, &options, &pool));
	enter_folder();
	umask(022);
	OK(philox_context_save(f->context, "there"));
	cr_assert_eq(about("there").st_mode & 0777, 0600);
	OK(philox_pool_snapshot(pool, "pool"));
	cr_assert_eq(about("pool").st_mode & 0777, 0644,
		     "a pool has no states");
	OK(philox_pool_destroy(pool));
	unlink("there");
	unlink("pool");
	leave_folder();
}
