/*
 * tests/tools/merge/merge.c - philox merge writes a whole set or nothing, and says
 * why
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/support/ranks/set.h"
#include "tools/tools.h"

static const struct along along_none = {{NULL}, 0};
static const struct along along_data = {{"data"}, 1};

/* --- running it ----------------------------------------------------------- */

static char said[1 << 14];

/* A command with up to seven arguments; what it says is in `said`. */
static int run_tool(int (*tool)(int, char **), const char *const *arguments)
{
	char *argv[10] = {NULL};
	int kept[2] = {dup(1), dup(2)}, argc = 0, status;
	int to = open("said", O_CREAT | O_TRUNC | O_RDWR, 0600);
	ssize_t size;

	while (arguments[argc]) {
		argv[argc] = (char *)arguments[argc];
		argc++;
	}
	fflush(NULL);
	dup2(to, 1);
	dup2(to, 2);
	status = tool(argc, argv);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(kept[i], i + 1);
		close(kept[i]);
	}
	size = pread(to, said, sizeof(said) - 1, 0);
	said[size < 0 ? 0 : size] = '\0';
	close(to);
	unlink("said");
	return status;
}

#define RUN(tool, ...)        \
	run_tool(tool_##tool, \
		 (const char *const[]){#tool, __VA_ARGS__, (const char *)0})

#define SAID(text) cr_assert(strstr(said, text), "not said: %s: %s", text, said)

static int files_of(const char *path)
{
	char name[64];
	int n = file_is_there(path);

	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%s.%u", path, i);
		n += file_is_there(name);
	}
	return n;
}

/* It fails, and nothing is left. */
#define REFUSES(status, text, ...)                             \
	do {                                                   \
		cr_assert_eq(RUN(merge, __VA_ARGS__), status); \
		SAID(text);                                    \
		cr_assert_eq(files_of("new"), 0, "%s", said);  \
	} while (0)

/* data 2, pipe 3: "block.N" on stage N, "head" on the last, "noise" on all. */
static void make_stages(struct fixture *f)
{
	struct philox_mesh mesh = mesh_of("data=0/2 pipe=0/3");
	struct bed bed;

	mesh.axes[1].flags = PHILOX_AXIS_STAGES;
	bed_open(&bed, f, &mesh, 5);
	for (unsigned i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof(name), "block.%u", i % 3);
		make_along(bed.context[i], name, &along_none);
		make_along(bed.context[i], "noise", &along_data);
		if (i % 3 == 2)
			make_along(bed.context[i], "head", &along_none);
	}
	save_bed(&bed, "old");
	bed_close(&bed);
}

static int text_has(const char *path, const char *word)
{
	char *text = file_text(path);
	int has = strstr(text, word) != NULL;

	free(text);
	return has;
}

PROMISE(merge_tool, places_stages_by_pattern)
{
	enter_set();
	make_stages(f);
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=1,pipe=2",
			 "--place", "block.*=pipe:0", "--place",
			 "*[2d]=pipe:0x1"),
		     0);
	SAID("6 texts into 2: regions 5\n");
	cr_assert(text_has("new", "axis \"pipe\" size 2 stages\n"));
	cr_assert(text_has("new.0", "\"block.0\" alive"));
	cr_assert(text_has("new.0", "\"block.1\" alive"));
	cr_assert(text_has("new.0", "\"block.2\" destroyed"));
	cr_assert(text_has("new.1", "\"block.2\" alive"));
	cr_assert(text_has("new.1", "\"head\" alive"));
	cr_assert(text_has("new.1", "\"noise\" alive"));
	leave_set();
}

PROMISE(merge_tool, keeps_a_part_of_an_axis_that_stays)
{
	enter_set();
	make_stages(f);
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "pipe=3,data=2"), 0);
	cr_assert(text_has("new.4", "\"block.2\" alive"));
	cr_assert(!text_has("new.4", "\"block.1\" alive"));
	cr_assert_eq(RUN(merge, "old", "one", "--mesh", ""), 0);
	cr_assert(text_has("one.0", "\"block.0\" alive"));
	cr_assert(text_has("one.0", "\"block.2\" alive"));
	cr_assert_eq(RUN(merge, "one.0", "two", "--mesh", "pipe=2"), 0);
	cr_assert(text_has("two.1", "\"block.0\" alive"));
	leave_set();
}

