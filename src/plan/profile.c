#include "plan/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "net/layer.h"
#include "plan/memory.h"

#define SLACK 1e-9              /* relative: a sum that was rounded */

bool hps_profile_has_table(const struct hps_profile_layer *layer)
{
    const struct hps_layer_type *kind = hps_layer_find(layer->type);

    return kind && kind->table;
}

static size_t table_size(const struct hps_profile *p)
{
    return (size_t)p->L * (size_t)p->T;
}

/* All tables are contiguous, so that they are copied and broadcast as one. */
static size_t all_tables(const struct hps_profile *p)
{
    return 13 * table_size(p) + 5 * (size_t)p->T;
}

static void point(struct hps_profile *p, double *table)
{
    size_t n = table_size(p);

    p->oct = table;
    p->alpha = table + n;
    p->sync = table + 2 * n;
    p->beta = table + 3 * n;
    p->recv = table + 4 * n;
    p->send = table + 5 * n;
    p->engine.forward_s = table + 6 * n;
    p->engine.once_s = table + 7 * n;
    p->serve = table + 8 * n;
    p->tier.take_s = table + 9 * n;
    p->tier.make_s = table + 10 * n;
    p->tier.read_s = table + 11 * n;
    p->tier.write_s = table + 12 * n;
    p->tier.reads_s = table + 13 * n;
    p->engine.read_s = p->tier.reads_s + p->T;
    p->engine.micro_s = p->engine.read_s + p->T;
    p->engine.step_s = p->engine.micro_s + p->T;
    p->engine.unsure = p->engine.step_s + p->T;
}

struct hps_profile *hps_profile_new(int L, int T)
{
    assert(L > 0 && T > 0);
    struct hps_profile *p = hps_mem_new(1, sizeof *p);

    p->L = L;
    p->T = T;
    p->workers = 1;
    p->type = hps_mem_new((size_t)T, sizeof *p->type);
    p->layer = hps_mem_new((size_t)L, sizeof *p->layer);
    for (int l = 0; l < L; l++)
        p->layer[l].rows_with = l;
    point(p, hps_mem_new(all_tables(p), sizeof(double)));
    return p;
}

void hps_profile_free(struct hps_profile *p)
{
    if (!p) return;
    hps_mem_free(p->type);
    hps_mem_free(p->layer);
    hps_mem_free(p->oct);
    hps_mem_free(p);
}

void hps_profile_bcast(struct hps_profile **p, MPI_Comm world)
{
    struct hps_profile head = { 0 };
    int rank, place = (int)sizeof head;

    if (world == MPI_COMM_NULL) return;
    HPS_MPI(MPI_Comm_rank(world, &rank));
    if (rank == 0) head = **p;
    HPS_MPI(MPI_Bcast(&head, place, MPI_BYTE, 0, world));
    if (rank != 0) {
        struct hps_profile *q = *p = hps_profile_new(head.L, head.T);
        head.type = q->type;
        head.layer = q->layer;
        point(&head, q->oct);
        *q = head;
    }
    struct hps_profile *q = *p;
    HPS_MPI(MPI_Bcast(q->type, q->T * (int)sizeof *q->type, MPI_BYTE, 0, world));
    HPS_MPI(MPI_Bcast(q->layer, q->L * (int)sizeof *q->layer, MPI_BYTE, 0, world));
    HPS_MPI(MPI_Bcast(q->oct, (int)all_tables(q), MPI_DOUBLE, 0, world));
}

static enum hps_status refuse(const char *from, const char *what, double x, const char *wanted)
{
    HPS_SAY(HPS_ERROR, "%s: %s is %g, must be %s", from, what, x, wanted);
    return HPS_DECK;
}

static bool finite_not_negative(double x)
{
    return isfinite(x) && x >= 0;
}

static enum hps_status check_head(const struct hps_profile *p, const char *from)
{
    if (!(isfinite(p->batch) && p->batch > 0))
        return refuse(from, "batch", p->batch, "finite and above 0");
    if (!(isfinite(p->examples) && p->examples > 0))
        return refuse(from, "examples", p->examples, "finite and above 0");
    if (!(isfinite(p->epochs) && p->epochs > 0))
        return refuse(from, "epochs", p->epochs, "finite and above 0");
    if (!(p->throughput_limit >= 0))
        return refuse(from, "throughput_limit", p->throughput_limit, "0 or above");
    if (p->workers < 1) return refuse(from, "workers", p->workers, "at least 1");
    if (p->server_units < 0)
        return refuse(from, "servers.units", (double)p->server_units, "0 or above");
    if (hps_profile_served(p) && (p->server_type < (p->server_auto ? -1 : 0) ||
                                  p->server_type >= p->T))
        return refuse(from, "servers.type", p->server_type, "one of the types");
    return HPS_OK;
}

