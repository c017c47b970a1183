/*
 * tools/common/runner_json.c - see tools/common/runner_json.h
 */
#include <stdio.h>
#include <stdlib.h>
#include "tools/common/runner_json.h"

void json_times(struct json *json, const char *key, uint32_t number)
{
	if (number == PHILOX_NEVER)
		json_string(json, key, NULL);
	else
		json_unsigned(json, key, number);
}

void json_policy(struct json *json, const struct philox_policy *policy)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};

	json_object(json, "policy");
	json_string(json, "moved", moved[policy->moved]);
	json_string(json, "live", live[policy->live]);
	json_string(json, "refused", refused[policy->refused]);
	json_unsigned(json, "limit", policy->limit);
	json_unsigned(json, "warmups", policy->warmups);
	json_unsigned(json, "dry", policy->dry);
	json_times(json, "after", policy->after);
	json_times(json, "again", policy->again);
	json_times(json, "retry", policy->retry);
	json_unsigned(json, "keys", policy->keys);
	json_unsigned(json, "verify", policy->verify);
	json_string(json, "differs", differs[policy->differs]);
	json_unsigned(json, "bytes", policy->bytes);
	json_close(json);
}

void json_function_flags(struct json *json, uint32_t flags)
{
	json_bool(json, "eager", (flags & PHILOX_FUNCTION_EAGER) != 0);
	json_bool(json, "collective",
		  (flags & PHILOX_FUNCTION_COLLECTIVE) != 0);
}

void json_input_flags(struct json *json, uint32_t flags)
{
	json_bool(json, "mutated", (flags & PHILOX_INPUT_MUTATED) != 0);
	json_bool(json, "write_back", (flags & PHILOX_INPUT_WRITE_BACK) != 0);
}

void json_key_bytes(struct json *json, const unsigned char *bytes, size_t size)
{
	char *hex = malloc(2 * size + 1);

	if (!hex)
		return;
	hex[0] = '\0';
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	json_string(json, "hex", hex);
	free(hex);
}
