/* limits.c - what bounds a training step besides its GEMMs, each thing alone, on the rows and ids
 * that the step has: reading, finding ids that are alike, rows read and written at random, bags
 * summed, messages, a pass over activations, the update of dense weights. One thread a rank.
 *   mpirun -n RANKS limits DATA BATCH STEPS TABLE-ROWS OWN DIM ROW WEIGHTS STREAMS WIDTHS
 *       OWN 1: each slot has its own rows of the table, else all share them; DIM floats of a row
 *       are used, ROW with the optimizer's; WEIGHTS of dense layers, updated by STREAMS arrays that
 *       are read or written; WIDTHS: sum of the widths of the layers' outputs
 *   prints "NAME SECONDS AMOUNT", seconds of a step (median, ranks beginning each together, the
 *   slowest) and how much all ranks do in it. Built by `make perf/bin/limits`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "data/data.h"
#include "ps/table.h"

enum { AHEAD = 24, PIECE = 1 << 20, CACHES = 1 << 26 };

/* This rank's share of a step. Places are numbers of unique rows in the order of the ids. */
struct share {
    const char *path;
    MPI_Comm world;
    int fd, B, nslot;
    size_t dim, row;
    size_t nid, *id;            /* (nid) rows of the table, slot after slot          */
    int *place;                 /* (nid) [found]                                    */
    size_t nunique, nbag, *bag; /* bag b's ids are bag[b]..bag[b + 1]               */
    size_t nown, *own;          /* (nown) rows here that any rank's ids ask for     */
    int *seen, before;          /* (table rows) place + 1 + before; below: of a step before */
    float *table, *some, *sums; /* the own part; (nunique, dim); (nbag, dim)        */
    size_t npass, ndense;       /* floats of a pass and of the dense update         */
    float *from, *to;           /* for both                                         */
    size_t nweight;
    float *weight;
    size_t nread;
    char *buffer;               /* PIECE                                            */
    char *other;                /* CACHES: what is written to drive all else out    */
    off_t at;
};

static void find(struct share *s)
{
    int next = s->before;

    for (size_t i = 0; i < s->nid; i++) {
        if (i + AHEAD < s->nid)
            __builtin_prefetch(&s->seen[s->id[i + AHEAD]], 1);
        int *seen = &s->seen[s->id[i]];
        if (*seen <= s->before)
            *seen = ++next;
        s->place[i] = *seen - s->before - 1;
    }
    s->nunique = (size_t)(next - s->before);
    s->before = next;
}

/* Own rows come to where they are used, one behind the other. */
static void gather(struct share *s)
{
    for (size_t i = 0; i < s->nown; i++) {
        if (i + AHEAD < s->nown)
            __builtin_prefetch(&s->table[s->own[i + AHEAD] * s->row]);
        memcpy(&s->some[i % s->nunique * s->dim], &s->table[s->own[i] * s->row],
               s->dim * sizeof(float));
    }
}

/* Rows ahead come as far as the second-level cache, as those of an update do. */
static void modify(struct share *s)
{
    for (size_t i = 0; i < s->nown; i++) {
        float *row = &s->table[s->own[i] * s->row];
        const float *next = &s->table[s->own[i + AHEAD < s->nown ? i + AHEAD : i] * s->row];
        for (size_t k = 0; k < s->row; k += 16)
            __builtin_prefetch(&next[k], 0, 2);
        for (size_t k = 0; k < s->row; k++)
            row[k] += 1.0f;
    }
}

static void sum_bags(struct share *s)
{
    for (size_t b = 0; b < s->nbag; b++) {
        float *restrict sum = &s->sums[b * s->dim];
        memset(sum, 0, s->dim * sizeof *sum);
        for (size_t i = s->bag[b]; i < s->bag[b + 1]; i++) {
            const float *restrict x = &s->some[(size_t)s->place[i] * s->dim];
            for (size_t k = 0; k < s->dim; k++)
                sum[k] += x[k];
        }
    }
}

static void spread_bags(struct share *s)
{
    memset(s->some, 0, s->nunique * s->dim * sizeof *s->some);
    for (size_t b = 0; b < s->nbag; b++) {
        const float *restrict sum = &s->sums[b * s->dim];
        for (size_t i = s->bag[b]; i < s->bag[b + 1]; i++) {
            float *restrict x = &s->some[(size_t)s->place[i] * s->dim];
            for (size_t k = 0; k < s->dim; k++)
                x[k] += sum[k];
        }
    }
}

