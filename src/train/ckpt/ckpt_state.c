/* ckpt_state.c - the datasets of a checkpoint: dense layers by name, tables by global row. */
#include "train/ckpt_state.h"

#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/say.h"

enum { BAND_BYTES = 8 << 20 };         /* of rows that are read at a time */

uint64_t hps_ckpt_block_sum(uint64_t number, const float *x, size_t n)
{
    return hps_rng_mix(hps_crc(x, n * sizeof *x) + (number << 32) + 1);
}

/* Of n rows from the owner's block number `block` on. */
static uint64_t blocks_sum(const struct hps_shard *t, long long block, long long n,
                           const float *row)
{
    uint64_t sum = 0;
    for (long long first = 0, b = t->part + block * t->parts; first < n;
         first += HPS_CYCLIC_BLOCK, b += t->parts) {
        long long some = n - first < HPS_CYCLIC_BLOCK ? n - first : HPS_CYCLIC_BLOCK;
        sum += hps_ckpt_block_sum((uint64_t)b, row + (size_t)first * t->stride,
                                  (size_t)some * t->stride);
    }
    return sum;
}

/* ---- the current state ---- */

/* The floats of state of each weight of layer l. */
static int nstate_of(const struct hps_step *s, int l)
{
    return hps_opt_rule(s->train, &s->net->layer[l].override, hps_update_of(0, 1)).nstate;
}

/* The slice of layer l, if this rank writes it; else NULL. */
static const struct hps_slice *my_slice(const struct hps_step *s, int l)
{
    bool first = s->weights ? hps_step_serves_first(s) : s->team->my_stage_rank == 0;

    return first && (s->weights || !hps_step_serves_dense(s)) ? hps_step_slice(s, l) : NULL;
}

/* An array of `rows` x n of layer l; `from` NULL: another rank writes it. */
static struct hps_ckpt_item array(const struct hps_step *s, int l, const char *what, int rows,
                                  size_t n, const float *from)
{
    const char *layer = s->net->layer[l].name;
    struct hps_ckpt_item it = { .name = hps_mem_print("/layers/%s/%s", layer, what),
                                .kind = "layer", .of = layer, .rows = rows, .width = (int)n };

    if (!from) return it;
    it.copy = hps_mem_new((size_t)rows * n, sizeof *it.copy);
    s->dev->ops->copy_to_host(s->dev, it.copy, from, (size_t)rows * n * sizeof *it.copy);
    return it;
}

/* Weights, their states, and the running averages of a layer. */
static int take_layer(struct hps_ckpt_item *item, const struct hps_step *s, int l)
{
    const struct hps_slice *sl = my_slice(s, l);
    size_t n = s->net->layer[l].nparam, nrunning = s->net->layer[l].nrunning;
    int nstate = n > 0 ? nstate_of(s, l) : 0, k = 0, i = sl ? l - sl->first : 0;

    if (n > 0) item[k++] = array(s, l, "param", 1, n, sl ? sl->param + sl->offset[i] : NULL);
    if (nstate > 0)
        item[k++] = array(s, l, "state", nstate, n, sl ? sl->state + sl->state_at[i] : NULL);
    if (nrunning > 0)
        item[k++] =
            array(s, l, "running", 1, nrunning, sl ? sl->running + sl->running_at[i] : NULL);
    return k;
}

static struct hps_ckpt_item take_table(const struct hps_step *s, int t, double snapshot_share)
{
    const struct hps_table_shape *shape = &s->net->table[t];
    struct hps_rule rule = hps_opt_rule(s->train, &shape->override, hps_update_of(0, 1));
    struct hps_shard shard;
    struct hps_ckpt_item it = { .name = hps_mem_print("/tables/%s/rows", shape->name),
                                .kind = "table", .of = shape->name, .rows = shape->rows,
                                .width = (int)hps_rule_stride(&rule, shape->dim),
                                .comm = MPI_COMM_NULL };

    if (!hps_ps_shard(s->ps, t, &shard)) return it;
    it.snapshot = hps_ps_save(s->ps, t, snapshot_share);
    it.comm = hps_ps_owners(s->ps, t);
    return it;
}

int hps_ckpt_state_new(struct hps_ckpt_item **out, struct hps_step *s, double snapshot_share)
{
    struct hps_ckpt_item *item = hps_mem_new((size_t)(3 * s->net->L + s->net->ntable),
                                             sizeof *item);
    int n = 0;

    s->dev->ops->sync(s->dev);
    hps_step_gather_states(s);
    for (int l = 0; l < s->net->L; l++)
        n += take_layer(item + n, s, l);
    for (int t = 0; t < s->net->ntable; t++)
        item[n++] = take_table(s, t, snapshot_share);
    *out = item;
    return n;
}

void hps_ckpt_state_free(int n, struct hps_ckpt_item *item)
{
    for (int i = 0; i < n; i++) {
        hps_mem_free(item[i].name);
        hps_mem_free(item[i].copy);
        hps_snapshot_free(item[i].snapshot);
    }
    hps_mem_free(item);
}

enum hps_status hps_ckpt_state_make(struct hps_h5 *h, int n, struct hps_ckpt_item *item)
{
    enum hps_status st = HPS_OK;
    for (int i = 0; !st && i < n; i++) {
        st = hps_h5_make(h, item[i].name, H5T_NATIVE_FLOAT, item[i].rows, item[i].width, 0);
        if (!st) st = hps_h5_offset(h, item[i].name, &item[i].offset);
    }
    return st;
}

