#include "jobs/accounts.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/page.h"

/* A word of another's as a cell of the table. */
static void add_cell(struct hps_page *text, const char *word)
{
    if (!word[strcspn(word, ",\"\r\n")]) {
        hps_page_add(text, "%s", word);
        return;
    }
    hps_page_add(text, "\"");
    for (; *word; word++)
        hps_page_add(text, *word == '"' ? "\"\"" : "%c", *word);
    hps_page_add(text, "\"");
}

static int units_of(const struct hps_job_outcomes *o, const struct hps_job_config *c, bool cpu)
{
    int n = 0;

    for (int i = 0; i < c->nparts; i++) {
        const char *type = o->pool->type[c->part[i].type].name;
        if ((strncasecmp(type, "cpu", 3) == 0) == cpu) n += c->part[i].units;
    }
    return n;
}

/* The next span of the same job, NULL: it has none. next (nspan) is made once. */
static long *next_of(const struct hps_job_outcomes *o)
{
    long *next = hps_mem_new(o->nspan, sizeof *next);
    long *seen = hps_mem_new((size_t)o->workload->n, sizeof *seen);

    for (int j = 0; j < o->workload->n; j++)
        seen[j] = -1;
    for (size_t i = o->nspan; i-- > 0;) {
        next[i] = seen[o->span[i].job];
        seen[o->span[i].job] = (long)i;
    }
    hps_mem_free(seen);
    return next;
}

static const char *state_of(const struct hps_job_outcomes *o, size_t i, long next)
{
    const struct hps_job_span *s = &o->span[i];

    if (next >= 0) return o->span[next].begin_s > s->end_s ? "PREEMPTED" : "RESIZED";
    return s->end_s == o->job[s->job].end_s ? "COMPLETED" : "PREEMPTED";
}

static void add_span(struct hps_page *text, const struct hps_job_outcomes *o, const char *pool,
                     size_t i, long next, double waited_from)
{
    const struct hps_job_span *s = &o->span[i];
    const struct hps_pool_job *job = &o->workload->job[s->job];
    const struct hps_job_config *c = &job->config[s->config];

    add_cell(text, job->name);
    hps_page_add(text, ",,");
    add_cell(text, pool);
    hps_page_add(text, ",%d,%d,,%s,%.17g,%.17g,%.17g,%.17g,%.17g,", units_of(o, c, false),
                 units_of(o, c, true), state_of(o, i, next), job->arrive_s, s->begin_s, s->end_s,
                 s->end_s - s->begin_s, s->begin_s - waited_from);
    char *units = hps_outcomes_units(o, c);
    add_cell(text, units);
    hps_page_add(text, ",%.17g\n", hps_outcomes_usd_hour(o, c) * (s->end_s - s->begin_s) / 3600);
    hps_mem_free(units);
}

char *hps_accounts_text(const struct hps_job_outcomes *o, const char *pool)
{
    struct hps_page text = { 0 };
    long *next = next_of(o);
    double *since = hps_mem_new((size_t)o->workload->n, sizeof *since);

    hps_page_add(&text, "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
                        "end_time,duration,queue,units,usd\n");
    for (int j = 0; j < o->workload->n; j++)
        since[j] = o->workload->job[j].arrive_s;
    for (size_t i = 0; i < o->nspan; i++) {
        add_span(&text, o, pool, i, next[i], since[o->span[i].job]);
        since[o->span[i].job] = o->span[i].end_s;
    }
    hps_mem_free(since);
    hps_mem_free(next);
    return text.at;
}