/* What moves comes from the texts that have it, what stays from the own one. */
PROMISE(merge_tool, moves_a_region_on_the_same_mesh)
{
	enter_set();
	make_stages(f);
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=2,pipe=3",
			 "--place", "block.2=pipe:0"),
		     0);
	SAID("6 texts into 6: regions 5\n");
	cr_assert(text_has("new.3", "\"block.0\" alive"));
	cr_assert(text_has("new.3", "\"block.2\" alive"));
	cr_assert(text_has("new.5", "\"block.2\" destroyed"));
	cr_assert(text_has("new.5", "\"head\" alive"));
	cr_assert(!text_has("new.4", "\"block.2\""));
	leave_set();
}

/* How often each file of a set was opened since a watch on it began. */
static void count_opens(int watcher, const int *watches, unsigned n,
			unsigned *opens)
{
	char events[4096] __attribute__((aligned(8)));
	ssize_t size;

	memset(opens, 0, n * sizeof(*opens));
	while ((size = read(watcher, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event =
				(const void *)(events + at);

			for (unsigned i = 0; i < n; i++)
				opens[i] += event->wd == watches[i];
			at += (ssize_t)(sizeof(*event) + event->len);
		}
}

/* Its cost is in proportion to the ranks, old and new: not to their product. */
PROMISE(merge_tool, reads_each_text_once)
{
	static const char *const places[] = {"*=pipe:0", "block.2=pipe:0"};
	static const char *const meshes[] = {"data=4,pipe=1", "data=2,pipe=3"};
	int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), watches[6];
	unsigned opens[6];

	cr_assert(watcher >= 0);
	for (int k = 0; k < 2; k++) {
		enter_set();
		make_stages(f);
		for (unsigned i = 0; i < 6; i++) {
			char name[16];

			snprintf(name, sizeof(name), "old.%u", i);
			watches[i] = inotify_add_watch(watcher, name, IN_OPEN);
		}
		cr_assert_eq(RUN(merge, "old", "new", "--mesh", meshes[k],
				 "--place", places[k]),
			     0, "%s", said);
		count_opens(watcher, watches, 6, opens);
		for (unsigned i = 0; i < 6; i++)
			cr_assert_eq(opens[i], 1, "text %u: %u times", i,
				     opens[i]);
		leave_set();
	}
	close(watcher);
}

PROMISE(merge_tool, says_what_starts_fresh)
{
	enter_set();
	make_stages(f);
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=4,pipe=1"), 0);
	SAID("6 texts into 4: regions 5\nfresh on 2 of 4 ranks: region "
	     "'noise'\n");
	leave_set();
}

PROMISE(merge_tool, names_what_it_cannot_place)
{
	enter_set();
	make_stages(f);
	REFUSES(1,
		"philox merge: region 'block.0' is at coordinate 0 of axis "
		"'pipe', whose size is 3 and becomes 2: say where it goes",
		"old", "new", "--mesh", "data=2,pipe=2");
	REFUSES(1, "region 'head' is at coordinate 2 of axis 'pipe'", "old",
		"new", "--mesh", "data=2,pipe=2", "--place", "block*=pipe:0,1");
	leave_set();
}

PROMISE(merge_tool, wants_ranks_that_are_all_of_some_coordinates)
{
	struct philox_mesh mesh = mesh_of("data=0/2 pipe=0/2");
	struct bed bed;

	enter_set();
	bed_open(&bed, f, &mesh, 5);
	make_along(bed.context[0], "odd", &along_none);
	make_along(bed.context[3], "odd", &along_none);
	save_bed(&bed, "old");
	bed_close(&bed);
	REFUSES(1, "region 'odd' is on 2 ranks that are not all of some", "old",
		"new", "--mesh", "data=2");
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=2", "--place",
			 "odd=data:1"),
		     0);
	cr_assert(!text_has("new.0", "alive") && text_has("new.1", "alive"));
	leave_set();
}

PROMISE(merge_tool, makes_regions_differ_along_axes_that_are_new)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct bed bed;

	enter_set();
	make_region(f, "noise.0");
	make_region(f, "block");
	OK(philox_context_save(f->context, "old"));
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=2", "--differs",
			 "noise*=data"),
		     0);
	bed_open(&bed, f, &mesh, 0);
	for (unsigned i = 0; i < 2; i++) {
		make_along(bed.context[i], "noise.0", &along_data);
		make_along(bed.context[i], "block", &along_none);
	}
	load_bed(&bed, "new");
	bed_close(&bed);
	leave_set();
}

