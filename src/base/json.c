#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/quit.h"
#include "base/say.h"

enum { MAX_BYTES = 256 << 20 };        /* some devices never end */

void hps_json_begin(void)
{
    json_set_alloc_funcs(hps_mem_foreign, free);
}

enum hps_status hps_json_parse(json_t **tree, const char *from, const char *format,
                               const char *text, size_t length)
{
    json_error_t e;

    *tree = json_loadb(text, length, JSON_REJECT_DUPLICATES, &e);
    if (!*tree) {
        HPS_SAY(HPS_ERROR, "%s:%d:%d: not JSON: %s", from, e.line, e.column, e.text);
        return HPS_DECK;
    }
    const char *is = json_string_value(json_object_get(*tree, "format"));
    if (is && strcmp(is, format) == 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: the format is %s, wanted is %s", from, is ? is : "not named", format);
    json_decref(*tree);
    *tree = NULL;
    return HPS_DECK;
}

enum hps_status hps_json_read(char **text, size_t *length, const char *path)
{
    *text = NULL;
    if (hps_outputs_will_read(path)) return HPS_USAGE;
    if (!hps_file_read(text, length, MAX_BYTES, path)) {
        HPS_SAY(HPS_ERROR, "%s: cannot be read: %s", path, hps_file_why(errno));
        return HPS_INPUT;
    }
    if (*length <= MAX_BYTES) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: more than %d MiB: that is no JSON of ours", path, MAX_BYTES >> 20);
    hps_mem_free(*text);
    *text = NULL;
    return HPS_DECK;
}

enum hps_status hps_json_load(json_t **tree, const char *path, const char *format)
{
    char *text;
    size_t length;
    enum hps_status s = hps_json_read(&text, &length, path);

    *tree = NULL;
    if (!s) s = hps_json_parse(tree, path, format, text, length);
    hps_mem_free(text);
    return s;
}

static bool put_into(const char *device, const char *text)
{
    size_t n = strlen(text);
    FILE *f = fopen(device, "wb");

    if (!f) return false;
    bool good = fwrite(text, 1, n, f) == n;
    good = fclose(f) == 0 && good;
    return good;
}

enum hps_status hps_json_write(const char *path, const char *text)
{
    struct stat st;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return hps_file_save(path, text);
    if (put_into(path, text)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: cannot be written: %s", path, strerror(errno));
    return HPS_OUTPUT;
}

/* Bytes of a control character that the library writes as it is, U+007F to U+009F; 0: none. */
static int control(const char *s)
{
    return *s == 0x7f ? 1 : *s == '\xc2' && (unsigned char)s[1] < 0xa0 ? 2 : 0;
}

/* The text with those as \u00NN, as terminals may have it; it takes `text` over. */
static char *without_controls(char *text)
{
    size_t n = 0, controls = 0;

    for (const char *s = text; *s; s++, n++)
        controls += control(s) > 0;
    if (controls == 0) return text;
    char *shown = hps_mem_new(n + 5 * controls + 1, 1), *to = shown;
    for (const char *s = text; *s; s++) {
        int k = control(s);
        if (k == 0)
            *to++ = *s;
        else
            to += sprintf(to, "\\u%04x", (unsigned char)s[k - 1]);
        s += k > 1;
    }
    hps_mem_free(text);
    return shown;
}

json_t *hps_json_word(const char *word)
{
    json_t *text = json_string(word);
    size_t n = strlen(word), done = 0;

    if (text) return text;
    char *shown = hps_mem_new(4 * n + 1, 1);
    hps_escape(shown, &done, 4 * n, word, n, false);
    text = json_string(shown);
    hps_mem_free(shown);
    return text;
}

char *hps_json_text(json_t *tree)
{
    size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(17);
    size_t n = json_dumpb(tree, NULL, 0, flags);

    if (n == 0) HPS_DIE("JSON cannot be made: a text in it is not UTF-8");
    char *text = hps_mem_new(n + 2, 1);

    if (json_dumpb(tree, text, n, flags) != n) HPS_DIE("JSON of %zu bytes cannot be written", n);
    text[n] = '\n';
    json_decref(tree);
    return without_controls(text);
}

enum hps_status hps_json_save(json_t *tree, const char *path)
{
    char *text = hps_json_text(tree);
    enum hps_status s = hps_file_save(path, text);

    hps_mem_free(text);
    return s;
}

json_t *hps_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

bool hps_json_wrong(const struct hps_json_at *at, const char *key, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s: %s%s%s %s", at->from, at->place, *at->place && *key ? "." : "", key,
            what);
    return false;
}

bool hps_json_has(const struct hps_json_at *at, const char *key)
{
    return json_object_get(at->object, key) != NULL;
}

static const json_t *find(const struct hps_json_at *at, const char *key)
{
    const json_t *v = json_object_get(at->object, key);

    if (!v) hps_json_wrong(at, key, "is missing");
    return v;
}

bool hps_json_get_real(const struct hps_json_at *at, const char *key, double *x)
{
    const json_t *v = find(at, key);

    if (!v) return false;
    *x = json_number_value(v);
    return json_is_number(v) || hps_json_wrong(at, key, "must be a number");
}

bool hps_json_get_int(const struct hps_json_at *at, const char *key, long long *x)
{
    double r;

    if (!hps_json_get_real(at, key, &r)) return false;
    const json_t *v = json_object_get(at->object, key);
    if (json_is_integer(v))
        *x = json_integer_value(v);
    else if (fabs(r) < 1e15 && r == floor(r))
        *x = (long long)r;
    else
        return hps_json_wrong(at, key, "must be a whole number");
    return true;
}

bool hps_json_get_name(const struct hps_json_at *at, const char *key, char *name, size_t size)
{
    const json_t *v = find(at, key);

    if (!v) return false;
    if (!json_is_string(v)) return hps_json_wrong(at, key, "must be text");
    if (json_string_length(v) >= size) return hps_json_wrong(at, key, "is too long a name");
    memcpy(name, json_string_value(v), json_string_length(v) + 1);
    return true;
}

const json_t *hps_json_get_list(const struct hps_json_at *at, const char *key)
{
    const json_t *v = find(at, key);

    if (v && !json_is_array(v)) {
        hps_json_wrong(at, key, "must be a list");
        return NULL;
    }
    return v;
}

bool hps_json_get_reals(const struct hps_json_at *at, const char *key, int n, double *x)
{
    const json_t *list = hps_json_get_list(at, key);
    char what[96];

    if (!list) return false;
    if (json_array_size(list) != (size_t)n) {
        snprintf(what, sizeof what, "has %zu numbers, wanted are %d", json_array_size(list), n);
        return hps_json_wrong(at, key, what);
    }
    for (int i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, (size_t)i);
        if (!json_is_number(v)) {
            snprintf(what, sizeof what, "%s[%d]", key, i);
            return hps_json_wrong(at, what, "must be a number");
        }
        x[i] = json_number_value(v);
    }
    return true;
}

bool hps_json_get_object(struct hps_json_at *member, const struct hps_json_at *at, const char *key)
{
    *member = (struct hps_json_at){ at->from, key, json_object_get(at->object, key) };
    if (json_is_null(member->object)) member->object = NULL;
    return !member->object || json_is_object(member->object) ||
           hps_json_wrong(member, "", "must be an object");
}

bool hps_json_get_entry(struct hps_json_at *entry, const struct hps_json_at *at, const char *key,
                        size_t index, char *place, size_t size)
{
    snprintf(place, size, "%s[%zu]", key, index);
    *entry = (struct hps_json_at){ at->from, place,
                                   json_array_get(json_object_get(at->object, key), index) };
    return json_is_object(entry->object) || hps_json_wrong(entry, "", "must be an object");
}
