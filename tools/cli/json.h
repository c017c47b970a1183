/*
 * tools/cli/json.h - writing one JSON value on one line
 *
 *   json_begin(&json, stdout);
 *   json_object(&json, NULL);
 *   json_string(&json, "device", "host");
 *   json_array(&json, "losses");
 *   json_number(&json, NULL, 5.25);
 *   json_close(&json);
 *   json_close(&json);
 *   json_end(&json);        {"device":"host","losses":[5.25]}
 *
 * `key` is the member's name within an object, NULL within an array and at the
 * top. Numbers are written so that reading them gives the same bits back.
 */
#ifndef TOOLS_CLI_JSON_H
#define TOOLS_CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json {
	FILE *out;
	unsigned depth;
	char closer[JSON_DEPTH_MAX]; /* of each open object or array */
	char filled[JSON_DEPTH_MAX]; /* has it a member? */
};

void json_begin(struct json *json, FILE *out);

/* json_object() and json_array() open one, json_close() closes the last. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close(struct json *json);

/*
 * json_string() writes a string, NULL as null; a byte that is not UTF-8 becomes
 * U+FFFD. json_number() writes numbers that are not finite as null: JSON has no
 * word for them.
 */
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, int value);

/* json_end() ends the line and returns 0, or -1 if anything was not written. */
int json_end(struct json *json);

#endif
