/* server_rate.c - how many rows a server gives and updates in a second, beside what its memory and
 * messages allow in the same run: rank 0 serves a table, rank 1 pulls and pushes distinct rows of it,
 * drawn anew in each step, in memory that both share and by messages. One thread a rank.
 *   mpirun -n 2 server_rate TABLE-ROWS DIM ROWS STEPS
 *       ROWS: of a step; rows learn by adagrad, so that a state as wide as the row lies beside it
 *   prints for each WAY (shared, messages) "WAY_NAME SECONDS ROWS", medians over the steps of the time
 *   from when both ranks begin until both are done: read, modify (rows of the table at random, as the
 *   memory allows), message (as many rows from rank 0 to 1); request (what the server does for
 *   requests that have come), pull, push, apply. Caches are cold before a request, a push, a read. And
 *   bytes of all ranks and steps, and rows: WAY_bytes_pull of requests and rows, WAY_bytes_both of
 *   gradients too; row_bytes: of a row. Built by `make perf/bin/server_rate`. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "ps/exchange.h"
#include "ps/versions.h"

enum { AHEAD = 24, CACHES = 1 << 26, WARM = 2 };
enum what { READ, MODIFY, MESSAGE, REQUEST, PULL, PUSH, APPLY, NWHAT };
static const char *const names[NWHAT] = { "read", "modify", "message", "request", "pull", "push",
                                          "apply" };

struct bench {
    MPI_Comm world;
    bool serves;
    long long rows;
    int n, nstep;
    struct hps_net net;
    struct hps_train_opt train;
    struct hps_dev dev;
    struct hps_layer layer;
    long long *id;              /* (n) of the step                       */
    int *order;                 /* (n) the server's rows, shuffled       */
    float *some;                /* (n, dim) what a read or message fills */
    char *other;                /* (CACHES) written to drive all else out */
    double *took[NWHAT];        /* (nstep) seconds                       */
    /* of one way */
    struct hps_shm *shm;        /* or NULL */
    struct hps_table *table;
    struct hps_request *request;
    struct hps_exchange *exchange;
    const struct hps_request_step *step;
    struct hps_versions versions;
    struct hps_pulled pulled;
    struct hps_staleness staleness;
};

/* ---- what is measured ---- */

static void read_rows(struct bench *b)
{
    const struct hps_table *t = b->table;
    size_t n = b->serves ? b->step->nsend_all : 0, dim = (size_t)t->dim;

    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(&t->row[(size_t)b->order[i + AHEAD] * t->stride]);
        memcpy(&b->some[i * dim], &t->row[(size_t)b->order[i] * t->stride], dim * sizeof(float));
    }
}

static void modify_rows(struct bench *b)
{
    const struct hps_table *t = b->table;
    size_t n = b->serves ? b->step->nsend_all : 0;

    for (size_t i = 0; i < n; i++) {
        float *row = &t->row[(size_t)b->order[i] * t->stride];
        const float *next = &t->row[(size_t)b->order[i + AHEAD < n ? i + AHEAD : i] * t->stride];
        for (size_t k = 0; k < t->stride; k += 16)
            __builtin_prefetch(&next[k], 1);
        for (size_t k = 0; k < t->stride; k++)
            row[k] += 1e-6f;
    }
}

static void send_rows(struct bench *b)
{
    int n = (b->serves ? (int)b->step->nsend_all : b->step->nrow) * b->table->dim;

    if (b->serves)
        HPS_MPI(MPI_Send(b->some, n, MPI_FLOAT, 1, 0, b->world));
    else
        HPS_MPI(MPI_Recv(b->some, n, MPI_FLOAT, 0, 0, b->world, MPI_STATUS_IGNORE));
}

static void take(struct bench *b)
{
    b->step = hps_request_take(b->request);
}

static void pull(struct bench *b)
{
    hps_exchange_pull_begin(b->exchange, b->step);
    if (b->serves)
        hps_versions_pull(&b->versions, &b->pulled, (size_t)b->step->nmerge, b->step->merged_host,
                          (struct hps_versions_held){ 0, NULL });
    hps_exchange_pull_end(b->exchange, 0);
}

