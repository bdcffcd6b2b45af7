/* ckpt_state.c - dense layers by name, tables by global row. Checksums are sums over pieces whose
 * place does not depend on the layout (a layer, a block of rows), so any number of ranks can verify
 * what another number wrote. */
#include "train/ckpt_state.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"

/* The checksum of one piece at its place. */
static uint64_t piece(uint64_t place, const float *x, size_t n)
{
    return hps_rng_mix(crc32_z(0, (const unsigned char *)x, n * sizeof *x) + (place << 32) + 1);
}

static uint64_t blocks_sum(const struct hps_table *t, const float *row)
{
    uint64_t sum = 0;
    for (long long first = 0, b = t->part; first < t->nrow;
         first += HPS_TABLE_BLOCK, b += t->parts) {
        long long n = t->nrow - first < HPS_TABLE_BLOCK ? t->nrow - first : HPS_TABLE_BLOCK;
        sum += piece((uint64_t)b, row + (size_t)first * t->stride, (size_t)n * t->stride);
    }
    return sum;
}

static bool finite_all(const float *x, size_t n)
{
    float sum = 0; /* 0 * x is NaN where x is not finite */
    for (size_t i = 0; i < n; i++)
        sum += 0 * x[i];
    return sum == 0;
}

/* A host view of device memory: the memory itself on a host device, else a copy to free with
 * end_view. */
static float *view(struct hps_dev *dev, float *x, size_t n, bool read)
{
    if (dev->host || !x) return x;
    float *copy = hps_mem_new(n, sizeof *copy);
    if (read) dev->ops->get(dev, copy, x, n * sizeof *copy);
    return copy;
}

static void end_view(struct hps_dev *dev, float *x, size_t n, float *host, bool wrote)
{
    if (host == x) return;
    if (wrote) dev->ops->put(dev, x, host, n * sizeof *host);
    hps_mem_free(host);
}

/* ---- writing ---- */

/* One array of `rows` x n: written by the rank that has `from`, all take part. */
static enum hps_status put_array(struct hps_h5 *h, const char *name, long long rows, size_t n,
                                 const float *from, MPI_Comm world)
{
    unsigned long long mine = from ? piece(0, from, (size_t)rows * n) : 0, sum;
    enum hps_status st = hps_agree(world, hps_h5_make(h, name, H5T_NATIVE_FLOAT, rows, (int)n, 0));
    if (!st)
        st = hps_agree(world,
                       hps_h5_put(h, name, H5T_NATIVE_FLOAT, 0, from ? rows : 0, (int)n, from));
    HPS_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world));
    if (!st) st = hps_h5_put_long(h, name, "checksum", (long long)sum);
    return st;
}

/* Floats of state a weight of layer l. */
static int nstate_of(const struct hps_step *s, int l)
{
    return hps_opt_rule(s->train, &s->net->layer[l].own, 0, 1).nstate;
}

static enum hps_status put_layer(struct hps_h5 *h, const struct hps_step *s, int l, MPI_Comm world)
{
    int nstate = nstate_of(s, l);
    const struct hps_slice *sl = hps_step_slice(s, l);
    size_t n = s->net->layer[l].nparam;
    bool mine = sl && s->team->my_part == 0;
    float *param = NULL, *host = NULL;
    char *name = hps_mem_print("/layers/%s/param", s->net->layer[l].name);
    char *sname = hps_mem_print("/layers/%s/state", s->net->layer[l].name);
    enum hps_status st, finite = HPS_OK;

    if (mine) {
        param = sl->param + sl->offset[l - sl->first];
        host = view(s->dev, param, n, true);
        if (!finite_all(host, n)) finite = HPS_DECK;
    }
    st = put_array(h, name, 1, n, host, world);
    if (mine) end_view(s->dev, param, n, host, false);
    if (nstate > 0 && !st) {
        float *state = mine ? sl->state + sl->state_at[l - sl->first] : NULL;
        host = view(s->dev, state, n * (size_t)nstate, true);
        st = put_array(h, sname, nstate, n, host, world);
        if (mine) end_view(s->dev, state, n * (size_t)nstate, host, false);
    }
    if (finite)
        HPS_SAY_ALL(HPS_ERROR, "layer %s has a weight that is not finite: no checkpoint is kept",
                    s->net->layer[l].name);
    hps_mem_free(name);
    hps_mem_free(sname);
    return st ? st : finite;
}

/* The state of a layer that no optimiser moves; the same on all ranks of its stage. */
static enum hps_status put_running(struct hps_h5 *h, const struct hps_step *s, int l,
                                   MPI_Comm world)
{
    const struct hps_slice *sl = hps_step_slice(s, l);
    size_t n = s->net->layer[l].nrunning;
    char *name = hps_mem_print("/layers/%s/running", s->net->layer[l].name);
    float *running = NULL, *host = NULL;

    if (sl && s->team->my_part == 0) {
        running = sl->running + sl->running_at[l - sl->first];
        host = view(s->dev, running, n, true);
    }
    enum hps_status st = put_array(h, name, 1, n, host, world);
    end_view(s->dev, running, n, host, false);
    hps_mem_free(name);
    return st;
}

