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

static void json_hex(struct json *json, const char *name, uint64_t number)
{
	char digits[17];

	snprintf(digits, sizeof(digits), "%016" PRIx64, number);
	json_string(json, name, digits);
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
		json_hex(json, name, field_number(field, object));
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
		if (*field_name(field))
			json_field(json, field, object);
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