static void push(struct bench *b)
{
    hps_exchange_push_begin(b->exchange);
    hps_exchange_push_end(b->exchange);
}

static void apply(struct bench *b)
{
    struct hps_rule rule =
        hps_opt_rule(&b->train, &b->net.table[0].override, hps_update_of(0, b->nstep));

    if (!b->serves) return;
    hps_versions_push(&b->versions, &b->pulled, b->step->merged_host, &b->staleness);
    hps_exchange_apply(b->exchange, &rule);
    hps_versions_apply(&b->versions, (size_t)b->step->nmerge, b->step->merged_host, NULL);
}

/* ---- a step ---- */

/* Distinct rows in any order. */
static void draw(struct bench *b, int s)
{
    uint64_t key = hps_rng_sub(hps_rng_key(1, "rows"), (uint64_t)s);
    long long apart = b->rows / b->n;

    for (int i = 0; i < b->n; i++)
        b->id[i] = i * apart + (long long)hps_rng_below(key, (uint64_t)i, (uint64_t)apart);
    for (int i = b->n - 1; i > 0; i--) {
        int j = (int)hps_rng_below(key, (uint64_t)(b->n + i), (uint64_t)i + 1);
        long long id = b->id[i];
        b->id[i] = b->id[j];
        b->id[j] = id;
    }
}

/* The reader requests the rows; the request has come on return. */
static void request(struct bench *b)
{
    const struct hps_ids ids = { b->id, true };
    const int *offset = NULL;
    struct hps_batch batch = { .B = b->n, .ids = &ids, .offset = &offset };

    hps_request_begin(b->request, b->serves ? NULL : &batch);
    while (!hps_request_arrived(b->request))
        ;
}

static void measure(struct bench *b, enum what what, int s, bool cold, void (*work)(struct bench *))
{
    if (cold) memset(b->other, s & 1, CACHES);
    HPS_MPI(MPI_Barrier(b->world));
    double t0 = hps_now_s();
    work(b);
    HPS_MPI(MPI_Barrier(b->world));
    if (s >= 0) b->took[what][s] = hps_now_s() - t0;
}

static void write_gradients(struct bench *b)
{
    struct hps_row_grad *g = hps_exchange_grad(b->exchange, false);

    hps_row_grad_adds(g);
    for (size_t i = 0; i < g->nrow * (size_t)b->table->dim; i++)
        g->row[i] = 1e-3f;
}

static void one_step(struct bench *b, int s)
{
    draw(b, s + WARM);
    for (int i = 0; i < b->n; i++)          /* one server has all rows: ids are their numbers */
        b->order[i] = (int)b->id[i];
    request(b);
    measure(b, REQUEST, s, true, take);
    measure(b, PULL, s, false, pull);
    if (!b->serves) write_gradients(b);
    measure(b, PUSH, s, true, push);
    measure(b, APPLY, s, false, apply);
    measure(b, READ, s, true, read_rows);
    measure(b, MODIFY, s, true, modify_rows);
    measure(b, MESSAGE, s, false, send_rows);
}

/* ---- a way ---- */

static void open_way(struct bench *b, bool shared)
{
    enum { NBUFFER = HPS_EXCHANGE_BUFFERS + HPS_REQUEST_BUFFERS };
    const struct hps_layer *const list[1] = { &b->layer };
    struct hps_table_opt own = { .part = hps_rank(), .parts = 1, .train = &b->train,
                                 .seed = 1, .tier = hps_tier_find("device") };
    struct hps_request_opt use = { .nlayer = b->serves ? 0 : 1, .layer = list, .index = true,
                                   .buffer = HPS_EXCHANGE_BUFFERS, .owners = 1 };
    int dim[NBUFFER];

    for (int i = 0; i < NBUFFER; i++)
        dim[i] = i < HPS_EXCHANGE_BUFFERS ? b->net.table[0].dim : 1;
    setenv("HETERPS_SHARED_MEMORY", shared ? "1" : "0", 1);
    b->shm = hps_shm_new(true, NBUFFER, dim, b->world);
    if (shared != (b->shm != NULL) || hps_table_new(&b->table, &b->net, 0, &b->dev, &own) ||
        hps_request_new(&b->request, &use, b->rows, 1, &b->dev, b->shm, b->world) ||
        hps_exchange_new(&b->exchange, b->table, &b->dev, b->shm, 0,
                         &(struct hps_exchange_opt){ &hps_codec_fp32, &hps_codec_fp32 }, b->world))
        HPS_DIE("ranks share no memory, or there is no table");
    b->versions.of = hps_mem_new((size_t)b->table->nrow, sizeof *b->versions.of);
}

