#pragma once
#include <jansson.h>

/* json_typeof() is a macro, and json_error_t.text is an array of char. */
static inline json_type fanfare_json_type(const json_t *value) { return json_typeof(value); }
static inline const char *fanfare_json_error_text(const json_error_t *error) { return error->text; }
