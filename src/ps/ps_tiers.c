/* ps_tiers.c - which rows a rank has memory for, and where the others are.
 *
 * Of a GPU's memory each table gets the same share of its rows. Of a host's memory small tables get
 * all that they need, since steps need most of their rows; the large ones share what is left. */
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "plan/tier.h"
#include "ps/ps_impl.h"

/* My rows of a group of tables: their number, and the bytes of a row of all its tables together. */
struct shard {
    double rows, row_bytes;
};

static struct shard shard_of(const struct hps_ps *s, int g, const struct hps_ps_opt *opt)
{
    struct shard shard = { 0, 0 };

    for (int i = 0; i < s->ntable; i++) {
        const struct hps_table_shape *shape = &s->net->table[s->table[i].index];
        struct hps_ps_owner o = hps_ps_owner_of(s, &s->table[i]);
        if (s->table[i].group != g) continue;
        shard.rows = (double)hps_cyclic_nlocal(shape->rows, o.part, o.parts);
        shard.row_bytes += (double)hps_storage_row_format(opt->storage, shape, opt->train).bytes;
    }
    return shard;
}

/* ---- GPUs ---- */

/* A device without memory for all of its rows keeps the same share of each table there. */
static void divide_gpu(struct hps_ps *s, const struct shard *shard, double bytes)
{
    double all = 0;

    for (int g = 0; g < s->ngroup; g++)
        all += shard[g].rows * shard[g].row_bytes;
    for (int g = 0; g < s->ngroup && all > bytes; g++) {
        double rows = shard[g].rows, slots = floor(bytes / all * rows);
        if (rows <= 0 || rows > INT_MAX) continue;
        s->group[g].tier = hps_tier_find("host");
        s->group[g].slots = hps_slots_new((int)rows, slots < 1 ? 1 : (int)slots);
    }
}

static enum hps_status refuse_gpu(const struct hps_ps *s, const struct shard *shard)
{
    for (int i = 0; i < s->ntable; i++) {
        if (shard[s->table[i].group].rows == 0) continue;
        HPS_SAY_ALL(HPS_ERROR, "storage.file: this rank has rows of table '%s' and a GPU; files "
                    "are for ranks on CPUs", s->net->table[s->table[i].index].name);
        return HPS_DECK;
    }
    return HPS_OK;
}

/* ---- hosts ---- */

static enum hps_status refuse_share(const struct shard *shard, int n, double bytes)
{
    double all = 0;

    for (int g = 0; g < n; g++)
        all += shard[g].rows * (shard[g].row_bytes + hps_row_store_row_bytes());
    HPS_SAY_ALL(HPS_ERROR, "storage.host_memory: %.0f bytes are not enough for the index of this "
                "rank's rows, which have %.0f bytes", bytes, all);
    return HPS_DECK;
}

/* What counts the gradients of each row, wherever it is, where workers are not synchronous
 * (ps/versions.h, ps/aggregate.h). */
static double counter_bytes(const struct hps_ps *s, const struct shard *shard)
{
    double all = 0;

    for (int i = 0; s->versioned && i < s->ntable; i++) {
        const struct hps_ps_group *g = &s->group[s->table[i].group];
        int n = 1 + (s->train->aggregate > 1) + (g->holds ? s->team->W : 0);
        all += n * shard[s->table[i].group].rows * (double)sizeof(uint32_t);
    }
    return all;
}

static enum hps_status divide_host(struct hps_ps *s, const struct shard *shard, double bytes)
{
    struct hps_tier_part *part = hps_mem_new((size_t)s->ngroup, sizeof *part);
    enum hps_status st = HPS_OK;

    for (int g = 0; g < s->ngroup; g++)
        part[g] = (struct hps_tier_part){ shard[g].rows, shard[g].row_bytes, false, 0 };
    if (!hps_tier_divide(s->ngroup, part, bytes - counter_bytes(s, shard)))
        st = refuse_share(shard, s->ngroup, bytes);
    for (int g = 0; !st && g < s->ngroup; g++) {
        double rows = part[g].rows, slots = part[g].slots;
        if (part[g].all || rows <= 0 || rows > INT_MAX || slots >= rows) continue;
        s->group[g].tier = hps_tier_find("file");
        s->group[g].slots = hps_slots_new((int)rows, slots < 1 ? 1 : (int)slots);
    }
    hps_mem_free(part);
    return st;
}

/* ---- both ---- */

/* The groups of all workers are the same at a server. */
static void borrow(struct hps_ps *s, const struct hps_ps *from)
{
    for (int g = 0; g < s->ngroup; g++) {
        s->group[g].tier = from->group[g].tier;
        s->group[g].slots = from->group[g].slots;
        s->group[g].staging = from->group[g].staging;
        s->group[g].store = from->group[g].store;
        s->group[g].paging = from->group[g].paging;
    }
}

static enum hps_status divide(struct hps_ps *s, const struct hps_ps_opt *opt)
{
    const struct hps_storage_opt *storage = opt->storage;
    struct shard *shard = hps_mem_new((size_t)s->ngroup, sizeof *shard);
    double bytes = storage->host_memory;
    enum hps_status st = HPS_OK;

    for (int g = 0; g < s->ngroup; g++) {
        shard[g] = shard_of(s, g, opt);
        s->group[g].tier = hps_tier_find("device");
    }
    if (!s->dev->host && storage->gpu_memory > 0) divide_gpu(s, shard, storage->gpu_memory);
    if (s->dev->host && bytes > 0) st = divide_host(s, shard, bytes);
    if (!s->dev->host && bytes > 0) st = refuse_gpu(s, shard);
    hps_mem_free(shard);
    return st;
}

enum hps_status hps_ps_make_tiers(struct hps_ps *s, const struct hps_ps_opt *opt)
{
    if (!s->borrows) return divide(s, opt);
    borrow(s, opt->tables);
    return HPS_OK;
}

static enum hps_status make_store(struct hps_ps *s, struct hps_ps_group *g, int n,
                                  struct hps_table *const *table, const struct hps_ps_opt *opt)
{
    uint64_t key = hps_rng_key(opt->seed, "rows in a file");
    struct hps_row_store_opt o = { n, table, g->slots, opt->storage->file,
                                   hps_rng_sub(key, (uint64_t)getpid()) };
    enum hps_status st = hps_row_store_new(&g->store, &o);

    if (!st) g->paging = hps_paging_new(g->store, s->dev, table[0]->shape->name);
    return st;
}

enum hps_status hps_ps_make_paging(struct hps_ps *s, const struct hps_ps_opt *opt)
{
    struct hps_table **table = hps_mem_new((size_t)s->ntable, sizeof(struct hps_table *));
    enum hps_status st = HPS_OK;

    for (int k = 0; !st && !s->borrows && k < s->ngroup; k++) {
        struct hps_ps_group *g = &s->group[k];
        int n = 0;
        for (int i = 0; i < s->ntable; i++)
            if (s->table[i].group == k) table[n++] = s->table[i].table;
        if (g->slots && !s->dev->host)
            g->staging = hps_staging_new(g->slots, n, table, s->dev);
        else if (g->slots)
            st = make_store(s, g, n, table, opt);
    }
    hps_mem_free(table);
    return st;
}
