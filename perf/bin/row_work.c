#include "row_work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "data/data.h"
#include "lab.h"

enum { CHECKED = 4, BAND = 65536 };

static struct hps_table_shape shape = { .name = "rows", .init_std = 0.01 };

/* ---- rows ---- */

void row_work_make(const struct row_work *w, int row, float *x)
{
    hps_net_init_rows(&w->net, 0, ROW_WORK_SEED, row, 1, x, w->stride);
    hps_opt_init_states(&w->rule, (size_t)w->dim, x, x + w->dim);
}

uint64_t row_work_update(const struct row_work *w, long long step, int row, float *x)
{
    float unit = hps_rng_unit((uint64_t)step, (uint64_t)row) - 0.5f, *state = x + w->dim;
    uint32_t bits[2];

    for (int k = 0; k < w->dim; k++) {
        float g = unit * (float)(k + 1);
        state[k] += g * g;
        x[k] -= w->rule.lr * g / (sqrtf(state[k]) + w->rule.eps);
    }
    memcpy(&bits[0], x, sizeof bits[0]);
    memcpy(&bits[1], state + w->dim - 1, sizeof bits[1]);
    return hps_rng_mix((uint64_t)bits[0] << 32 | bits[1]);
}

/* ---- the steps ---- */

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* The distinct rows of a batch; first (nslot): the first row of each slot; last (nrow): 1 + the
 * last batch that had the row. */
static void add_batch(struct row_work *w, const struct hps_batch *b, const int *first, int *last,
                      size_t *cap)
{
    size_t n = w->begin[w->nbatch];

    for (int j = 0; j < b->data->nslot; j++) {
        size_t nid = (size_t)(b->offset[j] ? b->offset[j][b->B] : b->B);
        hps_mem_grow(&w->row, cap, n + nid, sizeof *w->row);
        for (size_t i = 0; i < nid; i++) {
            int row = first[j] + (int)hps_ids_get(b->ids[j], i);
            if (last[row] == w->nbatch + 1) continue;
            last[row] = w->nbatch + 1;
            w->row[n++] = row;
        }
    }
    qsort(w->row + w->begin[w->nbatch], n - w->begin[w->nbatch], sizeof *w->row, ascending);
    w->begin[++w->nbatch] = n;
}

/* Returns the first row of each slot. */
static int *lay_out(struct row_work *w, const struct hps_data *data, bool shared)
{
    int *first = hps_mem_new((size_t)data->nslot, sizeof *first);
    long long rows = 0, most = 0;

    for (int j = 0; j < data->nslot; j++) {
        first[j] = shared ? 0 : (int)rows;
        rows += data->slot[j].buckets;
        if (data->slot[j].buckets > most) most = data->slot[j].buckets;
        if (rows > INT_MAX) HPS_DIE("more than %d rows", INT_MAX);
    }
    w->nrow = (int)(shared ? most : rows);
    return first;
}

static void read_steps(struct row_work *w, const struct hps_data *data, bool shared)
{
    struct hps_steps steps = hps_steps_of(data->N / w->batch * w->batch, w->batch, 1, 1, 0);
    struct hps_order order = hps_order_of_data(data, false, false, 1);
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    struct hps_reader_opt opt = { .slot = slot, .parts = 1, .ahead = 2 };
    int *first = lay_out(w, data, shared), *last = hps_mem_new((size_t)w->nrow, sizeof *last);
    const struct hps_batch *b;
    struct hps_reader *reader;
    size_t cap = 0;

    memset(slot, 1, (size_t)data->nslot * sizeof *slot);
    w->begin = hps_mem_new((size_t)steps.total + 1, sizeof *w->begin);
    if (steps.total < 2) HPS_DIE("the dataset has no two batches");
    enum hps_status st = hps_reader_new(&reader, data, &order, &steps, &opt, 0);
    while (!st && !(st = hps_reader_next(reader, &b)) && b)
        add_batch(w, b, first, last, &cap);
    if (st) HPS_DIE("the dataset cannot be read");
    hps_reader_free(reader);
    hps_mem_free(slot);
    hps_mem_free(first);
    hps_mem_free(last);
}

void row_work_read(struct row_work *w, const char *path, int batch, bool shared)
{
    struct hps_data *data;

    w->batch = batch;
    if (hps_data_open(&data, path, MPI_COMM_NULL)) HPS_DIE("%s cannot be opened", path);
    read_steps(w, data, shared);
    hps_data_close(data);
}

