#include "jobs/promised.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/page.h"
#include "base/say.h"

/* ---- deadlines ---- */

static double alone_of(const struct hps_pool_job *job, double restart_s)
{
    return job->arrive_s + restart_s + hps_pool_job_best_s(job);
}

int hps_promised_missed(struct hps_missed **missed, const struct hps_job_outcomes *o,
                        double restart_s)
{
    struct hps_missed *m = hps_mem_new((size_t)o->workload->n, sizeof *m);
    int n = 0;

    for (int j = 0; j < o->workload->n; j++) {
        const struct hps_pool_job *job = &o->workload->job[j];
        double end_s = isnan(o->job[j].end_s) ? INFINITY : o->job[j].end_s;
        if (end_s > job->deadline_s)
            m[n++] = (struct hps_missed){ j, end_s, alone_of(job, restart_s) };
    }
    *missed = m;
    return n;
}

/* ---- for people ---- */

struct started {
    double start_s;
    int job;
};

static int earlier(const void *a, const void *b)
{
    const struct started *x = a, *y = b;

    if (x->start_s != y->start_s) return x->start_s < y->start_s ? -1 : 1;
    return x->job - y->job;
}

/* The jobs by their starts; those that never start last. */
static struct started *order_of(const struct hps_job_outcomes *o)
{
    struct started *s = hps_mem_new((size_t)o->workload->n, sizeof *s);

    for (int j = 0; j < o->workload->n; j++)
        s[j] = (struct started){ isnan(o->job[j].start_s) ? INFINITY : o->job[j].start_s, j };
    qsort(s, (size_t)o->workload->n, sizeof *s, earlier);
    return s;
}

/* The units of each job, one stretch after the other: "4 gpu, 8 gpu". */
static struct hps_page *units_of(const struct hps_job_outcomes *o)
{
    struct hps_page *text = hps_mem_new((size_t)o->workload->n, sizeof *text);

    for (size_t i = 0; i < o->nspan; i++) {
        const struct hps_job_span *s = &o->span[i];
        struct hps_page *to = &text[s->job];
        char *units = hps_outcomes_units(o, &o->workload->job[s->job].config[s->config]);
        if (to->n < 200) hps_page_add(to, "%s%s", to->n > 0 ? ", " : "", units);
        hps_mem_free(units);
    }
    return text;
}

static void print_job(const struct hps_job_outcomes *o, int j, const char *units)
{
    const struct hps_pool_job *job = &o->workload->job[j];
    const struct hps_job_outcome *x = &o->job[j];
    struct hps_page line = { 0 };

    hps_page_fit(&line, job->name, 24);
    hps_page_add(&line, " %10.6g %10.6g %10.6g ", job->arrive_s, x->start_s, x->end_s);
    if (isfinite(job->deadline_s))
        hps_page_add(&line, "%10.6g", job->deadline_s);
    else
        hps_page_add(&line, "%10s", "");
    hps_page_add(&line, " %9.4g  ", x->usd);
    hps_page_cut(&line, units, 60);
    hps_out("%s\n", line.at);
    hps_mem_free(line.at);
}

static void print_missed(const struct hps_job_outcomes *o, double restart_s)
{
    struct hps_missed *missed;
    int n = hps_promised_missed(&missed, o, restart_s);

    for (int i = 0; i < n; i++) {
        const struct hps_missed *m = &missed[i];
        const struct hps_pool_job *job = &o->workload->job[m->job];
        if (m->alone_s > job->deadline_s)
            hps_out("The deadline of '%s', %.6g s, cannot be met: with the whole pool from its "
                    "arrival on it would end at %.6g s.\n", job->name, job->deadline_s, m->alone_s);
        else
            hps_out("The deadline of '%s', %.6g s, is not met: others have units that it needs, it "
                    "ends at %.6g s; alone it would end at %.6g s.\n", job->name, job->deadline_s,
                    m->end_s, m->alone_s);
    }
    hps_mem_free(missed);
}

void hps_promised_print(const struct hps_job_outcomes *o, double restart_s)
{
    struct started *order = order_of(o);
    struct hps_page *units = units_of(o);

    hps_out("%-24s %10s %10s %10s %10s %9s  %s\n", "job", "arrives, s", "starts, s", "ends, s",
            "deadline", "USD", "units");
    for (int i = 0; i < o->workload->n; i++)
        print_job(o, order[i].job, units[order[i].job].at ? units[order[i].job].at : "none");
    print_missed(o, restart_s);
    for (int j = 0; j < o->workload->n; j++)
        hps_mem_free(units[j].at);
    hps_mem_free(units);
    hps_mem_free(order);
}

/* ---- for programs ---- */

json_t *hps_promised_tree(const struct hps_job_outcomes *o, double restart_s)
{
    json_t *tree = hps_outcomes_tree(o), *list = json_array();
    struct hps_missed *missed;
    int n = hps_promised_missed(&missed, o, restart_s);

    for (int i = 0; i < n; i++) {
        const struct hps_pool_job *job = &o->workload->job[missed[i].job];
        json_t *one = json_object();
        json_object_set_new(one, "name", hps_json_word(job->name));
        json_object_set_new(one, "deadline", hps_json_real(job->deadline_s));
        json_object_set_new(one, "end", hps_json_real(missed[i].end_s));
        json_object_set_new(one, "alone_end", hps_json_real(missed[i].alone_s));
        json_object_set_new(one, "possible", json_boolean(missed[i].alone_s <= job->deadline_s));
        json_array_append_new(list, one);
    }
    json_object_set_new(tree, "deadlines_missed", list);
    hps_mem_free(missed);
    return tree;
}