/* Each other rank has the same share of my rows as I have. */
static void exchange(struct share *s)
{
    size_t n = s->nunique / (size_t)hps_nrank() * s->dim;
    int right = (hps_rank() + 1) % hps_nrank();
    int left = (hps_rank() + hps_nrank() - 1) % hps_nrank();

    for (int i = 1; i < hps_nrank(); i++)
        HPS_MPI(MPI_Sendrecv(s->sums, (int)n, MPI_FLOAT, right, 0, s->some,
                             (int)(s->nunique * s->dim), MPI_FLOAT, left, 0, s->world,
                             MPI_STATUS_IGNORE));
}

static void pass(struct share *s)
{
    memcpy(s->to, s->from, s->npass * sizeof *s->to);
}

static void update(struct share *s)
{
    memcpy(s->to, s->from, s->ndense * sizeof *s->to);
}

static void reduce(struct share *s)
{
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, s->weight, (int)s->nweight, MPI_FLOAT, MPI_SUM, s->world));
}

/* The file's next bytes, from its beginning again behind its end. */
static void read_file(struct share *s)
{
    for (size_t left = s->nread; left > 0;) {
        ssize_t n = pread(s->fd, s->buffer, left < PIECE ? left : PIECE, s->at);
        if (n < 0)
            HPS_DIE("%s cannot be read", s->path);
        s->at = n == 0 ? 0 : s->at + n;
        left -= (size_t)n;
    }
}

/* ---- the share ---- */

/* The rows that the ids of part `part` of `parts` of the first batch ask for, and its bags. */
static void take(struct share *s, const struct hps_data *data, long long batch, bool own_rows,
                 int part, int parts)
{
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    struct hps_reader_opt opt = { .dense = data->D > 0, .label = true, .slot = slot, .part = part,
                                  .parts = parts, .ahead = 1 };
    struct hps_steps steps = hps_steps_of(data->N, batch, 1, 0, 1);
    struct hps_order order = hps_order_of_data(data, true, false, 1);
    const struct hps_batch *b;
    struct hps_reader *reader;
    size_t base = 0, cap = 0, bags = 0;

    memset(slot, 1, (size_t)data->nslot * sizeof *slot);
    if (hps_reader_new(&reader, data, &order, &steps, &opt, 0) || hps_reader_next(reader, &b))
        HPS_DIE("%s: its first batch cannot be read", s->path);
    s->B = b->B;
    s->nid = s->nbag = 0;
    hps_mem_grow(&s->bag, &bags, (size_t)(data->nslot * b->B) + 1, sizeof *s->bag);
    for (int j = 0; j < data->nslot; j++) {
        for (int e = 0; e < b->B; e++)
            s->bag[s->nbag++] = s->nid + (size_t)(b->offset[j] ? b->offset[j][e] : e);
        size_t n = (size_t)(b->offset[j] ? b->offset[j][b->B] : b->B);
        hps_mem_grow(&s->id, &cap, s->nid + n, sizeof *s->id);
        for (size_t i = 0; i < n; i++)
            s->id[s->nid++] = (size_t)hps_ids_get(b->ids[j], i) + base;
        base += own_rows ? (size_t)data->slot[j].buckets : 0;
    }
    s->bag[s->nbag] = s->nid;
    hps_reader_free(reader);
    hps_mem_free(slot);
}

static size_t largest(const struct share *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->nid; i++)
        most = s->id[i] > most ? s->id[i] : most;
    return most;
}

/* The rows of this rank's part of the table that the whole batch asks for. */
static void take_own(struct share *s, const struct hps_data *data, long long batch, bool own_rows,
                     size_t rows)
{
    struct share all = { .path = s->path };
    unsigned char *seen = hps_mem_new(rows, 1);
    size_t R = (size_t)hps_nrank(), cap = 0;

    take(&all, data, batch, own_rows, 0, 1);
    if (largest(&all) >= rows)
        HPS_DIE("%s has row %zu, the table %zu rows", s->path, largest(&all), rows);
    for (size_t i = 0; i < all.nid; i++) {
        size_t block = all.id[i] / HPS_CYCLIC_BLOCK, in = all.id[i] % HPS_CYCLIC_BLOCK;
        if (seen[all.id[i]]++ > 0 || block % R != (size_t)hps_rank())
            continue;
        seen[all.id[i]] = 1;
        hps_mem_grow(&s->own, &cap, s->nown + 1, sizeof *s->own);
        s->own[s->nown++] = block / R * HPS_CYCLIC_BLOCK + in;
    }
    hps_mem_free(seen);
    hps_mem_free(all.id);
    hps_mem_free(all.bag);
}

static float *filled(size_t n)
{
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 13) / 13 - 0.5f;
    return x;
}

