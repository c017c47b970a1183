/*
 * tools/formats/json.c - lines of texts as JSON
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/formats/formats.h"

static void json_flags(struct json *json, const struct field *field,
		       uint64_t flags)
{
	for (unsigned i = 0; field->words[i]; i++)
		json_bool(json, field->words[i], flags >> i & 1);
}

static void json_state(struct json *json, const struct field *field,
		       const void *object)
{
	const struct philox_state state = field_state(field, object);

	json_hash(json, "seed", state.seed);
	json_unsigned(json, "offset", state.offset);
}

static void json_field(struct json *json, const struct field *field,
		       const void *object)
{
	const char *name = field_name(field);

	switch (field->kind) {
	case FIELD_NAME:
	case FIELD_TEXT:
		json_string(json, name, field_text(field, object));
		return;
	case FIELD_CHOICE:
		json_string(json, name,
			    field->words[field_number(field, object)]);
		return;
	case FIELD_FLAGS:
		json_flags(json, field, field_number(field, object));
		return;
	case FIELD_EITHER:
	case FIELD_MARK:
		json_bool(json, name, field_number(field, object) != 0);
		return;
	case FIELD_HEX:
		json_hash(json, name, field_number(field, object));
		return;
	case FIELD_STATE:
		json_state(json, field, object);
		return;
	case FIELD_TIMES:
		if (field_number(field, object) == PHILOX_NEVER) {
			json_string(json, name, NULL);
			return;
		}
		/* fall through */
	default:
		json_unsigned(json, name, field_number(field, object));
	}
}

void json_fields(struct json *json, const struct field *field,
		 const void *object)
{
	for (; field->kind != FIELD_END; field++)
		if (*field_name(field) && field_is_there(field, object))
			json_field(json, field, object);
}

void json_line(struct json *json, const char *name, const struct field *field,
	       const void *object)
{
	json_object(json, name);
	json_fields(json, field, object);
	json_close(json);
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
