/*
 * tools/common/runner_json.h - what plans and snapshots of runners have in
 * common, as JSON, in one spelling: names are those of philox/runner.h
 */
#ifndef TOOLS_COMMON_RUNNER_JSON_H
#define TOOLS_COMMON_RUNNER_JSON_H

#include <stddef.h>
#include <philox/runner.h>
#include "tools/cli/cli.h"

/* A number of calls; null: PHILOX_NEVER. */
void json_times(struct json *json, const char *key, uint32_t number);

/* The member "policy"; flags of a function, or of an input, each as a bool. */
void json_policy(struct json *json, const struct philox_policy *policy);
void json_function_flags(struct json *json, uint32_t flags);
void json_input_flags(struct json *json, uint32_t flags);

/* The member "hex", with all bytes of a key. */
void json_key_bytes(struct json *json, const unsigned char *bytes, size_t size);

#endif
