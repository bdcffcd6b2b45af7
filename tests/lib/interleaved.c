/* interleaved.c - draws a run, runs it on fibers, checks what it leaves. */
#include "interleaved.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "fake_mpi.h"
#include "ps/snapshot.h"
#include "step/server.h"
#include "train/served.h"

enum { LAYER_ROWS = 0, LAYER_FC = 2, LAYERS = 5, NSLOT = INTERLEAVED_SLOTS, D = 2, BUCKETS = 70 };

struct interleaved interleaved;
static const struct sample sample = { .N = 40, .D = D, .nsingle = NSLOT, .buckets = BUCKETS };
static const char path[] = "interleavings.h5";
static struct hps_data *data;
static uint64_t key, ndraw;

/* ---- what is drawn ---- */

static int below(int n)
{
    return (int)(hps_rng_bits(key, ndraw++) % (uint64_t)n);
}

static bool one_in(int n)
{
    return below(n) == 0;
}

/* The roles of all ranks, in any order. */
static void draw_ranks(struct interleaved *x)
{
    x->R = 0;
    for (int s = 0; s < x->S; s++)
        for (int i = 0; i < x->W * x->k[s]; i++)
            x->stage_of[x->R++] = s;
    for (int j = 0; j < x->N; j++)
        x->stage_of[x->R++] = HPS_PLAN_SERVER;
    for (int i = 0; i < x->idle; i++)
        x->stage_of[x->R++] = HPS_PLAN_IDLE;
    for (int i = x->R - 1; i > 0; i--) {
        int j = below(i + 1), was = x->stage_of[i];
        x->stage_of[i] = x->stage_of[j];
        x->stage_of[j] = was;
    }
}

static void draw_events(struct interleaved *x)
{
    static const int hosts[] = { 1, 1, 2, FIBERS_MAX }, eager[] = { 0, 64, 192, 256 };

    x->host = hosts[below(4)];
    x->eager = eager[below(4)];
    x->save_every = one_in(3) ? 1 + below(8) : 0;
    x->test_every = one_in(4) ? 2 + below(8) : 0;
    x->stop_time = one_in(3) ? below(6000) : -1;
    x->stop_rank = below(x->R);
    x->oversubscribed = one_in(2);
}

static void draw_deck(struct interleaved *x)
{
    static const char *const modes[] = { "ssp", "ssp", "ssp", "asp", "hybrid", "hybrid" };
    bool inverse = one_in(3);

    x->synchronization = modes[below(6)];
    x->staleness = strcmp(x->synchronization, "asp") == 0 ? 0 : below(5);
    int most = strcmp(x->synchronization, "asp") == 0 ? 4 : (int)x->staleness + 1;
    int aggregate = !inverse && most > 1 && one_in(3) ? 1 + below(most) : 1;
    bool clip = one_in(4);
    snprintf(x->deck, sizeof x->deck,
             "model: [{name: e, type: embedding, slots: all, dim: 1, combine: sum, init_std: 0,"
             " exchange: %s}, {name: x, type: dense_input}, {name: h, type: fc, width: 1},"
             " {name: a, type: add, inputs: [e, h]}, {name: l, type: logistic}]\n"
             "train: {optimizer: sgd, learning_rate: 1e-7, workers: %d, synchronization: %s,"
             " staleness: %lld, staleness_rate: %s, aggregate: %d, clip: %d, interleaving: %d,"
             " eval_interval_steps: %d, log_interval_seconds: 1e6}\n",
             one_in(4) ? "bags" : "rows", x->W, x->synchronization, x->staleness,
             inverse ? "inverse" : "none", aggregate, clip ? 1000 : 0,
             one_in(5) ? 1 + below(1000) : 0,
             x->test_every);
}

