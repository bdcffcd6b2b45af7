/* info.c - the verb `info`: prints the content of a file of this program. */
#include "app/info/info_impl.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/args.h"
#include "app/verbs.h"
#include "base/h5.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"

/* The destination of a listing of an HDF5 file. */
struct listing {
    bool quiet;
    json_t *attributes, *datasets;
};

/* Print the first line of a text, at max `max` bytes, without cutting a character. */
static void out_cut(const char *text, size_t max)
{
    size_t n = strcspn(text, "\n");

    for (n = n < max ? n : max; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--;
    hps_out("%.*s%s\n", (int)n, text, text[n] ? " ..." : "");
}

static void add_attribute(void *self, const char *name, const char *text, bool number)
{
    struct listing *l = self;
    json_t *value = number ? json_loads(text, JSON_DECODE_ANY, NULL) : hps_json_word(text);

    if (!value) value = hps_json_word(text); /* several numbers */
    json_object_set_new(l->attributes, name, value ? value : json_null());
    if (!l->quiet) {
        hps_out("  %-20s ", name);
        out_cut(text, 90);
    }
}

static void add_dataset(void *self, const char *name, long long nrow, int width)
{
    struct listing *l = self;

    json_object_set_new(l->datasets, name, json_pack("[I, i]", (json_int_t)nrow, width));
    if (!l->quiet && width)
        hps_out("  %-40s %lld x %d\n", name, nrow, width);
    else if (!l->quiet)
        hps_out("  %-40s %lld\n", name, nrow);
}

static enum hps_status list_h5(struct hps_h5 *h, const char *format, bool quiet, json_t *into)
{
    struct listing l = { quiet, json_object(), json_object() };
    enum hps_status s;

    if (!quiet) hps_out("%s: %s\nattributes\n", h->path, format);
    s = hps_h5_attributes(h, "/", &l, add_attribute);
    if (!quiet) hps_out("datasets\n");
    if (!s) s = hps_h5_datasets(h, &l, add_dataset);
    json_object_set_new(into, "kind", json_string(format));
    json_object_set_new(into, "attributes", l.attributes);
    json_object_set_new(into, "datasets", l.datasets);
    return s;
}

enum hps_status hps_info_h5(const char *path, bool quiet, json_t *into)
{
    struct hps_h5 h;
    char *format = NULL;
    bool dataset = false;
    enum hps_status s = hps_h5_open(&h, path);

    if (s) return s;
    if (hps_h5_get_text(&h, "/", "format", &format, true) ||
        strncmp(format, "heterps-", 8) != 0) {
        HPS_SAY(HPS_ERROR, "%s: an HDF5 file, but none of heterps: it has no format", path);
        s = HPS_DECK;
    } else {
        dataset = strcmp(format, "heterps-dataset-1") == 0;
        if (!dataset) s = list_h5(&h, format, quiet, into);
    }
    hps_mem_free(format);
    s = hps_h5_read(&h, s);
    return dataset && !s ? hps_info_dataset(path, quiet, into) : s;
}

/* A value in one line: words and numbers, or the size of a list or an object. */
static void print_value(const char *key, const json_t *value)
{
    char *text = NULL;

    if (json_is_array(value))
        hps_out("  %-20s %zu entries\n", key, json_array_size(value));
    else if (json_is_object(value))
        hps_out("  %-20s %zu keys\n", key, json_object_size(value));
    else if ((text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))))
        hps_out("  %-20s %s\n", key, text);
    free(text);
}

/* The entries of the lists of types, layers and stages. */
static void print_entries(const char *key, const json_t *list)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry) {
        char *text = json_dumps(entry, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        hps_out("  %s[%zu] ", key, i);
        out_cut(text ? text : "", 160);
        free(text);
    }
}

enum hps_status hps_info_json(const char *path, bool quiet, json_t *into)
{
    char *text;
    const char *key, *format;
    size_t length;
    json_t *tree, *value;
    json_error_t error;
    enum hps_status s = hps_json_read(&text, &length, path);

    if (s) return s;
    tree = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    hps_mem_free(text);
    format = json_string_value(json_object_get(tree, "format"));
    if (!format || strncmp(format, "heterps-", 8) != 0) {
        if (!tree)
            HPS_SAY(HPS_ERROR, "%s: neither HDF5 nor JSON: %d:%d: %s", path, error.line,
                    error.column, error.text);
        else
            HPS_SAY(HPS_ERROR, "%s: JSON, but not of heterps: it has no format", path);
        json_decref(tree);
        return HPS_DECK;
    }
    if (!quiet) {
        hps_out("%s: %s\n", path, format);
        json_object_foreach(tree, key, value)
            if (strcmp(key, "format") != 0) print_value(key, value);
        json_object_foreach(tree, key, value)
            print_entries(key, value);
    }
    json_object_set_new(into, "kind", json_string(format));
    json_object_set_new(into, "content", tree);
    return HPS_OK;
}

static bool is_hdf5(const char *path)
{
    static const char magic[8] = "\x89HDF\r\n\x1a\n";
    char begin[8] = { 0 };
    struct stat facts;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block */
    bool same = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                read(fd, begin, 8) == 8 && memcmp(begin, magic, 8) == 0;

    if (fd >= 0) close(fd);
    return same;
}

/* A path that ends in .h5 is meant to be HDF5. */
static bool is_named_h5(const char *path)
{
    size_t n = strlen(path);

    return n > 3 && strcmp(path + n - 3, ".h5") == 0;
}

/* Print the content of a file, and add it to *into, a new object. */
static enum hps_status print_file(const char *path, bool quiet, json_t **into)
{
    *into = json_pack("{s:s, s:o}", "format", "heterps-info-1", "file", hps_json_word(path));
    return is_hdf5(path) || is_named_h5(path) ? hps_info_h5(path, quiet, *into)
                                              : hps_info_json(path, quiet, *into);
}

/* The object of one file, or a list of those of several. All files are read; the status is that
 * of the first failure. */
static enum hps_status print_files(const struct hps_arg_list *file, bool quiet, json_t **all)
{
    json_t *list = json_array(), *one = NULL;
    enum hps_status s = HPS_OK;

    for (int i = 0; i < file->n; i++) {
        if (i > 0 && !quiet) hps_out("\n");
        enum hps_status st = print_file(file->item[i], quiet, &one);
        s = s ? s : st;
        json_array_append_new(list, one);
    }
    *all = file->n == 1 ? json_incref(one)
                        : json_pack("{s:s, s:O}", "format", "heterps-infos-1", "files", list);
    json_decref(list);
    return s;
}

enum hps_status hps_app_info(int argc, char **argv, MPI_Comm world)
{
    const char *json = NULL;
    struct hps_arg_list file = { 0 };
    const struct hps_arg table[] = { { "json", &json, NULL, NULL }, { 0 } };
    enum hps_status s = hps_args_parse(argc, argv, table, 1, -1, &file);
    json_t *all = NULL;

    (void)world;
    if (!s) s = hps_outputs_add("json", &json, HPS_OUTPUT_ANY);
    if (!s) s = print_files(&file, json && strcmp(json, "-") == 0, &all);
    if (!s && json)
        s = hps_args_json(json, hps_json_text(all));
    else
        json_decref(all);
    hps_args_done(&file);
    return s ? s : hps_out_flush();
}
