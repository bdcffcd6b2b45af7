#include "jobs/objective.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

enum { ROUNDS = 10 };           /* in which the jobs that can be there become fewer */

static const struct {
    const char *word, *figure;
} all[] = { { "jct", "mean_jct_s" }, { "makespan", "makespan_s" }, { "rho", "rho_max" } };

enum { N = sizeof all / sizeof *all };

enum hps_objective hps_objective_of(const char *word)
{
    int o = 0;

    while (o < N - 1 && strcmp(word, all[o].word) != 0)
        o++;
    return (enum hps_objective)o;
}

const char *hps_objective_figure(enum hps_objective o)
{
    return all[o].figure;
}

double hps_objective_value(enum hps_objective o, const struct hps_job_figures *f)
{
    return o == HPS_MAKESPAN ? f->makespan_s : o == HPS_RHO ? f->rho_max : f->mean_jct_s;
}

/* ---- how many jobs there can be ---- */

/* Arrivals, and times at which jobs are due, both ascending. */
struct times {
    size_t n;
    double *arrive, *due;
};

/* The most jobs that can be there on average from a job's arrival to its end, which is between the
 * soonest that it can be and when it is due; each job is there from its arrival on, until it is due
 * at the latest. */
static double most_jobs(const struct times *t, double from, double soonest, double due)
{
    size_t next = hps_sort_first_above(t->arrive, t->n, from);
    size_t out = hps_sort_first_above(t->due, t->n, from);
    double sum = 0, at = from, most = 1;

    while (at < due) {
        double comes = next < t->n ? t->arrive[next] : INFINITY;
        double goes = out < t->n ? t->due[out] : INFINITY;
        double until = fmin(fmin(comes, goes), at < soonest ? soonest : due);
        sum += (until - at) * (double)(next - out);
        at = until;
        next += comes <= at;
        out += goes <= at;
        if (at >= soonest) most = fmax(most, sum / (at - from));
    }
    return most;
}

/* One round: when jobs are due if as many others are there as `due_s` allows. */
static void fewer(double R, const struct hps_workload *w, struct times *t, double *due_s)
{
    memcpy(t->due, due_s, t->n * sizeof *due_s);
    hps_sort_ascending(t->due, t->n);
    for (int j = 0; j < w->n; j++) {
        double from = w->job[j].arrive_s, best = hps_pool_job_best_s(&w->job[j]);
        if (due_s[j] <= from + best) continue;  /* it cannot end in time: that is enough */
        due_s[j] = from + R * best * most_jobs(t, from, from + best, due_s[j]);
    }
}

void hps_objective_due(enum hps_objective o, double R, const struct hps_workload *w,
                       double *due_s)
{
    struct times t = { (size_t)w->n, NULL, NULL };

    for (int j = 0; j < w->n; j++)
        due_s[j] = o == HPS_MAKESPAN
                       ? R : w->job[j].arrive_s + R * w->n * hps_pool_job_best_s(&w->job[j]);
    if (o != HPS_RHO) return;
    t.arrive = hps_mem_new(t.n, sizeof *t.arrive);
    t.due = hps_mem_new(t.n, sizeof *t.due);
    for (int j = 0; j < w->n; j++)
        t.arrive[j] = w->job[j].arrive_s;
    for (int round = 0; round < ROUNDS; round++)
        fewer(R, w, &t, due_s);
    hps_mem_free(t.arrive);
    hps_mem_free(t.due);
}
