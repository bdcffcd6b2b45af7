#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "jobs/policy/profile_impl.h"

/* Of one type: so many units are free from a time on, until the next; for ever from the last. */
struct steps {
    size_t n, time_cap, units_cap;
    double *time;
    int *units;
};

struct hps_job_profile {
    int T;
    struct steps *type;         /* (T) */
};

struct hps_job_profile *hps_job_profile_new(const struct hps_job_pool *pool, double now_s)
{
    struct hps_job_profile *p = hps_mem_new(1, sizeof *p);

    p->T = pool->T;
    p->type = hps_mem_new((size_t)p->T, sizeof *p->type);
    for (int t = 0; t < p->T; t++) {
        struct steps *s = &p->type[t];
        hps_mem_grow(&s->time, &s->time_cap, 1, sizeof *s->time);
        hps_mem_grow(&s->units, &s->units_cap, 1, sizeof *s->units);
        s->time[0] = now_s;
        s->units[0] = pool->type[t].units;
        s->n = 1;
    }
    return p;
}

void hps_job_profile_free(struct hps_job_profile *p)
{
    for (int t = 0; t < p->T; t++) {
        hps_mem_free(p->type[t].time);
        hps_mem_free(p->type[t].units);
    }
    hps_mem_free(p->type);
    hps_mem_free(p);
}

/* The step in which `at` lies. */
static size_t step_at(const struct steps *s, double at)
{
    size_t next = hps_sort_first_above(s->time, s->n, at);

    return next > 0 ? next - 1 : 0;
}

int hps_job_profile_units(const struct hps_job_profile *p, int type, double at_s, double *until_s,
                          size_t *step)
{
    const struct steps *s = &p->type[type];

    while (*step + 1 < s->n && s->time[*step + 1] <= at_s)
        ++*step;
    *until_s = *step + 1 < s->n ? s->time[*step + 1] : INFINITY;
    return s->units[*step];
}

/* The first time from `from` on at which so many units are free for so long. */
static double find_one(const struct steps *s, int units, double from, double seconds)
{
    double at = from;

    for (size_t k = step_at(s, from); k < s->n && s->time[k] < at + seconds; k++)
        if (s->units[k] < units) at = k + 1 < s->n ? s->time[k + 1] : INFINITY;
    return at;
}

double hps_job_profile_find(const struct hps_job_profile *p, const struct hps_job_config *c,
                            double seconds)
{
    double at = p->type[c->part[0].type].time[0], before;

    do {
        before = at;
        for (int i = 0; i < c->nparts; i++)
            at = find_one(&p->type[c->part[i].type], c->part[i].units, at, seconds);
    } while (at > before && isfinite(at));
    return at;
}

/* The step that begins at `at`, made where there is none. */
static size_t split(struct steps *s, double at)
{
    size_t k = step_at(s, at);

    if (s->time[k] >= at) return k;
    hps_mem_grow(&s->time, &s->time_cap, s->n + 1, sizeof *s->time);
    hps_mem_grow(&s->units, &s->units_cap, s->n + 1, sizeof *s->units);
    memmove(&s->time[k + 2], &s->time[k + 1], (s->n - k - 1) * sizeof *s->time);
    memmove(&s->units[k + 2], &s->units[k + 1], (s->n - k - 1) * sizeof *s->units);
    s->time[k + 1] = at;
    s->units[k + 1] = s->units[k];
    s->n++;
    return k + 1;
}

void hps_job_profile_take(struct hps_job_profile *p, const struct hps_job_config *c,
                          double begin_s, double end_s)
{
    if (!(begin_s < end_s) || isinf(begin_s)) return;
    for (int i = 0; i < c->nparts; i++) {
        struct steps *s = &p->type[c->part[i].type];
        size_t from = split(s, begin_s), to = split(s, end_s);
        for (size_t k = from; k < to; k++)
            s->units[k] -= c->part[i].units;
    }
}