/* Memory for all, every page touched. */
static void make(struct share *s, size_t rows)
{
    size_t R = (size_t)hps_nrank(), mine = (rows / HPS_CYCLIC_BLOCK / R + 1) * HPS_CYCLIC_BLOCK;
    size_t most = s->npass > s->ndense ? s->npass : s->ndense;

    s->place = hps_mem_new(s->nid, sizeof *s->place);
    s->seen = hps_mem_new(rows, sizeof *s->seen);
    find(s);
    s->table = filled(mine * s->row);
    s->some = filled(s->nunique * s->dim);
    s->sums = filled((s->nbag > s->nunique ? s->nbag : s->nunique) * s->dim);
    s->from = filled(most);
    s->to = filled(most);
    s->weight = filled(s->nweight);
    s->buffer = hps_mem_new(PIECE, 1);
    s->other = hps_mem_new(CACHES, 1);
}

static void drop(struct share *s)
{
    hps_mem_free(s->id);
    hps_mem_free(s->bag);
    hps_mem_free(s->own);
    hps_mem_free(s->place);
    hps_mem_free(s->seen);
    hps_mem_free(s->table);
    hps_mem_free(s->some);
    hps_mem_free(s->sums);
    hps_mem_free(s->from);
    hps_mem_free(s->to);
    hps_mem_free(s->weight);
    hps_mem_free(s->buffer);
    hps_mem_free(s->other);
}

/* ---- measuring ---- */

/* `cold`: what a step comes back to after all its other work is in no cache. */
static void measure(struct share *s, const char *name, void (*work)(struct share *), double amount,
                    bool cold, int steps)
{
    double *took = hps_mem_new((size_t)steps, sizeof *took), all = 0;

    for (int k = -2; k < steps; k++) {          /* the first ones warm up */
        if (cold)
            memset(s->other, k & 1, CACHES);
        HPS_MPI(MPI_Barrier(s->world));
        double t0 = hps_now_s();
        work(s);
        HPS_MPI(MPI_Barrier(s->world));
        if (k >= 0)
            took[k] = hps_now_s() - t0;
    }
    HPS_MPI(MPI_Allreduce(&amount, &all, 1, MPI_DOUBLE, MPI_SUM, s->world));
    if (hps_rank() == 0)
        hps_out("%s %.6g %.10g\n", name, hps_sort_median(took, (size_t)steps), all);
    hps_mem_free(took);
}

static void measure_all(struct share *s, int steps)
{
    double f = sizeof(float), other = (double)s->nunique / hps_nrank() * (hps_nrank() - 1);

    measure(s, "read", read_file, (double)s->nread, false, steps);
    measure(s, "find", find, (double)s->nid, true, steps);
    measure(s, "gather", gather, (double)s->nown, true, steps);
    measure(s, "modify", modify, (double)s->nown, true, steps);
    measure(s, "bags", sum_bags, (double)s->nid, false, steps);
    measure(s, "spread", spread_bags, (double)s->nid, false, steps);
    measure(s, "exchange", exchange, other * (double)s->dim * f, false, steps);
    measure(s, "reduce", reduce, (double)s->nweight * f, false, steps);
    measure(s, "pass", pass, 2 * f * (double)s->npass, false, steps);
    measure(s, "update", update, 2 * f * (double)s->ndense, true, steps);
}

static enum hps_status run(MPI_Comm world, int argc, char **argv)
{
    struct share s = { .world = world };
    struct hps_data *data;
    enum hps_status st;

    if (argc != 11) {
        HPS_SAY(HPS_ERROR, "usage: limits DATA BATCH STEPS TABLE-ROWS OWN DIM ROW WEIGHTS STREAMS "
                           "WIDTHS");
        return HPS_USAGE;
    }
    s.path = argv[1];
    st = hps_data_open(&data, s.path, world);
    if (st)
        return st;
    size_t rows = strtoull(argv[4], NULL, 10);
    s.fd = data->fd;
    s.dim = strtoull(argv[6], NULL, 10);
    s.row = strtoull(argv[7], NULL, 10);
    take(&s, data, atoll(argv[2]), argv[5][0] == '1', hps_rank(), hps_nrank());
    take_own(&s, data, atoll(argv[2]), argv[5][0] == '1', rows);
    s.nweight = strtoull(argv[8], NULL, 10);
    s.ndense = (size_t)(0.5 * atof(argv[9]) * (double)s.nweight);
    s.npass = (size_t)s.B * strtoull(argv[10], NULL, 10);
    s.nread = 8 * s.nid + 4 * (size_t)s.B * (size_t)(data->D + 1);
    make(&s, rows);
    measure_all(&s, atoi(argv[3]));
    drop(&s);
    hps_data_close(data);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