PROMISE(merge_tool, writes_nothing_after_an_error)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct philox_region *region;
	struct bed bed;
	char *text;

	enter_set();
	bed_open(&bed, f, &mesh, 5);
	for (unsigned i = 0; i < 2; i++) {
		make_region_of(bed.context[i], "block", 0, NULL);
		region = make_along(bed.context[i], "noise", &along_data);
	}
	forward(f, region);
	save_bed(&bed, "old");
	bed_close(&bed);
	REFUSES(1, "region 'noise' differs along axis 'data', whose size was 2",
		"old", "new", "--mesh", "data=3");
	REFUSES(1, "'none'", "none", "new", "--mesh", "data=3");
	REFUSES(1, "'old.1': the text of rank 1 of 2", "old.1", "new", "--mesh",
		"data=2");
	put_text("plan", "philox plan 1\nlibrary");
	REFUSES(1, "'plan' is a plan: give the manifest of a set", "plan",
		"new", "--mesh", "data=3");
	put_text("new.1", "of somebody");
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=2"), 1);
	SAID("'new.1' is there already");
	text = file_text("new.1");
	cr_assert_str_eq(text, "of somebody");
	free(text);
	cr_assert(!file_is_there("new.0") && !unlink("new.1"));
	put_text("new", "of somebody");
	cr_assert_eq(RUN(merge, "old", "new", "--mesh", "data=2"), 1);
	SAID("'new' is there already");
	cr_assert(!unlink("new"));
	REFUSES(1, "its folder cannot be opened", "old", "none/new", "--mesh",
		"data=2");
	text = file_text("old.1");
	put_bytes("old.1", text, 50);
	REFUSES(1, "'old.1': line ", "old", "new", "--mesh", "data=1");
	free(text);
	leave_set();
}

/* Arguments after OLD NEW, and what is said. */
static const struct {
	const char *option, *value, *says;
} wrong[] = {
	{"--mesh", "data", "--mesh 'data': 'data' is not an axis with its"},
	{"--mesh", "data=2,", "'' is not an axis with its size"},
	{"--mesh", "data=0", "--mesh '0': must be a whole number from 1"},
	{"--mesh", "data=2,data=2", "axes 0 and 1 are both named 'data'"},
	{"--mesh", "=2", "the name of axis 0 is empty"},
	{"--mesh", "data=4000000000",
	 "has 4000000000 ranks, and a set that is made has at most 1048576"},
	{"--mesh", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "more than 8 axes"},
	{"--place", "block", "must be like 'block.*=pipe:0'"},
	{"--place", "block=pipe", "must be like 'block.*=pipe:0'"},
	{"--place", "=pipe:0", "must be like 'block.*=pipe:0'"},
	{"--place", "block=pipe:", "must be like 'block.*=pipe:0'"},
	{"--place", "block.0=tensor:0", "the new mesh has no axis 'tensor'"},
	{"--place", "block.0=data:2", "--place '2': must be a whole number"},
	{"--place", "block.0=data:0,,1", "--place '': must be a whole number"},
	{"--place", "blocks=data:0", "fits no name of the set"},
	{"--differs", "noise", "must be like 'noise*=data'"},
	{"--differs", "noise=tensor", "the new mesh has no axis 'tensor'"},
	{"--differs", "noise=data", "'old' has axis 'data'"},
};