static void draw(struct interleaved *x)
{
    static const int batches[] = { 3, 4, 8 };

    x->W = 1 + below(4);
    x->N = 1 + below(LEDGER_N);
    x->S = 1 + one_in(3);
    for (int s = 0; s < x->S; s++)
        x->k[s] = 1 + (x->W < 4 && one_in(3));
    x->cut = x->S == 1 ? LAYERS : 1 + below(LAYERS - 1);
    x->idle = one_in(8);
    x->M = 1 + one_in(3);
    x->batch = batches[below(3)];
    x->epochs = 1 + one_in(2);
    draw_ranks(x);
    draw_events(x);
    draw_deck(x);
    x->slots = one_in(2) ? below(20) : -1;
}

/* ---- what follows ---- */

static void must(bool good, const char *what)
{
    if (!good) HPS_DIE("%s", what);
}

static void make_net(struct interleaved *x)
{
    const struct hps_item *train;

    must(!hps_deck_parse(&x->parsed, "interleavings", x->deck, strlen(x->deck), 0, NULL) &&
         !hps_net_new(&x->net, x->parsed, data) && !hps_deck_map(x->parsed, "train", &train) &&
         !hps_deck_bind(x->parsed, train, hps_train_fields, NULL, NULL, &x->train) &&
         !hps_train_check(&x->train, train), "the deck is refused");
    must(x->net->table[0].rows <= LEDGER_ROWS, "too many rows");
    x->plan = hps_plan_new(LAYERS, x->S);
    for (int s = 0; s < x->S; s++) {
        x->plan->stage[s].first = s == 0 ? 0 : x->cut;
        x->plan->stage[s].last = s == x->S - 1 ? LAYERS - 1 : x->cut - 1;
        x->plan->stage[s].units = x->W * x->k[s];
    }
    x->plan->workers = x->W;
    x->plan->server_units = x->N;
    x->steps = hps_steps_of(data->N, x->batch, x->M, x->epochs, 0);
    x->steps.W = x->W;
}

/* The row of an example's id. */
static int row_of(const struct interleaved *x, int slot, long long example)
{
    return (int)x->net->layer[LAYER_ROWS].base[slot] +
           (int)sample_id(&sample, slot, example, 0);
}

static void add_example(const struct interleaved *x, struct ledger_grad *g, long long e, double all)
{
    double d = (0.5 - (double)sample_label(e)) / all;

    for (int slot = 0; slot < NSLOT; slot++) {
        g->row[row_of(x, slot, e)] += d;
        g->hit[row_of(x, slot, e)] = true;
    }
    for (int i = 0; i < D; i++)
        g->dense[i] += d * (double)sample_dense(e, i);
    g->dense[D] += d;
}

static void make_ledger(struct interleaved *x)
{
    struct ledger *l = &x->ledger;
    struct hps_order order = hps_order_of_data(data, true, false, 1);
    bool sums = hps_train_sums_dense(&x->train), bsp = !hps_train_is_async(&x->train);

    *l = (struct ledger){ .W = x->W, .N = x->N, .rows = NSLOT * BUCKETS, .ndense = D + 1,
                          .staleness = hps_train_staleness(&x->train),
                          .aggregate = x->train.aggregate, .all_rows = bsp,
                          .all_dense = sums, .inverse = hps_train_slows_stale(&x->train),
                          .rate = x->train.learning_rate };
    for (long long k = 0; k < x->steps.total; k = hps_steps_next(&x->steps, k), l->nclock++)
        for (int w = 0; w < x->W; w++) {
            long long epoch, position, all = hps_steps_batch(&x->steps, k, &epoch, &position);
            long long n = hps_steps_of_worker(&x->steps, k, w, &epoch, &position);
            must(l->nclock < LEDGER_CLOCKS, "too many clocks");
            for (long long i = 0; i < n; i++)
                add_example(x, &l->grad[w][l->nclock],
                            hps_order_at(&order, epoch, position + i),
                            (double)(sums ? all : n));
        }
    ledger_begin(l);
}

void interleaved_draw(uint64_t seed)
{
    interleaved.seed = seed;
    key = hps_rng_key(seed, "interleaved");
    ndraw = 0;
    draw(&interleaved);
}