static const struct hps_table *my_table(const struct hps_step *s, int t)
{
    for (int i = 0; i < s->store->ntable; i++)
        if (s->store->table[i].index == t) return s->store->table[i].table;
    return NULL;
}

static enum hps_status put_table(struct hps_h5 *h, const struct hps_step *s, int t, MPI_Comm world)
{
    const struct hps_table_shape *shape = &s->net->table[t];
    const struct hps_table *mine = my_table(s, t);
    struct hps_rule rule = hps_opt_rule(s->train, &shape->own, 0, 1);
    int width = (int)hps_rule_stride(&rule, shape->dim);
    unsigned long long part = 0, sum;
    enum hps_status finite = HPS_OK, st;
    char *name = hps_mem_print("/tables/%s/rows", shape->name);

    st = hps_agree(world, hps_h5_make(h, name, H5T_NATIVE_FLOAT, shape->rows, width, 0));
    size_t n = mine ? (size_t)mine->nrow * mine->stride : 0;
    float *host = mine ? view(s->dev, mine->row, n, true) : NULL;
    if (mine && !finite_all(host, n)) finite = HPS_DECK;
    if (mine) part = blocks_sum(mine, host);
    if (!st)
        st = hps_h5_put_cyclic(h, name, H5T_NATIVE_FLOAT, shape->rows, width, HPS_TABLE_BLOCK,
                               mine ? mine->part : -1, mine ? mine->parts : 1, host);
    if (mine) end_view(s->dev, mine->row, n, host, false);
    st = hps_agree(world, st); /* attributes are made by all or by none */
    HPS_MPI(MPI_Allreduce(&part, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world));
    if (!st) st = hps_h5_put_long(h, name, "checksum", (long long)sum);
    if (finite)
        HPS_SAY_ALL(HPS_ERROR, "table %s has a weight that is not finite: no checkpoint is kept",
                    shape->name);
    hps_mem_free(name);
    return st ? st : finite;
}

enum hps_status hps_ckpt_state_put(struct hps_h5 *h, const struct hps_step *s, MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    for (int l = 0; !st && l < s->net->L; l++)
        if (s->net->layer[l].nparam > 0)
            st = hps_agree(world, put_layer(h, s, l, world));
    for (int l = 0; !st && l < s->net->L; l++)
        if (s->net->layer[l].nrunning > 0) st = hps_agree(world, put_running(h, s, l, world));
    for (int t = 0; !st && t < s->net->ntable; t++)
        st = hps_agree(world, put_table(h, s, t, world));
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
    long long want;
    enum hps_status st = hps_h5_get(h, name, H5T_NATIVE_FLOAT, 0, rows, (int)n, to);
    if (!st) st = hps_h5_get_long(h, name, "checksum", &want, false);
    if (!st && (uint64_t)want != piece(0, to, (size_t)rows * n)) st = damaged(h, name);
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
    if (!st) s->dev->ops->put(s->dev, sl->param + at, host, n * sizeof *host);
    if (!st && sl->state && nstate > 0) {
        st = get_array(h, sname, nstate, n, host);
        if (!st)
            s->dev->ops->put(s->dev, sl->state + sl->state_at[l - sl->first], host,
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
        s->dev->ops->put(s->dev, sl->running + sl->running_at[l - sl->first], host,
                         n * sizeof *host);
    hps_mem_free(host);
    hps_mem_free(name);
    return st;
}

/* My rows, and the sum of their blocks. */
static enum hps_status get_rows(struct hps_h5 *h, const char *name, const struct hps_table *t,
                                struct hps_dev *dev, unsigned long long *sum)
{
    size_t n = (size_t)t->nrow * t->stride;
    float *host = view(dev, t->row, n, false);
    enum hps_status st =
        hps_h5_get_cyclic(h, name, H5T_NATIVE_FLOAT, t->shape->rows, (int)t->stride,
                          HPS_TABLE_BLOCK, t->part, t->parts, host);
    if (!st) *sum = blocks_sum(t, host);
    end_view(dev, t->row, n, host, true);
    return st;
}

static enum hps_status get_table(struct hps_h5 *h, struct hps_step *s, int t, MPI_Comm world)
{
    const struct hps_table *mine = my_table(s, t);
    char *name = hps_mem_print("/tables/%s/rows", s->net->table[t].name);
    unsigned long long part = 0, sum;
    long long want = 0;
    enum hps_status st = HPS_OK;

    if (mine) st = get_rows(h, name, mine, s->dev, &part);
    HPS_MPI(MPI_Allreduce(&part, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world));
    if (!st) st = hps_h5_get_long(h, name, "checksum", &want, false);
    st = hps_agree(world, st);
    if (!st && (unsigned long long)want != sum) st = damaged(h, name);
    hps_mem_free(name);
    return st;
}

enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *s, MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    for (int l = 0; !st && l < s->net->L; l++)
        if (hps_step_slice(s, l) && s->net->layer[l].nparam > 0)
            st = get_layer(h, s, l);
    for (int l = 0; !st && l < s->net->L; l++)
        if (hps_step_slice(s, l) && s->net->layer[l].nrunning > 0) st = get_running(h, s, l);
    st = hps_agree(world, st);
    for (int t = 0; !st && t < s->net->ntable; t++)
        st = get_table(h, s, t, world);
    return st;
}