void row_work_done(struct row_work *w)
{
    hps_mem_free(w->begin);
    hps_mem_free(w->row);
}

struct row_work_step row_work_step(const struct row_work *w, long long number)
{
    size_t b = (size_t)(number % w->nbatch);

    return (struct row_work_step){ number, w->begin[b + 1] - w->begin[b], w->row + w->begin[b] };
}

/* ---- all of it ---- */

/* Memory that this process takes from now on is charged to the group. */
static void enter(const char *group)
{
    char *path = hps_mem_print("%s/cgroup.procs", group), pid[32];
    int fd = open(path, O_WRONLY | O_CLOEXEC), n = snprintf(pid, sizeof pid, "%d", (int)getpid());

    if (fd < 0 || write(fd, pid, (size_t)n) != n) HPS_DIE("%s: %s", path, strerror(errno));
    close(fd);
    hps_mem_free(path);
}

static void fill(const struct row_work *w, const struct row_work_store *s, void *store)
{
    float *x = hps_mem_new(BAND * w->stride, sizeof *x);

    for (long long first = 0; first < w->nrow; first += BAND) {
        int n = w->nrow - first < BAND ? (int)(w->nrow - first) : BAND;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(w->threads)
#endif
        for (int i = 0; i < n; i++) {
            row_work_make(w, (int)first + i, x + (size_t)i * w->stride);
            row_work_update(w, -1, (int)first + i, x + (size_t)i * w->stride);
        }
        s->fill(store, (int)first, n, x);
    }
    hps_mem_free(x);
}

/* Steps from `number` on for so many seconds, two at least; the number behind them. */
static long long go(const struct row_work *w, const struct row_work_store *s, void *store,
                    long long number, double seconds, uint64_t *check)
{
    double began = hps_steady_s();

    for (long long done = 0; done < 2 || hps_steady_s() - began < seconds; done++, number++) {
        struct row_work_step now = row_work_step(w, number), next = row_work_step(w, number + 1);
        uint64_t sum = s->step(store, &now, &next);
        if (number < CHECKED) *check += sum;
    }
    return number;
}

static void measure(const struct row_work *w, const struct row_work_store *s, double warm_s,
                    double seconds)
{
    uint64_t check = 0;
    void *store = s->open(w);
    double rows = 0;

    fill(w, s, store);
    long long first = go(w, s, store, 0, warm_s, &check);
    double began = hps_steady_s(), read = lab_io("read_bytes"), written = lab_io("write_bytes");
    long long end = go(w, s, store, first, seconds, &check);
    double took = hps_steady_s() - began, steps = (double)(end - first);
    for (long long i = first; i < end; i++)
        rows += (double)row_work_step(w, i).n;
    hps_out("steps %lld\nexamples_s %.6g\nrows_s %.6g\nrows %.6g\n", end - first,
            steps * w->batch / took, rows / took, rows / steps);
    hps_out("read_bytes %.6g\nwrite_bytes %.6g\n", (lab_io("read_bytes") - read) / steps,
            (lab_io("write_bytes") - written) / steps);
    hps_out("warm_steps %lld\ncheck %016llx\n", first,
            end < CHECKED ? 0 : (unsigned long long)check);
    s->close(store);
}

int row_work_main(int argc, char **argv, const struct row_work_store *store)
{
    struct row_work w = { .train = { .optimizer = "adagrad", .learning_rate = 0.01,
                                     .decay = "none", .epsilon = 1e-8,
                                     .initial_accumulator = 0.1, .decay_to = 1 } };

    hps_begin(NULL, NULL, false);
    if (argc != 10)
        HPS_DIE("%s DATASET.h5 BATCH DIM DIRECTORY BYTES GROUP THREADS WARM_S SECONDS", argv[0]);
    row_work_read(&w, argv[1], atoi(argv[2]), false);
    w.dim = atoi(argv[3]);
    w.directory = argv[4];
    w.bytes = atof(argv[5]);
    w.threads = atoi(argv[7]);
    w.net = (struct hps_net){ .ntable = 1, .table = &shape };
    w.rule = hps_opt_rule(&w.train, NULL, hps_update_of(0, 1));
    w.stride = hps_rule_stride(&w.rule, w.dim);
    w.row_bytes = w.stride * sizeof(float);
    shape.rows = w.nrow;
    shape.dim = w.dim;
    if (strcmp(argv[6], "-") != 0) enter(argv[6]);
    measure(&w, store, atof(argv[8]), atof(argv[9]));
    row_work_done(&w);
    return hps_end(hps_out_flush());
}