/* One number of a type or a layer. */
static bool good_number(const char *from, const char *of, int n, const char *name, const char *key,
                        double x)
{
    if (finite_not_negative(x)) return true;
    HPS_SAY(HPS_ERROR, "%s: %s of %s %d (%s) is %g, must be finite and not negative", from, key, of,
            n, name, x);
    return false;
}

/* Names of types must differ: decks refer to a type by its name (single:NAME, resources.NAME). */
static enum hps_status check_names(const struct hps_profile *p, const char *from)
{
    for (int t = 1; t < p->T; t++)
        for (int u = 0; u < t; u++)
            if (strcmp(p->type[t].name, p->type[u].name) == 0) {
                HPS_SAY(HPS_ERROR, "%s: types %d and %d are both called %s", from, u, t,
                        p->type[t].name);
                return HPS_DECK;
            }
    return HPS_OK;
}

static enum hps_status check_types(const struct hps_profile *p, const char *from)
{
    for (int t = 0; t < p->T; t++) {
        const struct hps_profile_type *y = &p->type[t];
        if (!good_number(from, "type", t, y->name, "price_usd_hour", y->price_usd_hour) ||
            !good_number(from, "type", t, y->name, "memory_bytes", y->memory_bytes))
            return HPS_DECK;
        if (y->limit < 1) {
            HPS_SAY(HPS_ERROR, "%s: limit of type %d (%s) is %lld, must be at least 1", from, t,
                    y->name, y->limit);
            return HPS_DECK;
        }
    }
    if (p->server_units > 0 && p->server_units > p->type[p->server_type].limit) {
        HPS_SAY(HPS_ERROR, "%s: %lld servers on type %s, whose limit is %lld", from,
                p->server_units, p->type[p->server_type].name, p->type[p->server_type].limit);
        return HPS_DECK;
    }
    return HPS_OK;
}

static enum hps_status check_bytes(const struct hps_profile *p, const char *from)
{
    for (int l = 0; l < p->L; l++) {
        const struct hps_profile_layer *y = &p->layer[l];
        if (!good_number(from, "layer", l, y->name, "input_bytes", y->input_bytes) ||
            !good_number(from, "layer", l, y->name, "weight_bytes", y->weight_bytes) ||
            !good_number(from, "layer", l, y->name, "state_bytes", y->state_bytes))
            return HPS_DECK;
    }
    return HPS_OK;
}

static enum hps_status check_table(const struct hps_profile *p, const char *from, const char *name,
                                   const double *x, double max)
{
    for (size_t a = 0; a < table_size(p); a++)
        if (!finite_not_negative(x[a]) || x[a] > max) {
            size_t l = a / (size_t)p->T, t = a % (size_t)p->T;
            HPS_SAY(HPS_ERROR, "%s: %s of layer %zu (%s) on type %zu (%s) is %.17g, must be %s",
                    from, name, l, p->layer[l].name, t, p->type[t].name, x[a],
                    max == 1 ? "in [0, 1]" : "finite and not negative");
            return HPS_DECK;
        }
    return HPS_OK;
}

static enum hps_status check_engine(const struct hps_profile *p, const char *from)
{
    const struct hps_profile_engine *e = &p->engine;

    if (!finite_not_negative(e->batch))
        return refuse(from, "engine.batch", e->batch, "finite and not negative");
    if (!finite_not_negative(e->move))
        return refuse(from, "engine.move", e->move, "finite and not negative");
    if (!finite_not_negative(e->run_s))
        return refuse(from, "engine.run_s", e->run_s, "finite and not negative");
    if (!finite_not_negative(e->trial))
        return refuse(from, "engine.trial", e->trial, "finite and not negative");
    if (e->batch > 0 && e->microbatches < 1)
        return refuse(from, "engine.microbatches", (double)e->microbatches, "at least 1");
    for (int t = 0; t < p->T; t++) {
        const char *name = p->type[t].name;
        if (!good_number(from, "type", t, name, "engine.read_s", e->read_s[t]) ||
            !good_number(from, "type", t, name, "engine.micro_s", e->micro_s[t]) ||
            !good_number(from, "type", t, name, "engine.step_s", e->step_s[t]) ||
            !good_number(from, "type", t, name, "engine.unsure", e->unsure[t]))
            return HPS_DECK;
        if (e->unsure[t] >= 1)
            return refuse(from, "engine.unsure", e->unsure[t], "a share of a step, below 1");
    }
    return HPS_OK;
}

