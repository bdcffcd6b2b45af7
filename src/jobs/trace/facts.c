/* facts.c - the distribution that Tiresias' authors publish: GPU-seconds of jobs of a cluster; what
 * Pollux' authors publish of their applications. */
#include "jobs/facts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/sort.h"
#include "jobs/trace/trace_impl.h"

static enum hps_status load(struct hps_policy_facts *f, const char *path)
{
    struct hps_trace_table t;
    enum hps_status st = hps_trace_table_load(&t, path);

    if (st) return st;
    double *x = hps_mem_new((size_t)t.nrow, sizeof *x);
    for (int i = 0; i < t.nrow && !st; i++)
        st = hps_trace_real(&t, i, "duration", 0, 1e15, &x[i]);
    hps_sort_ascending(x, (size_t)t.nrow);
    f->sample = x;
    f->nsample = t.nrow;
    hps_trace_table_done(&t);
    return st;
}

/* ---- Pollux ---- */

static char *model_of(const struct hps_trace_table *t, int row)
{
    return hps_mem_print("%s %s", hps_trace_cell(t, row, hps_trace_column(t, "application")),
                         hps_trace_cell(t, row, hps_trace_column(t, "batch")));
}

/* The next epoch of the model of the last one, or the first of another. */
static enum hps_status add_epoch(struct hps_pollux_facts *f, const struct hps_trace_table *t,
                                 int row)
{
    double share = 0, number = 0;
    char *model = model_of(t, row);
    enum hps_status st = hps_trace_real(t, row, "share", 0, 1, &share);

    if (!st) st = hps_trace_whole(t, row, "epoch", 1, t->nrow, &number);
    if (!st && number == 1) {
        hps_mem_grow(&f->epochs, &f->epochs_cap, f->nepochs + 1, sizeof *f->epochs);
        f->epochs[f->nepochs++] = (struct hps_pollux_epochs){
            hps_mem_text(model), 0, hps_mem_new((size_t)t->nrow, sizeof(double)) };
    }
    struct hps_pollux_epochs *e = f->nepochs > 0 ? &f->epochs[f->nepochs - 1] : NULL;
    if (!st && (!e || strcmp(e->model, model) != 0 || number != e->n + 1)) {
        HPS_SAY(HPS_ERROR, "%s:%lld: epochs are not in order", t->path, t->line[row + 1]);
        st = HPS_DECK;
    }
    hps_mem_free(model);
    if (st) return st;
    e->until[e->n] = (e->n > 0 ? e->until[e->n - 1] : 0) + share;
    e->n++;
    return HPS_OK;
}

static enum hps_status add_placement(struct hps_pollux_facts *f, const struct hps_trace_table *t,
                                     int row)
{
    double step_s = 0;
    enum hps_status st = hps_trace_real(t, row, "seconds_per_step", 1e-9, 1e9, &step_s);
    const char *placement = hps_trace_cell(t, row, hps_trace_column(t, "placement"));

    if (st) return st;
    hps_mem_grow(&f->placement, &f->placement_cap, f->nplacement + 1, sizeof *f->placement);
    f->placement[f->nplacement++] =
        (struct hps_pollux_placement){ model_of(t, row), hps_mem_text(placement), step_s };
    return HPS_OK;
}

static enum hps_status load_rows(struct hps_pollux_facts *f, const char *folder, const char *name,
                                 const char *const *columns,
                                 enum hps_status (*add)(struct hps_pollux_facts *f,
                                                        const struct hps_trace_table *t, int row))
{
    struct hps_trace_table t;
    char *path = hps_mem_print("%s/inputs/jobs/%s", folder, name);
    enum hps_status st = hps_trace_table_load(&t, path);

    if (!st) {
        st = hps_trace_wants(&t, columns);
        for (int i = 0; i < t.nrow && !st; i++)
            st = add(f, &t, i);
        hps_trace_table_done(&t);
    }
    hps_mem_free(path);
    return st;
}

static enum hps_status load_pollux(struct hps_pollux_facts **out, const char *folder)
{
    static const char *const epochs[] = { "application", "batch", "epoch", "share", NULL };
    static const char *const placements[] = { "application", "batch", "placement",
                                              "seconds_per_step", NULL };
    struct hps_pollux_facts *f = *out = hps_mem_new(1, sizeof *f);
    enum hps_status st = load_rows(f, folder, "pollux_epochs.csv", epochs, add_epoch);

    for (size_t i = 0; i < f->nepochs; i++)
        f->epochs[i].until[f->epochs[i].n - 1] = 1;     /* shares are rounded */
    return st ? st : load_rows(f, folder, "pollux_placements.csv", placements, add_placement);
}

static void free_pollux(struct hps_pollux_facts *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->nepochs; i++) {
        hps_mem_free(f->epochs[i].model);
        hps_mem_free(f->epochs[i].until);
    }
    for (size_t i = 0; i < f->nplacement; i++) {
        hps_mem_free(f->placement[i].model);
        hps_mem_free(f->placement[i].placement);
    }
    hps_mem_free(f->epochs);
    hps_mem_free(f->placement);
    hps_mem_free(f);
}

/* ---- all ---- */

enum hps_status hps_policy_facts_load(struct hps_policy_facts **facts, const char *folder)
{
    enum hps_status st = HPS_OK;

    *facts = hps_mem_new(1, sizeof **facts);
    (*facts)->restart_s = NAN;
    (*facts)->opt = hps_policy_opt_preset();
    if (!folder) return HPS_OK;
    char *path = hps_mem_print("%s/inputs/jobs/tiresias_services.csv", folder);
    st = load(*facts, path);
    hps_mem_free(path);
    return st ? st : load_pollux(&(*facts)->pollux, folder);
}

void hps_policy_facts_free(struct hps_policy_facts *f)
{
    if (!f) return;
    free_pollux(f->pollux);
    hps_mem_free((void *)f->sample);
    hps_mem_free(f);
}
