/* ckpt_state.c - the datasets of a checkpoint: dense layers by name, tables by global row. */
#include "train/ckpt_state.h"

#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"

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

/* ---- residuals of dense gradients ---- */

static char *residual_name(const struct hps_step *s, int l, int host)
{
    return hps_mem_print("/layers/%s/residual/%d", s->net->layer[l].name, host);
}

/* How many residuals layer l has under this plan. */
static int nresidual_of(const struct hps_step *s, int l)
{
    int stage = 0;

    while (s->plan->stage[stage].last < l)
        stage++;
    return s->nresidual && s->net->layer[l].nparam > 0 ? s->nresidual[stage] : 0;
}

/* Those of layer l; `from`: what host `mine` has kept, of all of the slice; NULL: this rank is not
 * the first of a host. */
static int take_residuals(struct hps_ckpt_item *item, const struct hps_step *s, int l,
                          const float *from, int mine)
{
    size_t n = s->net->layer[l].nparam;
    int nhost = nresidual_of(s, l);

    for (int host = 0; host < nhost; host++) {
        item[host] = (struct hps_ckpt_item){ .name = residual_name(s, l, host), .kind = "layer",
                                             .of = s->net->layer[l].name, .rows = 1,
                                             .width = (int)n };
        if (!from || host != mine) continue;
        const struct hps_slice *sl = hps_step_slice(s, l);
        item[host].copy = hps_mem_new(n, sizeof *item[host].copy);
        memcpy(item[host].copy, from + sl->offset[l - sl->first], n * sizeof *from);
    }
    return nhost;
}

/* Those of all layers. Collective over each stage. */
static int take_all_residuals(struct hps_ckpt_item *item, struct hps_step *s)
{
    float *mine[HPS_MY_STAGES];
    int host[HPS_MY_STAGES], n = 0;

    for (int i = 0; i < s->team->nmine; i++)
        mine[i] = hps_step_residual(s, i, &host[i]);
    for (int l = 0; s->nresidual && l < s->net->L; l++) {
        int i = s->team->nmine - 1;
        while (i >= 0 && (l < s->stage[i].slice->first || l > s->stage[i].slice->last))
            i--;
        n += take_residuals(item + n, s, l, i >= 0 ? mine[i] : NULL, i >= 0 ? host[i] : 0);
    }
    for (int i = 0; i < s->team->nmine; i++)
        hps_mem_free(mine[i]);
    return n;
}

/* ---- tables, all ---- */

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
    int n = 0, most = 3 * s->net->L + s->net->ntable;

    for (int l = 0; l < s->net->L; l++)
        most += nresidual_of(s, l);
    struct hps_ckpt_item *item = hps_mem_new((size_t)most, sizeof *item);

    s->dev->ops->sync(s->dev);
    hps_step_gather_states(s);
    for (int l = 0; l < s->net->L; l++)
        n += take_layer(item + n, s, l);
    n += take_all_residuals(item + n, s);
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

/* Add the residuals of layer l: of each host in the file, to one of the hosts that there are now.
 */
static enum hps_status get_residuals(struct hps_h5 *h, struct hps_step *s, int l,
                                     const struct hps_stage *r)
{
    enum hps_status st = HPS_OK;
    struct hps_reduce_host host;
    size_t n = s->net->layer[l].nparam;

    if (!r->reduce || !hps_reduce_has_residual(r->reduce, &host)) return HPS_OK;
    float *x = hps_mem_new(n, sizeof *x);
    for (int old = 0, more = 1; !st && more; old++) {
        char *name = residual_name(s, l, old);
        more = hps_h5_has(h, name);
        bool mine = more && old % host.n == host.index;
        if (mine) st = get_array(h, name, 1, n, x);
        if (mine && !st)
            hps_reduce_add_residual(r->reduce, r->slice->offset[l - r->slice->first], n, x);
        hps_mem_free(name);
    }
    hps_mem_free(x);
    return st;
}

static enum hps_status get_all_residuals(struct hps_h5 *h, struct hps_step *s)
{
    enum hps_status st = HPS_OK;

    for (int i = 0; i < s->team->nmine; i++)
        for (int l = s->stage[i].slice->first; !st && l <= s->stage[i].slice->last; l++)
            if (s->net->layer[l].nparam > 0) st = get_residuals(h, s, l, &s->stage[i]);
    return st;
}

/* Rank 0 says so where residuals are of no use now. */
static void say_dropped(struct hps_h5 *h, const struct hps_step *s)
{
    bool dropped = false;

    for (int l = 0; s->training && hps_rank() == 0 && l < s->net->L; l++) {
        char *name = residual_name(s, l, 0);
        dropped |= nresidual_of(s, l) == 0 && hps_h5_has(h, name);
        hps_mem_free(name);
    }
    if (dropped)
        HPS_SAY(HPS_WARN, "%s: what was not sent of dense gradients yet is dropped: all of them "
                "are sent now", h->path);
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
    if (!st) st = get_all_residuals(h, s);
    if (!st) say_dropped(h, s);
    st = hps_agree(world, st);
    for (int t = 0; !st && t < s->net->ntable; t++)
        st = get_table(h, s, t, world);
    return st ? st : hps_agree(world, hps_ps_status(s->ps));
}
