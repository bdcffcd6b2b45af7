/* job_pool_deck.c - a pool as a deck: types, and nodes with units of them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "jobs/host_list.h"
#include "jobs/job_pool.h"

enum { TYPES = 1024 };          /* at most */

struct type_entry {
    const char *name;
    double price_usd_hour;
};
static const struct hps_field type_fields[] = {
    HPS_FIELD(type_entry, name, HPS_TEXT, NULL, 0, 0, "",
              "as jobs' decks call it in `resources`, or tables of speeds do"),
    HPS_FIELD(type_entry, price_usd_hour, HPS_REAL, "0", 0, 1e6, "USD", "an hour of a unit"),
    { 0 }
};

struct node_entry {
    const char *name;
};
static const struct hps_field node_fields[] = {
    HPS_FIELD(node_entry, name, HPS_TEXT, NULL, 0, 0, "",
              "of a node, or of many as batch systems write them: n[0-15,20]"),
    { 0 }
};

/* ---- types ---- */

static enum hps_status bind_types(struct hps_job_pool *pool, const struct hps_deck *deck)
{
    const struct hps_item *const *item;
    int n = 0;
    enum hps_status st = hps_deck_entries(deck, "types", &n, &item);

    if (!st && (n == 0 || n > TYPES))
        st = hps_deck_wrong(hps_deck_root(deck), "types", "wanted are 1 to %d entries", TYPES);
    if (st) return st;
    pool->type = hps_mem_new((size_t)n, sizeof *pool->type);
    for (int t = 0; t < n && !st; t++) {
        struct type_entry e;
        st = hps_deck_bind(deck, item[t], type_fields, NULL, NULL, &e);
        if (!st && !*e.name) st = hps_deck_wrong(item[t], "name", "a name is wanted");
        if (!st && hps_job_pool_find(pool, e.name) >= 0)
            st = hps_deck_wrong(item[t], "name", "two types are called '%s'", e.name);
        if (st) break;
        pool->type[t].name = hps_mem_text(e.name);
        pool->type[t].usd_hour = e.price_usd_hour;
        pool->T = t + 1;
    }
    return st;
}

/* ---- nodes ---- */

/* A table of fields whose keys are the types: units of each in an int of its own. */
static struct hps_field *fields_of_units(const struct hps_job_pool *pool)
{
    struct hps_field *table = hps_mem_new((size_t)pool->T + 1, sizeof *table);

    for (int t = 0; t < pool->T; t++)
        table[t] = (struct hps_field){ .name = pool->type[t].name, .kind = HPS_INT,
                                       .offset = (size_t)t * sizeof(int), .preset = "0",
                                       .min = 0, .max = HPS_POOL_UNITS };
    return table;
}

static void add_nodes(struct hps_job_pool *pool, int n, char **name, const int *units)
{
    size_t cap = (size_t)pool->nnode, units_cap = cap * (size_t)pool->T;
    size_t all = cap + (size_t)n;

    hps_mem_grow(&pool->node, &cap, all, sizeof *pool->node);
    hps_mem_grow(&pool->units, &units_cap, all * (size_t)pool->T, sizeof *pool->units);
    for (int i = 0; i < n; i++) {
        pool->node[pool->nnode] = name[i];
        memcpy(pool->units + (size_t)pool->nnode++ * (size_t)pool->T, units,
               (size_t)pool->T * sizeof *units);
    }
    for (int t = 0; t < pool->T; t++)
        pool->type[t].units += n * units[t];
}

static enum hps_status bind_node(struct hps_job_pool *pool, const struct hps_deck *deck,
                                 const struct hps_item *item, const struct hps_field *table,
                                 int *units)
{
    static const char *const inner[] = { "units", NULL };
    const struct hps_item *by_type = NULL;
    struct node_entry e = { NULL };
    const char *why;
    char **name = NULL;
    enum hps_status st = hps_deck_bind(deck, item, node_fields, NULL, inner, &e);

    if (!st) st = hps_item_map(item, "units", &by_type);
    if (!st && hps_item_count(by_type) == 0)
        st = hps_deck_wrong(item, "units", "wanted are units by type, {%s: 4}",
                            pool->type[0].name);
    if (!st) st = hps_deck_bind(deck, by_type, table, NULL, NULL, units);
    if (st) return st;
    int n = hps_host_list(e.name, HPS_POOL_NODES - pool->nnode, &name, &why);
    if (n < 0) return hps_deck_wrong(item, "name", "'%s' names no nodes: %s", e.name, why);
    add_nodes(pool, n, name, units);
    hps_mem_free(name);
    return HPS_OK;
}

struct named {
    const char *name;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static enum hps_status check_names(const struct hps_job_pool *pool, const struct hps_deck *deck)
{
    size_t n = (size_t)pool->nnode;
    struct named *sorted = hps_mem_new(n, sizeof *sorted);
    enum hps_status st = HPS_OK;

    for (size_t i = 0; i < n; i++)
        sorted[i].name = pool->node[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n && !st; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            st = hps_deck_wrong(hps_deck_root(deck), "nodes", "two nodes are called '%s'",
                                sorted[i].name);
    hps_mem_free(sorted);
    return st;
}

static enum hps_status bind_nodes(struct hps_job_pool *pool, const struct hps_deck *deck)
{
    const struct hps_item *const *item;
    struct hps_field *table = fields_of_units(pool);
    int n = 0, *units = hps_mem_new((size_t)pool->T, sizeof *units);
    enum hps_status st = hps_deck_entries(deck, "nodes", &n, &item);

    for (int i = 0; i < n && !st; i++)
        st = bind_node(pool, deck, item[i], table, units);
    if (!st && hps_job_pool_units(pool) == 0)
        st = hps_deck_wrong(hps_deck_root(deck), "nodes", "there is not one unit");
    if (!st) st = check_names(pool, deck);
    hps_mem_free(table);
    hps_mem_free(units);
    return st;
}

enum hps_status hps_job_pool_bind(struct hps_job_pool **pool, const struct hps_deck *deck)
{
    struct hps_job_pool *p = hps_mem_new(1, sizeof *p);
    enum hps_status st = bind_types(p, deck);

    if (!st) st = bind_nodes(p, deck);
    *pool = st ? NULL : p;
    if (st) hps_job_pool_free(p);
    return st;
}

enum hps_status hps_job_pool_load(struct hps_job_pool **pool, const char *path)
{
    static const char *const sections[] = { "types", "nodes", NULL };
    struct hps_deck *deck = NULL;
    enum hps_status st = hps_deck_load(&deck, path, 0, NULL, MPI_COMM_NULL);

    *pool = NULL;
    if (!st) st = hps_deck_sections(deck, sections);
    if (!st) st = hps_job_pool_bind(pool, deck);
    hps_deck_free(deck);
    return st;
}

void hps_job_pool_print_reference(enum hps_deck_form form)
{
    hps_deck_print_section(form, "types", "  - {name: cpu, price_usd_hour: 0.04}\n");
    hps_deck_print_group(form, "Every entry has:", NULL);
    hps_deck_print_table(form, true, type_fields);
    hps_deck_print_section(form, "nodes", "  - {name: \"n[0-15]\", units: {cpu: 4}}\n");
    hps_deck_print_group(form, "Every entry has:", NULL);
    hps_deck_print_table(form, true, node_fields);
    hps_deck_print_group(form, "units: {TYPE: NUMBER, ...}", "of each of these nodes");
}