/* ---- reading ---- */

static enum hps_status damaged(const struct hps_h5 *h, const char *name)
{
    HPS_SAY(HPS_ERROR, "%s: %s does not have its checksum: the file is damaged", h->path, name);
    return HPS_DECK;
}

static enum hps_status get_array(struct hps_h5 *h, const char *name, long long rows, size_t n,
                                 float *to)
{
    long long expected;
    enum hps_status st = hps_h5_get(h, name, H5T_NATIVE_FLOAT, 0, rows, (int)n, to);
    if (!st) st = hps_h5_get_long(h, name, "checksum", &expected, false);
    if (!st && (uint64_t)expected != hps_ckpt_block_sum(0, to, (size_t)rows * n))
        st = damaged(h, name);
    return st;
}

static enum hps_status get_layer(struct hps_h5 *h, struct hps_step *s, int l)
{
    int nstate = nstate_of(s, l);
    struct hps_slice *sl = hps_step_slice(s, l);
    size_t n = s->net->layer[l].nparam, at = sl->offset[l - sl->first];
    float *host = hps_mem_new(n * (size_t)(nstate > 1 ? nstate : 1), sizeof *host);
    char *name = hps_mem_print("/layers/%s/param", s->net->layer[l].name);
    char *sname = hps_mem_print("/layers/%s/state", s->net->layer[l].name);

    enum hps_status st = get_array(h, name, 1, n, host);
    if (!st) {
        s->dev->ops->copy_to_device(s->dev, sl->param + at, host, n * sizeof *host);
        hps_slice_pack(sl, l);
    }
    if (!st && sl->state && nstate > 0) {
        st = get_array(h, sname, nstate, n, host);
        if (!st)
            s->dev->ops->copy_to_device(s->dev, sl->state + sl->state_at[l - sl->first], host,
                                        n * (size_t)nstate * sizeof *host);
    }
    hps_mem_free(host);
    hps_mem_free(name);
    hps_mem_free(sname);
    return st;
}

static enum hps_status get_running(struct hps_h5 *h, struct hps_step *s, int l)
{
    struct hps_slice *sl = hps_step_slice(s, l);
    size_t n = s->net->layer[l].nrunning;
    float *host = hps_mem_new(n, sizeof *host);
    char *name = hps_mem_print("/layers/%s/running", s->net->layer[l].name);

    enum hps_status st = get_array(h, name, 1, n, host);
    if (!st)
        s->dev->ops->copy_to_device(s->dev, sl->running + sl->running_at[l - sl->first], host,
                                    n * sizeof *host);
    hps_mem_free(host);
    hps_mem_free(name);
    return st;
}

/* Read this rank's rows of table t, in bands; the sum of their blocks' checksums. */
static enum hps_status get_rows(struct hps_h5 *h, const char *name, struct hps_step *s, int t,
                                unsigned long long *sum)
{
    struct hps_shard mine;
    enum hps_status st = HPS_OK;

    *sum = 0;
    if (!hps_ps_shard(s->ps, t, &mine)) return HPS_OK;
    long long band = (long long)(BAND_BYTES / (HPS_CYCLIC_BLOCK * mine.stride * sizeof(float))) + 1;
    struct hps_h5_cyclic rows = { s->net->table[t].rows, (int)mine.stride, HPS_CYCLIC_BLOCK,
                                  mine.part, mine.parts, 0, band };
    float *x = hps_mem_new((size_t)band * HPS_CYCLIC_BLOCK * mine.stride, sizeof *x);
    for (long long first = 0; !st && first < mine.nrow; first += band * HPS_CYCLIC_BLOCK) {
        long long left = mine.nrow - first, most = band * HPS_CYCLIC_BLOCK;
        long long n = left < most ? left : most;
        rows.first = first / HPS_CYCLIC_BLOCK;
        st = hps_h5_get_cyclic(h, name, H5T_NATIVE_FLOAT, &rows, x);
        if (st) break;
        *sum += blocks_sum(&mine, rows.first, n, x);
        hps_ps_load(s->ps, t, first, n, x);
    }
    hps_mem_free(x);
    return st;
}

static enum hps_status get_table(struct hps_h5 *h, struct hps_step *s, int t, MPI_Comm world)
{
    char *name = hps_mem_print("/tables/%s/rows", s->net->table[t].name);
    unsigned long long part, sum;
    long long expected = 0;
    enum hps_status st = get_rows(h, name, s, t, &part);

    HPS_MPI(MPI_Allreduce(&part, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world));
    if (!st) st = hps_h5_get_long(h, name, "checksum", &expected, false);
    st = hps_agree(world, st);
    if (!st && (unsigned long long)expected != sum) st = damaged(h, name);
    hps_mem_free(name);
    return st;
}

enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *s, MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    for (int l = 0; !st && l < s->net->L; l++)
        if (hps_step_slice(s, l) && s->net->layer[l].nparam > 0) st = get_layer(h, s, l);
    for (int l = 0; !st && l < s->net->L; l++)
        if (hps_step_slice(s, l) && s->net->layer[l].nrunning > 0) st = get_running(h, s, l);
    st = hps_agree(world, st);
    for (int t = 0; !st && t < s->net->ntable; t++)
        st = get_table(h, s, t, world);
    return st;
}