/* ---- a rank ---- */

static void check_dense(const struct interleaved *x, const struct hps_slice *slice, int r,
                        long long c)
{
    const float *param = slice->param + slice->offset[LAYER_FC - slice->first];
    const struct ledger *l = &x->ledger;

    for (int p = 0; p < l->ndense; p++) {
        int j = 0;
        while (p >= hps_share(l->ndense, x->N, j + 1))
            j++;
        double want = l->all_dense ? l->after[c].dense[p]
                    : c == l->nclock ? ledger_now(l, j)->dense[p]
                    : ledger_pulled(l, j, x->rank[r].worker, c)->dense[p];
        if (!ledger_same(l, (double)param[p], want))
            HPS_DIE("rank %d clock %lld: weight %d is %.9g, not %.9g", r, c, p, (double)param[p],
                    want);
    }
}

static void check_row(const struct interleaved *x, int r, long long c, int row, float value)
{
    const struct ledger *l = &x->ledger;
    int j = hps_cyclic_owner(row, x->N);
    double want = l->all_rows ? l->after[c].row[row]
                              : ledger_pulled(l, j, x->rank[r].worker, c)->row[row];

    if (!ledger_same(l, (double)value, want))
        HPS_DIE("rank %d clock %lld: row %d is %.9g, not %.9g", r, c, row, (double)value, want);
}

static void check_rows(const struct interleaved *x, const struct hps_lookup *k,
                       const struct hps_feed *feed, int r, long long c)
{
    const struct hps_row_bags *b = &k->by_row;

    for (size_t i = 0; i < b->n && k->form == HPS_ROWS_IN_ORDER; i++)
        for (int g = b->start[i]; g < b->start[i + 1]; g++)
            check_row(x, r, c, row_of(x, b->bag[g] % NSLOT, feed->example[b->bag[g] / NSLOT]),
                      hps_lookup_row(&k->rows, b->row[i], 1)[0]);
    for (size_t i = 0; i < k->nid && k->form == HPS_ROWS_BY_INDEX; i++)
        check_row(x, r, c, row_of(x, (int)i / feed->B, feed->example[(int)i % feed->B]),
                  hps_lookup_row(&k->rows, k->of.index[i], 1)[0]);
}

void interleaved_check_forward(const struct hps_slice *slice, const struct hps_feed *feed,
                               bool training)
{
    const struct interleaved *x = &interleaved;
    int r = fibers_me();
    long long c = x->rank[r].clock;

    if (!training || feed->B == 0) return;
    if (slice->first <= LAYER_FC && LAYER_FC <= slice->last) check_dense(x, slice, r, c);
    if (slice->first <= LAYER_ROWS) check_rows(x, feed->lookup[LAYER_ROWS], feed, r, c);
}

static uint64_t hash(size_t n, const float *x)
{
    uint64_t h = 0;
    uint32_t bits;

    for (size_t i = 0; i < n; i++) {
        memcpy(&bits, x + i, sizeof bits);
        h = hps_rng_sub(h, bits);
    }
    return h;
}

/* Its rows as they are. */
static float *rows_of(struct hps_step *step, const struct hps_shard *shard)
{
    struct hps_snapshot *s = hps_ps_save(step->ps, 0, 0);
    float *row = hps_mem_new((size_t)(shard->nrow + hps_snapshot_chunk(s)) * shard->stride,
                             sizeof *row);
    long long first, n;

    for (long long at = 0; at < shard->nrow; at += n)
        n = hps_snapshot_take(s, &first, row + (size_t)at * shard->stride);
    hps_snapshot_free(s);
    return row;
}