/* Shares, and none larger at fewer slots. */
static bool good_shares(const double *share)
{
    for (int i = 0; i < HPS_TIER_SHARES; i++)
        if (!(share[i] >= 0 && share[i] <= (i > 0 ? share[i - 1] : 1))) return false;
    return true;
}

/* Fewer rows in more steps, more than there are, or than steps need. */
static const char *wrong_sample(const struct hps_tier_sample *x)
{
    double before = x->rows;

    if (!(x->asked > 0 && x->asked <= x->rows)) return "asked";
    if (!(isfinite(x->steps) && x->steps >= 1)) return "steps";
    for (int i = 0; i < HPS_TIER_POINTS; i++) {
        if (!(x->distinct[i] > 0 && x->distinct[i] <= before * (1 + SLACK))) return "distinct";
        before = x->distinct[i];
    }
    if (!good_shares(x->hits)) return "hits";
    if (!good_shares(x->later_hits)) return "later_hits";
    return good_shares(x->first_hits) ? NULL : "first_hits";
}

static enum hps_status check_samples(const struct hps_profile *p, const char *from)
{
    for (int l = 0; l < p->L; l++) {
        const struct hps_profile_layer *y = &p->layer[l];
        const struct hps_tier_sample *x = &p->layer[y->rows_with].sample;
        if (!good_number(from, "layer", l, y->name, "tier.rows", y->sample.rows)) return HPS_DECK;
        const char *wrong = y->sample.rows > 0 ? wrong_sample(&y->sample) : NULL;
        if (!wrong && y->rows_with != l && !(x->rows > 0)) wrong = "with";
        if (!wrong) continue;
        HPS_SAY(HPS_ERROR, "%s: tier.%s of layer %d (%s) cannot be", from, wrong, l, y->name);
        return HPS_DECK;
    }
    return HPS_OK;
}

static enum hps_status check_tier(const struct hps_profile *p, const char *from)
{
    const struct hps_profile_tier *x = &p->tier;
    enum hps_status s = check_samples(p, from);

    if (!s && !finite_not_negative(p->max_rows_bytes))
        return refuse(from, "tier.memory_bytes", p->max_rows_bytes, "finite and not negative");
    if (!s) s = check_table(p, from, "tier.take", x->take_s, INFINITY);
    if (!s) s = check_table(p, from, "tier.make", x->make_s, INFINITY);
    if (!s) s = check_table(p, from, "tier.read", x->read_s, INFINITY);
    if (!s) s = check_table(p, from, "tier.write", x->write_s, INFINITY);
    for (int t = 0; !s && t < p->T; t++)
        if (!good_number(from, "type", t, p->type[t].name, "tier.reads_s", x->reads_s[t]))
            s = HPS_DECK;
    return s;
}

static enum hps_status check_servers(const struct hps_profile *p, const char *from)
{
    char lack[512];

    if (hps_profile_served(p) && p->server_type >= 0 && p->type[p->server_type].gpu) {
        HPS_SAY(HPS_ERROR, "%s: servers are CPUs, not GPUs of type %s", from,
                p->type[p->server_type].name);
        return HPS_DECK;
    }
    if (!hps_memory_servers_lack(p, lack, sizeof lack)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: %s", from, lack);
    return HPS_DECK;
}

enum hps_status hps_profile_check(const struct hps_profile *p, const char *from)
{
    enum hps_status s = check_head(p, from);

    if (!s) s = check_types(p, from);
    if (!s) s = check_names(p, from);
    if (!s) s = check_bytes(p, from);
    if (!s) s = check_servers(p, from);
    if (!s) s = check_table(p, from, "oct", p->oct, INFINITY);
    if (!s) s = check_table(p, from, "alpha", p->alpha, 1);
    if (!s) s = check_table(p, from, "sync", p->sync, INFINITY);
    if (!s) s = check_table(p, from, "beta", p->beta, 1);
    if (!s) s = check_table(p, from, "recv", p->recv, INFINITY);
    if (!s) s = check_table(p, from, "send", p->send, INFINITY);
    if (!s) s = check_table(p, from, "serve", p->serve, INFINITY);
    if (!s) s = check_table(p, from, "forward", p->engine.forward_s, INFINITY);
    if (!s) s = check_table(p, from, "once", p->engine.once_s, INFINITY);
    if (!s) s = check_engine(p, from);
    if (!s) s = check_tier(p, from);
    if (s) return s;
    for (size_t a = 0; a < table_size(p); a++)
        if (p->oct[a] > 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: oct is 0 everywhere: nothing was measured", from);
    return HPS_DECK;
}
