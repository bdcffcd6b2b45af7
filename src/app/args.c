/* args.c - parses a command line by a table of options. */
#include "app/args.h"

#include <string.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/json.h"
#include "base/say.h"
#include "base/world.h"

static void append(struct hps_arg_list *list, char *word)
{
    char **more = hps_mem_new((size_t)list->n + 1, sizeof *more);
    for (int i = 0; i < list->n; i++)
        more[i] = list->item[i];
    more[list->n] = word;
    hps_mem_free(list->item);
    list->item = more;
    list->n++;
}

static const struct hps_arg *find(const struct hps_arg *table, const char *word, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, word, length) == 0) return table;
    return NULL;
}

static enum hps_status unknown(const struct hps_arg *table, const char *verb, const char *word,
                               size_t length)
{
    const char *names[32];
    char given[64];
    int n = 0;
    for (; table->name && n < 32; table++)
        names[n++] = table->name;
    if (length >= sizeof given) length = sizeof given - 1;
    memcpy(given, word, length);
    given[length] = 0;
    const char *nearest = hps_deck_nearest(given, names, n);
    HPS_SAY(HPS_ERROR, "heterps %s: unknown option '--%s'%s%s%s", verb, given,
            nearest ? "; did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return HPS_USAGE;
}

/* Parse one option; *i advances where the next word is its value. */
static enum hps_status option(int argc, char **argv, int *i, const struct hps_arg *table)
{
    char *word = argv[*i] + 2, *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : strlen(word);
    const struct hps_arg *a = argv[*i][1] == '-' ? find(table, word, length) : NULL;

    if (!a)
        return unknown(table, argv[0], argv[*i][1] == '-' ? word : word - 1,
                       length + (argv[*i][1] != '-'));
    if (a->flag) {
        if (value) {
            HPS_SAY(HPS_ERROR, "heterps %s: --%s takes no value", argv[0], a->name);
            return HPS_USAGE;
        }
        *a->flag = true;
        return HPS_OK;
    }
    if (!value && *i + 1 >= argc) {
        HPS_SAY(HPS_ERROR, "heterps %s: --%s wants a value", argv[0], a->name);
        return HPS_USAGE;
    }
    value = value ? value + 1 : argv[++*i];
    if (a->text)
        *a->text = value;
    else
        append(a->list, value);
    return HPS_OK;
}

enum hps_status hps_args_parse(int argc, char **argv, const struct hps_arg *table, int min,
                               int max, struct hps_arg_list *operand)
{
    bool over = false;
    enum hps_status st = HPS_OK;

    for (int i = 1; !st && i < argc; i++) {
        if (over || argv[i][0] != '-' || argv[i][1] == 0)
            append(operand, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            over = true;
        else
            st = option(argc, argv, &i, table);
    }
    if (st) return st;
    if (operand->n < min) {
        HPS_SAY(HPS_ERROR, "heterps %s: an operand is missing; see heterps %s --help", argv[0],
                argv[0]);
        return HPS_USAGE;
    }
    if (max >= 0 && operand->n > max) {
        HPS_SAY(HPS_ERROR, "heterps %s: one operand too many: '%s'", argv[0], operand->item[max]);
        return HPS_USAGE;
    }
    return HPS_OK;
}

void hps_args_done(struct hps_arg_list *list)
{
    hps_mem_free(list->item);
    *list = (struct hps_arg_list){ 0, NULL };
}

enum hps_status hps_args_json(const char *path, char *text)
{
    enum hps_status st = HPS_OK;
    if (hps_rank() == 0 && strcmp(path, "-") == 0)
        hps_out("%s", text);
    else if (hps_rank() == 0)
        st = hps_json_write(path, text);
    hps_mem_free(text);
    return st;
}