/* What a server has when all is over. */
static void check_server(struct interleaved *x, struct hps_step *step, int r)
{
    const struct ledger *l = &x->ledger;
    int j = x->rank[r].server;
    const struct ledger_state *want = l->all_rows ? &l->after[l->nclock] : ledger_now(l, j);
    struct hps_shard shard;

    if (!hps_ps_shard(step->ps, 0, &shard)) return;
    float *row = rows_of(step, &shard);
    for (int i = 0; i < l->rows; i++) {
        if (hps_cyclic_owner(i, x->N) != j) continue;
        long long at = hps_cyclic_local(i, x->N);
        double value = (double)row[(size_t)at * shard.stride];
        if (!ledger_same(l, value, want->row[i]))
            HPS_DIE("server %d: row %d is %.9g at the end, not %.9g", j, i, value, want->row[i]);
        if (x->rank[r].version && x->rank[r].version[at] != want->version[i])
            HPS_DIE("server %d: row %d has version %u at the end, not %u", j, i,
                    x->rank[r].version[at], want->version[i]);
    }
    struct hps_tier_count moved = { 0 };
    hps_ps_tiers(step->ps, &moved);
    x->nread += moved.read;
    x->rank[r].bits = hash(shard.stride * (size_t)shard.nrow, row);
    hps_mem_free(row);
    for (int w = 0; w < x->W && !l->all_rows; w++)
        if (!ledger_is_over(l, j, w)) HPS_DIE("worker %d is not over at server %d", w, j);
}

static void check_end(struct interleaved *x, struct hps_step *step, int r)
{
    struct hps_slice *slice = hps_step_slice(step, LAYER_FC);

    if (x->rank[r].server >= 0) check_server(x, step, r);
    hps_step_gather_states(step);
    if (slice && (x->ledger.all_dense || step->weights))
        check_dense(x, slice, r, x->ledger.nclock);
    if (step->weights) x->rank[r].bits += hash(slice->nparam, slice->param);
}

/* Dense weights begin as 0. */
static void clear(struct hps_step *step)
{
    struct hps_slice *slice = hps_step_slice(step, LAYER_FC);

    for (size_t i = 0; slice && i < slice->nparam; i++)
        slice->param[i] = 0;
    for (int l = slice ? slice->first : 1; l <= (slice ? slice->last : 0); l++)
        hps_slice_pack(slice, l);
}

/* Train to the end, from the last checkpoint on where the run is stopped. */
static void train(struct interleaved *x, struct hps_step *step, int r, MPI_Comm world)
{
    struct interleaved_rank *me = &x->rank[r], *was = &x->record[r];
    struct hps_clock_order replay = { was->nevent, was->ncut, was->event, was->at_cut };
    struct hps_run_opt run = { .seed = 1 };
    struct hps_data_opt of_data = { .batch = x->batch, .microbatches = x->M, .prefetch = 2,
                                    .shuffle = true, .files = "mixed" };
    struct hps_ckpt_opt ckpt = { .interval_steps = x->save_every };
    struct hps_loop_history *history = hps_mem_new(1, sizeof *history);
    struct hps_loop loop = { .run = &run, .train = &x->train, .data_opt = &of_data, .ckpt = &ckpt,
                             .data = data, .test = x->test_every ? data : NULL, .step = step,
                             .steps = x->steps, .history = history };
    struct hps_cursor cursor = { .train_loss = NAN };
    struct hps_loop_change change;
    enum hps_status st;

    loop.record = &interleaved_record;
    if (x->replays) loop.replay = &replay;
    while ((st = hps_loop_run(&loop, &cursor, &change, world)) == HPS_AGAIN) {
        must(++me->starts == 1, "stopped twice");
        cursor = me->saved;
        loop.steps.ndone = cursor.ndone;
        loop.steps.done = cursor.done;
        loop.replay = NULL;
        hps_step_set_steps(step, &loop.steps);
    }
    must(!st, "the run has failed");
    must(cursor.step == x->steps.total && cursor.next >= x->steps.total, "steps are missing");
    hps_served_free(history->served);
    hps_mem_free(history);
}