static void close_way(struct bench *b)
{
    hps_exchange_free(b->exchange);
    hps_request_free(b->request);
    hps_shm_free(b->shm);
    hps_table_free(b->table);
    hps_mem_free(b->versions.of);
    hps_pulled_free(&b->pulled);
    b->pulled = (struct hps_pulled){ 0 };
}

/* Of all ranks: requests and rows, then gradients. */
static void print_bytes(const struct bench *b, const char *way)
{
    double n = (double)b->n * (b->nstep + WARM), row = b->net.table[0].dim * sizeof(float);
    double sent[2] = { hps_request_bytes(b->request), hps_exchange_bytes(b->exchange) }, all[2];

    HPS_MPI(MPI_Allreduce(sent, all, 2, MPI_DOUBLE, MPI_SUM, b->world));
    if (hps_rank() != 0) return;
    hps_out("%s_bytes_pull %.10g %.10g\n", way, all[0] + all[1] / 2, n);
    hps_out("%s_bytes_both %.10g %.10g\n", way, all[0] + all[1], n);
    hps_out("row_bytes %.10g 1\n", row);
}

/* What memory and messages allow is printed for each way too. */
static void measure_way(struct bench *b, const char *way, bool shared)
{
    open_way(b, shared);
    for (int s = -WARM; s < b->nstep; s++)
        one_step(b, s);
    print_bytes(b, way);
    for (int i = 0; i < NWHAT && hps_rank() == 0; i++)
        hps_out("%s_%s %.6g %d\n", way, names[i],
                hps_sort_median(b->took[i], (size_t)b->nstep), b->n);
    close_way(b);
}

static enum hps_status measure_all(struct bench *b)
{
    b->id = hps_mem_new((size_t)b->n, sizeof *b->id);
    b->order = hps_mem_new((size_t)b->n, sizeof *b->order);
    b->some = hps_mem_new((size_t)b->n * (size_t)b->net.table[0].dim, sizeof *b->some);
    b->other = hps_mem_new(CACHES, 1);
    for (int i = 0; i < NWHAT; i++)
        b->took[i] = hps_mem_new((size_t)b->nstep, sizeof *b->took[i]);
    measure_way(b, "shared", true);
    measure_way(b, "messages", false);
    hps_mem_free(b->id);
    hps_mem_free(b->order);
    hps_mem_free(b->some);
    hps_mem_free(b->other);
    for (int i = 0; i < NWHAT; i++)
        hps_mem_free(b->took[i]);
    return hps_out_flush();
}

static enum hps_status run(MPI_Comm world, int argc, char **argv)
{
    static int slot[] = { 0 };
    static long long base[] = { 0 }, modulo[] = { 0 };
    static struct hps_table_shape shape = { .name = "rows", .init_std = 0.01 };
    struct bench b = { .world = world, .serves = hps_rank() == 0,
                       .net = { .ntable = 1, .table = &shape },
                       .train = { .optimizer = "adagrad", .learning_rate = 0.01, .epsilon = 1e-8,
                                  .decay = "none", .decay_to = 1 },
                       .layer = { .nslot = 1, .slot = slot, .base = base, .modulo = modulo } };

    if (argc != 5 || hps_nrank() != 2) {
        HPS_SAY(HPS_ERROR, "usage: mpirun -n 2 server_rate TABLE-ROWS DIM ROWS STEPS");
        return HPS_USAGE;
    }
    b.rows = shape.rows = atoll(argv[1]);
    shape.dim = atoi(argv[2]);
    b.n = atoi(argv[3]);
    b.nstep = atoi(argv[4]);
    enum hps_status st = hps_dev_cpu.open(&b.dev, 0, 1);
    if (st) return st;
    st = measure_all(&b);
    b.dev.ops->close(&b.dev);
    return st;
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
