/*
 * tools/info.c - philox info: the version, the devices and the processor
 *
 * A device that cannot be opened is part of the answer, not an error.
 */
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>
#include <philox.h>
#include "tools/cli/cli.h"

/* The instruction sets that decide the speed of the host device. */
struct instruction_set {
	const char *name;
	int found;
};

#define N_SETS 4

static void find_instruction_sets(struct instruction_set sets[N_SETS])
{
	static const char *const names[N_SETS] = {"sse2", "fma", "avx2",
						  "avx512f"};
	int i;

	for (i = 0; i < N_SETS; i++) {
		sets[i].name = names[i];
		sets[i].found = 0;
	}
#if defined(__x86_64__) || defined(__i386__)
	__builtin_cpu_init();
	sets[0].found = !!__builtin_cpu_supports("sse2");
	sets[1].found = !!__builtin_cpu_supports("fma");
	sets[2].found = !!__builtin_cpu_supports("avx2");
	sets[3].found = !!__builtin_cpu_supports("avx512f");
#endif
}

/* The line of a device: its description, or why it is missing. */
struct finding {
	char name[32];
	char text[256];
	int found;
};

/* The message, without the device's name in front, which is shown already. */
static void note_failure(struct finding *finding)
{
	const char *message = philox_error_message();
	size_t length = strlen(finding->name);

	if (!strncmp(message, finding->name, length) &&
	    !strncmp(message + length, ": ", 2))
		message += length + 2;
	finding->found = 0;
	snprintf(finding->text, sizeof(finding->text), "%s", message);
}

static void look_at(struct finding *finding)
{
	struct philox_device *device;

	if (philox_device_open(finding->name, &device)) {
		note_failure(finding);
		return;
	}
	finding->found = 1;
	snprintf(finding->text, sizeof(finding->text), "%s",
		 philox_device_description(device));
	philox_device_close(device);
}

/*
 * each_device() calls `tell` for every device: the host, then each GPU, or once
 * for "cuda" if there is none.
 */
static void each_device(void (*tell)(const struct finding *, struct json *),
			struct json *json)
{
	struct finding finding = {.name = "host"};
	unsigned count, i;

	look_at(&finding);
	tell(&finding, json);
	if (philox_device_count("cuda", &count)) {
		strcpy(finding.name, "cuda");
		note_failure(&finding);
		tell(&finding, json);
		return;
	}
	for (i = 0; i < count; i++) {
		snprintf(finding.name, sizeof(finding.name), "cuda:%u", i);
		look_at(&finding);
		tell(&finding, json);
	}
}

static void tell_text(const struct finding *finding, struct json *json)
{
	(void)json;
	printf("%-8s  %s%s\n", finding->name,
	       finding->found ? "" : "not available: ", finding->text);
}

static void tell_json(const struct finding *finding, struct json *json)
{
	json_object(json, NULL);
	json_string(json, "name", finding->name);
	json_bool(json, "available", finding->found);
	json_string(json, finding->found ? "description" : "reason",
		    finding->text);
	json_close(json);
}

static int print_text(void)
{
	struct instruction_set sets[N_SETS];
	int i;

	printf("philox    %s\n", philox_version());
	printf("build     %s\n", philox_build());
	each_device(tell_text, NULL);
	find_instruction_sets(sets);
	printf("processor");
	for (i = 0; i < N_SETS; i++)
		printf(" %s%s", sets[i].found ? "" : "no-", sets[i].name);
	printf("\n");
	return 0;
}

static int print_json(void)
{
	struct instruction_set sets[N_SETS];
	struct json json;
	int i;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "version", philox_version());
	json_string(&json, "build", philox_build());
	json_array(&json, "devices");
	each_device(tell_json, &json);
	json_close(&json);
	find_instruction_sets(sets);
	json_object(&json, "processor");
	for (i = 0; i < N_SETS; i++)
		json_bool(&json, sets[i].name, sets[i].found);
	json_close(&json);
	json_close(&json);
	return json_end(&json) ? 1 : 0;
}

static const char usage[] =
	"usage: philox info [OPTION]...\n"
	"\n"
	"Show the version, how it was built, the devices and the processor.\n"
	"\n"
	"  --json  as one JSON object\n"
	"  --help  " HELP_HELP "\n"
	"\n"
	"Exit status: 0 done, 1 it failed, 2 the command line is wrong.\n";

int tool_info(int argc, char **argv)
{
	int json = 0, status;
	const struct tool_option options[] = {
		{"json", TAKES_NOTHING, .to = &json}, {0}};

	status = read_options(argc, argv, options, usage, 0);
	if (status >= 0)
		return status;
	return json ? print_json() : print_text();
}
