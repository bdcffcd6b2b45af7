/* facts.c - the distribution that Tiresias' authors publish: GPU-seconds of jobs of a cluster. */
#include "jobs/facts.h"

#include "base/mem.h"
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

enum hps_status hps_policy_facts_load(struct hps_policy_facts **facts, const char *folder)
{
    enum hps_status st = HPS_OK;

    *facts = hps_mem_new(1, sizeof **facts);
    (*facts)->opt = hps_policy_opt_preset();
    if (!folder) return HPS_OK;
    char *path = hps_mem_print("%s/inputs/jobs/tiresias_services.csv", folder);
    st = load(*facts, path);
    hps_mem_free(path);
    return st;
}

void hps_policy_facts_free(struct hps_policy_facts *f)
{
    if (!f) return;
    hps_mem_free((void *)f->sample);
    hps_mem_free(f);
}
