/* served.c - each rank's account goes to rank 0 as bytes. */
#include "train/served.h"

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/world.h"

/* What a rank sends: a server the first ones, a worker's rank the last. */
struct account {
    struct hps_server_work work;
    struct hps_staleness rows, dense;
    struct hps_ps_cached cached;
};

static void add(struct hps_staleness *to, const struct hps_staleness *more)
{
    for (int b = 0; b < HPS_STALENESS_BINS; b++)
        to->n[b] += more->n[b];
    to->sum += more->sum;
    to->max = more->max > to->max ? more->max : to->max;
}

static struct account account_of(const struct hps_step *step, const struct hps_server *v)
{
    struct account a = { .work = v->work, .dense = v->staleness };

    for (int i = 0; i < step->nchannel; i++) {
        struct hps_staleness rows = hps_ps_staleness(step->channel[i].ps);
        add(&a.rows, &rows);
    }
    return a;
}

/* The accounts of all ranks (R). Rank 0. */
static struct hps_served *served_of(const struct hps_team *team, const struct account *all)
{
    struct hps_served *s = hps_mem_new(1, sizeof *s);

    s->N = team->nserver;
    s->rank = hps_mem_new((size_t)s->N, sizeof *s->rank);
    s->work = hps_mem_new((size_t)s->N, sizeof *s->work);
    for (int r = 0; r < team->R; r++)
        hps_ps_cached_add(&s->cached, &all[r].cached);
    for (int i = 0; i < s->N; i++) {
        const struct account *a = &all[team->server[i]];
        s->rank[i] = team->server[i];
        s->work[i] = a->work;
        add(&s->rows, &a->rows);
        add(&s->dense, &a->dense);
    }
    return s;
}

struct hps_served *hps_served_gather(const struct hps_step *step, const struct hps_server *server)
{
    const struct hps_team *team = step->team;
    struct account mine = { 0 }, *all = NULL;
    struct hps_served *served = NULL;
    struct hps_clock_samples *samples = hps_mem_new(1, sizeof *samples);

    if (server) mine = account_of(step, server);
    if (team->nmine > 0) mine.cached = hps_ps_cached(step->ps);
    if (hps_step_serves_first(step)) *samples = server->samples;
    if (hps_rank() == 0) all = hps_mem_new((size_t)team->R, sizeof *all);
    HPS_MPI(MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, 0,
                       team->world));
    HPS_MPI(MPI_Bcast(samples, (int)sizeof *samples, MPI_BYTE, team->server[0], team->world));
    if (all) {
        served = served_of(team, all);
        served->samples = *samples;
    }
    hps_mem_free(all);
    hps_mem_free(samples);
    return served;
}

void hps_served_free(struct hps_served *s)
{
    if (!s) return;
    hps_mem_free(s->rank);
    hps_mem_free(s->work);
    hps_mem_free(s);
}
