#include "jobs/after.h"

#include "base/mem.h"

void hps_after_init(struct hps_after *a, const struct hps_workload *w)
{
    size_t n = (size_t)w->n;
    int *at = hps_mem_new(n, sizeof *at);

    a->waits = hps_mem_new(n, sizeof *a->waits);
    a->first = hps_mem_new(n + 1, sizeof *a->first);
    for (int j = 0; j < w->n; j++) {
        a->waits[j] = w->job[j].nafter;
        for (int i = 0; i < w->job[j].nafter; i++)
            a->first[w->job[j].after[i] + 1]++;
    }
    for (int j = 0; j < w->n; j++)
        a->first[j + 1] += at[j] = a->first[j];
    a->waiter = hps_mem_new((size_t)a->first[w->n], sizeof *a->waiter);
    for (int j = 0; j < w->n; j++)
        for (int i = 0; i < w->job[j].nafter; i++)
            a->waiter[at[w->job[j].after[i]]++] = j;
    hps_mem_free(at);
}

int hps_after_ended(struct hps_after *a, int j, int *ready)
{
    int n = 0;

    for (int i = a->first[j]; i < a->first[j + 1]; i++)
        if (--a->waits[a->waiter[i]] == 0) ready[n++] = a->waiter[i];
    return n;
}

void hps_after_done(struct hps_after *a)
{
    hps_mem_free(a->waits);
    hps_mem_free(a->first);
    hps_mem_free(a->waiter);
}

bool hps_after_any(const struct hps_workload *w)
{
    for (int j = 0; j < w->n; j++)
        if (w->job[j].nafter > 0) return true;
    return false;
}