PROMISE(merge_tool, says_what_is_wrong_with_its_options)
{
	enter_set();
	make_stages(f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		REFUSES(2, wrong[i].says, "old", "new", "--mesh",
			"data=2,pipe=1", wrong[i].option, wrong[i].value);
	REFUSES(2, "give two paths", "--mesh", "data=2", "old");
	REFUSES(2, "say which mesh is wanted", "old", "new");
	leave_set();
}

/* --- folders that are synchronised ---------------------------------------- */

/* What was synchronised while the set had no file, one path a line. */
static char synchronised[1 << 13];

/* In this program, instead of that of the C library. */
int fsync(int descriptor)
{
	const size_t length = strlen(synchronised);
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	size = length && !file_is_there("new.0")
		       ? readlink(link, synchronised + length,
				  sizeof(synchronised) - length - 2)
		       : 0;
	if (size > 0)
		strcpy(synchronised + length + size, "\n");
	return (int)syscall(SYS_fsync, descriptor);
}

/* Or a crash would leave some files, and not the list that names them. */
PROMISE(merge_tool, synchronises_all_folders_of_new_files_before_it_moves_any)
{
	char folder[256], last[600];

	enter_set();
	make_stages(f);
	cr_assert(getcwd(folder, sizeof(folder)));
	strcpy(synchronised, "\n");
	cr_assert(!RUN(merge, "old", "new", "--mesh", "data=2,pipe=3"), "%s",
		  said);
	cr_assert(strstr(synchronised, ".set\n"), "%s", synchronised);
	snprintf(last, sizeof(last), "\n%s/.philox-%ju\n%s\n", folder,
		 (uintmax_t)geteuid(), folder);
	cr_assert(strstr(synchronised, last), "%s", synchronised);
	*synchronised = '\0';
	leave_set();
}

PROMISE(merge_tool, makes_a_set_that_is_called_as_the_folder_of_new_files)
{
	char name[40];

	enter_set();
	make_stages(f);
	snprintf(name, sizeof(name), ".philox-%ju", (uintmax_t)geteuid());
	cr_assert(!RUN(merge, "old", name, "--mesh", "data=2,pipe=3"), "%s",
		  said);
	cr_assert_eq(files_of(name), 7);
	leave_set();
}

/* --- what others say of sets ---------------------------------------------- */

PROMISE(merge_tool, and_inspect_show_whether_texts_are_whole)
{
	char *text;

	enter_set();
	make_stages(f);
	cr_assert_eq(RUN(inspect, "old"), 0);
	SAID("set of saved contexts\n\nranks 6\n  \"data\": 2\n"
	     "  \"pipe\": 3, stages\n\ntexts\n  0: checksum ");
	SAID(", whole\n  5: ");
	cr_assert_eq(RUN(inspect, "old.4"), 0);
	SAID("rank 4 of 6\n  \"data\": 1 of 2\n  \"pipe\": 1 of 3, stages\n");
	SAID("    differs along \"data\"\n");
	cr_assert_eq(RUN(inspect, "--json", "old.4"), 0);
	SAID("\"mesh\":[{\"name\":\"data\",\"size\":2,\"coordinate\":1,"
	     "\"stages\":false},");
	SAID("\"differs\":[\"data\"]");
	text = file_text("old.1");
	put_bytes("old.1", text, 60);
	free(text);
	cr_assert(!unlink("old.3"));
	cr_assert_eq(RUN(inspect, "old"), 1);
	SAID(", line 3, where the text ends: ");
	SAID(", cannot be opened: No such file");
	cr_assert_eq(RUN(inspect, "--json", "old"), 1);
	SAID("\"whole\":false,\"fault\":\"cannot be opened: No such file");
	leave_set();
}

PROMISE(merge_tool, takes_coordinates_as_decimal_numbers)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct bed bed;

	enter_set();
	bed_open(&bed, f, &mesh, 5);
	for (unsigned i = 0; i < 2; i++)
		make_along(bed.context[i], "noise", &along_data);
	save_bed(&bed, "a");
	bed_close(&bed);
	cr_assert_eq(RUN(merge, "a", "new", "--mesh", "data=11", "--place",
			 "noise=data:010"),
		     0);
	for (unsigned i = 0; i < 11; i++) {
		char path[16], *text;

		snprintf(path, sizeof(path), "new.%u", i);
		text = file_text(path);
		cr_assert_eq(strstr(text, "\"noise\" alive") != NULL, i == 10,
			     "rank %u", i);
		free(text);
	}
	leave_set();
}

PROMISE(merge_tool, and_diff_compare_sets_rank_by_rank)
{
	struct philox_mesh mesh = mesh_of("data=0/2");
	struct philox_region *region[2];
	struct bed bed;

	enter_set();
	bed_open(&bed, f, &mesh, 5);
	for (unsigned i = 0; i < 2; i++)
		region[i] = make_along(bed.context[i], "noise", &along_data);
	save_bed(&bed, "a");
	save_bed(&bed, "b");
	cr_assert_eq(RUN(diff, "a", "b"), 0);
	SAID("no difference: ranks 2\n");
	cr_assert(!unlink("b.1"));
	cr_assert_eq(RUN(diff, "a", "b"), 2); /* though they end alike */
	SAID("'b.1': cannot be opened");
	forward(f, region[1]);
	save_bed(&bed, "c");
	bed_close(&bed);
	cr_assert_eq(RUN(diff, "a", "c"), 1);
	SAID("rank 1: region \"noise\": offset 0 in A, 4 in B\n");
	cr_assert_eq(RUN(diff, "a.0", "a.1"), 1);
	SAID("mesh: axis \"data\": coordinate 0 in A, 1 in B\n");
	cr_assert_eq(RUN(merge, "a", "new", "--mesh", "data=3:stages"), 0);
	cr_assert_eq(RUN(diff, "a", "new"), 1);
	SAID("mesh: axis \"data\": size 2 in A, 3 in B\n");
	cr_assert_eq(RUN(merge, "a", "more", "--mesh", "data=2,x=1"), 0);
	cr_assert_eq(RUN(diff, "a", "more"), 1);
	SAID("mesh: axes 1 in A, 2 in B\n");
	cr_assert(!unlink("c.1"));
	cr_assert_eq(RUN(diff, "a", "c"), 2);
	SAID("'c.1': cannot be opened");
	cr_assert_eq(RUN(diff, "a", "a.0"), 2);
	SAID("'a' is a set of saved contexts, 'a.0' is not");
	leave_set();
}
