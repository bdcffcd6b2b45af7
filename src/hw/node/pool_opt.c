/* pool_opt.c - the deck's `resources`: keys, defaults, contradictions. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "hw/pool.h"

const struct hps_field hps_resource_fields[] = {
    HPS_FIELD(hps_resource_opt, name, HPS_TEXT, "cpu", 0, 0, "", "of the type"),
    HPS_FIELD(hps_resource_opt, match, HPS_TEXT, "\"*\"", 0, 0, "",
              "glob on host, CPU model or GPU model"),
    HPS_FIELD(hps_resource_opt, price_usd_hour, HPS_REAL, "0.04", 0, 1e6, "USD", "an hour"),
    HPS_CHOICE(hps_resource_opt, price_per, "core", "core|unit",
               "a unit is one rank: its cores, or one GPU"),
    HPS_FIELD(hps_resource_opt, limit, HPS_LONG, "0", 0, 1e9, "units", "0: as many as there are"),
    HPS_FIELD(hps_resource_opt, memory, HPS_REAL, "0", 0, 1e18, "bytes",
              "of a unit; 0: its share of the host"),
    { 0 }
};

const struct hps_field hps_resource_emulate_fields[] = {
    { "ranks", HPS_TEXT, offsetof(struct hps_resource_opt, emulate_ranks), "\"\"", 0, 0, NULL, "",
      "that are a type of their own: \"1-3,5\"; none: this run has none of it" },
    { "slow", HPS_REAL, offsetof(struct hps_resource_opt, emulate_slow), "1", 1, 1e6, NULL, "",
      "their computation, of a server its updates, lasts this many times as long" },
    { "late", HPS_TEXT, offsetof(struct hps_resource_opt, emulate_late), "\"\"", 0, 0, NULL, "",
      "of these, where slow is above 1, the ranks that are slower in a run than when measured" },
    { "late_slow", HPS_REAL, offsetof(struct hps_resource_opt, emulate_late_slow), "1", 1, 1e6,
      NULL, "", "how many times" },
    { "stall_share", HPS_REAL, offsetof(struct hps_resource_opt, emulate_stall_share), "0", 0, 1,
      NULL, "", "share of a rank's steps, drawn, that last longer in a run" },
    { "stall_slow", HPS_REAL, offsetof(struct hps_resource_opt, emulate_stall_slow), "1", 1, 1e6,
      NULL, "", "how many times" },
    { 0 }
};

const struct hps_field hps_resource_slurm_fields[] = {
    { "partition", HPS_TEXT, offsetof(struct hps_resource_opt, slurm_partition), "\"\"", 0, 0,
      NULL, "", "where Slurm has such nodes" },
    { "constraint", HPS_TEXT, offsetof(struct hps_resource_opt, slurm_constraint), "\"\"", 0, 0,
      NULL, "", "features of such nodes" },
    { "gres", HPS_TEXT, offsetof(struct hps_resource_opt, slurm_gres), "\"\"", 0, 0, NULL, "",
      "of a unit, as gpu:1" },
    { "cores", HPS_INT, offsetof(struct hps_resource_opt, slurm_cores), "0", 0, 1e6, NULL, "",
      "of a unit; 0: the threads that it was measured with" },
    { 0 }
};

int hps_pool_range(const char **text, int *first, int *last)
{
    long from, to;
    char *end;

    *text += strspn(*text, " ");
    if (**text == '\0') return 0;
    if (**text < '0' || **text > '9') return -1;
    from = to = strtol(*text, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') to = strtol(end + 1, &end, 10);
    end += strspn(end, " ");
    if (from > to || to >= INT_MAX || (*end != ',' && *end != '\0') ||
        (*end == ',' && end[1 + strspn(end + 1, " ")] == '\0'))
        return -1;
    *text = *end == ',' ? end + 1 : end;
    *first = (int)from;
    *last = (int)to;
    return 1;
}

static bool is_list(const char *text)
{
    int first, last, got = -1;

    if (strcmp(text, "none") == 0) return true;
    for (bool more = true; more; more = got > 0)
        got = hps_pool_range(&text, &first, &last);
    return got == 0;
}

static enum hps_status bind_entry(struct hps_resource_opt *e, const struct hps_deck *deck,
                                  const struct hps_item *item)
{
    static const char *const inner[] = { "emulate", "slurm", NULL };
    const struct hps_item *emulate = NULL, *slurm = NULL;
    enum hps_status s = hps_deck_bind(deck, item, hps_resource_fields, NULL, inner, e);

    if (!s && item) s = hps_item_map(item, "emulate", &emulate);
    if (!s) s = hps_deck_bind(deck, emulate, hps_resource_emulate_fields, NULL, NULL, e);
    if (!s && item) s = hps_item_map(item, "slurm", &slurm);
    if (!s) s = hps_deck_bind(deck, slurm, hps_resource_slurm_fields, NULL, NULL, e);
    e->item = item;
    if (!s && e->emulate_late[0] && !is_list(e->emulate_late))
        return hps_deck_wrong(emulate, "late", "'%s' is no list of ranks like \"1-3,5\"",
                              e->emulate_late);
    if (!s && emulate && !e->emulate_ranks[0])
        return hps_deck_wrong(item, "emulate", "emulate needs ranks, as {ranks: \"1-3,5\"}");
    if (!s && !is_list(e->emulate_ranks))
        return hps_deck_wrong(emulate, "ranks", "'%s' is no list of ranks like \"1-3,5\", nor none",
                              e->emulate_ranks);
    if (!s && (!e->name[0] || strlen(e->name) > HPS_NODE_TEXT - 16))
        return hps_deck_wrong(item, "name", "a name has 1 to %d bytes", HPS_NODE_TEXT - 16);
    return s;
}

enum hps_status hps_pool_bind(struct hps_pool_opt *opt, const struct hps_deck *deck)
{
    const struct hps_item *const *items = NULL;
    int n = 0;
    enum hps_status s = hps_deck_entries(deck, "resources", &n, &items);

    *opt = (struct hps_pool_opt){ 0, NULL };
    if (s) return s;
    opt->n = n > 0 ? n : 1;
    opt->entry = hps_mem_new((size_t)opt->n, sizeof *opt->entry);
    for (int i = 0; i < opt->n && !s; i++) {
        s = bind_entry(&opt->entry[i], deck, n > 0 ? items[i] : NULL);
        for (int j = 0; j < i && !s; j++)
            if (strcmp(opt->entry[i].name, opt->entry[j].name) == 0)
                s = hps_deck_wrong(items[i], "name", "two resources are called '%s'",
                                   opt->entry[i].name);
    }
    return s;
}

void hps_pool_opt_done(struct hps_pool_opt *opt)
{
    hps_mem_free(opt->entry);
    *opt = (struct hps_pool_opt){ 0, NULL };
}

void hps_pool_print_reference(enum hps_deck_form form)
{
    static const char lines[] =
        "  - {name: cpu, match: \"*\", price_usd_hour: 0.04, price_per: core}\n";

    hps_deck_print_section(form, "resources", lines);
    hps_deck_print_group(form, "Every entry has:", NULL);
    hps_deck_print_table(form, true, hps_resource_fields);
    hps_deck_print_group(form, "emulate: {...}", "ranks that stand for other hardware");
    hps_deck_print_table(form, true, hps_resource_emulate_fields);
    hps_deck_print_group(form, "slurm: {...}", "how a batch script asks for such units");
    hps_deck_print_table(form, true, hps_resource_slurm_fields);
}
