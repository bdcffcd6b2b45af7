/* json.h - strict reading of JSON files: every complaint names the source and the place in it.
 *
 * A place is text like "layers[3].oct[1]". The getters answer false after one message. */
#ifndef HPS_BASE_JSON_H
#define HPS_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"

/* From here on JSON that finds no memory ends the run: hardly any of its calls could be checked one
 * by one, and one that fails leaves a key out. hps_begin does it. Local. */
void hps_json_begin(void);

/* Text to a tree whose "format" is `format`. Not JSON (a NaN, a key given twice): HPS_DECK with
 * line and column; another format: HPS_DECK. Free with json_decref. Pure but for messages. */
enum hps_status hps_json_parse(json_t **tree, const char *from, const char *format,
                               const char *text, size_t length);

/* A file whole: text to free with hps_mem_free. Missing or unreadable: HPS_INPUT; a file
 * that this command is to write (base/outputs.h): HPS_USAGE. Local. */
enum hps_status hps_json_read(char **text, size_t *length, const char *path);

/* Both at once: the tree of a file. Local. */
enum hps_status hps_json_load(json_t **tree, const char *path, const char *format);

/* The text to a file, which has its name only when it is whole (a device is written directly).
 * HPS_OUTPUT when it cannot be written. Local. */
enum hps_status hps_json_write(const char *path, const char *text);

/* The tree's text to a regular file, which has its name only when it is whole; frees the tree.
 * HPS_OUTPUT when it cannot be written. Local. */
enum hps_status hps_json_save(json_t *tree, const char *path);

/* The tree as text with 17 digits, its last line ended, control characters as \u00NN; frees the
 * tree. Free with hps_mem_free. */
char *hps_json_text(json_t *tree);

/* A word of another's; where it is no UTF-8, as hps_escape shows it. */
json_t *hps_json_word(const char *word);

/* A real that may be infinite or NaN, which JSON has no word for: then null. */
json_t *hps_json_real(double x);

/* Where a getter looks: `place` is "" at the top, else like "types[0]". */
struct hps_json_at {
    const char *from, *place;
    const json_t *object;
};

bool hps_json_get_real(const struct hps_json_at *at, const char *key, double *x);
bool hps_json_get_int(const struct hps_json_at *at, const char *key, long long *x);
bool hps_json_get_name(const struct hps_json_at *at, const char *key, char *name, size_t size);
/* A list of exactly n reals. */
bool hps_json_get_reals(const struct hps_json_at *at, const char *key, int n, double *x);
/* A list (borrowed); NULL after a message. */
const json_t *hps_json_get_list(const struct hps_json_at *at, const char *key);
/* An object of a list, with its place written into `place` (owned by the caller). */
bool hps_json_get_entry(struct hps_json_at *entry, const struct hps_json_at *at, const char *key,
                        size_t index, char *place, size_t size);
/* The object at a key, whose place is the key, in `member`; member->object is NULL where the key is
 * missing or null. */
bool hps_json_get_object(struct hps_json_at *member, const struct hps_json_at *at, const char *key);
bool hps_json_has(const struct hps_json_at *at, const char *key);

/* Say what is wrong at a key; always false. */
bool hps_json_wrong(const struct hps_json_at *at, const char *key, const char *what);

#endif