static void body(int r, MPI_Comm world, void *arg)
{
    struct interleaved *x = arg;
    const struct hps_storage_opt storage = { .file = "." };
    struct hps_step_opt opt = { &x->train, &storage, x->steps, 1, true };
    struct hps_team *team = NULL;
    struct hps_step *step = NULL;
    struct hps_dev dev;

    must(!hps_dev_cpu.open(&dev, 0, 1) && !hps_team_new(&team, x->plan, x->stage_of, world) &&
         !hps_step_new(&step, &opt, x->net, x->plan, team, &dev), "no step");
    x->rank[r].worker = team->worker;
    x->rank[r].server = -1;
    for (int j = 0; j < x->N; j++)
        if (team->server[j] == r) x->rank[r].server = j;
    clear(step);
    train(x, step, r, world);
    check_end(x, step, r);
    hps_step_free(step);
    hps_team_free(team);
    hps_dev_cpu.close(&dev);
}

/* ---- a run ---- */

void interleaved_print(void)
{
    const struct interleaved *x = &interleaved;

    fprintf(stderr, "seed %llu: %d workers, %d servers, %d stages of %d and %d ranks, cut at %d, "
            "%d idle, host %d, eager %d, saves %d, tests %d, stops %lld (%d), batch %d in %d, "
            "%d epochs, %d slots\n%s", (unsigned long long)x->seed, x->W, x->N, x->S, x->k[0],
            x->k[1], x->cut, x->idle, x->host, x->eager, x->save_every, x->test_every,
            x->stop_time, x->stop_rank, x->batch, x->M, x->epochs, x->slots, x->deck);
}

static void print_seed(enum hps_status status)
{
    (void)status;
    interleaved_print();
}

/* A failed assertion, a wrong address. */
static void print_crash(int signal)
{
    interleaved_print();
    _exit(128 + signal);
}

void interleaved_begin(void)
{
    hps_on_quit(print_seed);
    signal(SIGABRT, print_crash);
    signal(SIGSEGV, print_crash);
    sample_write(path, &sample);
    must(!hps_data_open(&data, path, MPI_COMM_NULL), "no data");
}

void interleaved_end(void)
{
    hps_data_close(data);
    unlink(path);
}

static void run(uint64_t order)
{
    struct interleaved *x = &interleaved;
    struct fake_mpi f = { x->R, hps_rng_key(order, "order"), x->host, x->eager, body, x };

    memset(x->rank, 0, sizeof x->rank);
    make_net(x);
    make_ledger(x);
    if (!fake_mpi_run(&f)) {
        fake_mpi_print();
        HPS_DIE("no rank can go on");
    }
    hps_plan_free(x->plan);
    hps_net_free(x->net);
    hps_deck_free(x->parsed);
}

void interleaved_run(uint64_t order)
{
    interleaved.replays = false;
    run(order);
}

void interleaved_replay(uint64_t order, bool stops)
{
    struct interleaved *x = &interleaved;

    memcpy(x->record, x->rank, sizeof x->rank);
    x->replays = true;
    if (!stops) x->stop_time = -1;
    run(order);
    for (int r = 0; r < x->R && !x->rank[0].starts; r++) {
        const struct interleaved_rank *was = &x->record[r], *is = &x->rank[r];
        if (is->nevent != was->nevent ||
            memcmp(is->event, was->event, (size_t)is->nevent * sizeof *is->event) != 0)
            HPS_DIE("rank %d replays another order", r);
        if (is->bits != was->bits) HPS_DIE("rank %d replays other bits", r);
    }
}

uint64_t interleaved_order(void)
{
    uint64_t hash = 0;

    for (int r = 0; r < interleaved.R; r++)
        for (int i = 0; i < interleaved.rank[r].nevent; i++) {
            const struct hps_clock_event *e = &interleaved.rank[r].event[i];
            hash = hps_rng_sub(hash, (uint64_t)(r * 64 + e->worker * 2 + (int)e->act));
        }
    return hash;
}
