/* list_order.c - the names of a list, and which job waits for which. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"
#include "jobs/list/list_impl.h"

/* ---- names ---- */

struct name {
    const char *text;
    int job;
};

static int by_text(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : x->job - y->job;
}

/* All jobs by name, and those of sweeps by their sweep's as well: (*n) sorted. */
static struct name *names_of(const struct hps_job_list *list, int *n)
{
    struct name *name = hps_mem_new((size_t)list->n * 2, sizeof *name);

    *n = 0;
    for (int j = 0; j < list->n; j++) {
        name[(*n)++] = (struct name){ list->job[j].name, j };
        if (list->job[j].sweep) name[(*n)++] = (struct name){ list->job[j].sweep, j };
    }
    qsort(name, (size_t)*n, sizeof *name, by_text);
    return name;
}

/* Names that are one text are those of a sweep's members. */
static enum hps_status check_unique(const struct hps_job_list *list, const struct name *name, int n)
{
    for (int i = 1; i < n; i++)
        if (name[i - 1].text != name[i].text && strcmp(name[i - 1].text, name[i].text) == 0)
            return hps_deck_wrong(list->job[name[i].job].item, "name", "two jobs are called '%s'",
                                  name[i].text);
    return HPS_OK;
}

/* The first place of a name; n: there is none. */
static int place_of(const struct name *name, int n, const char *text)
{
    int low = 0, high = n;

    while (low < high) {
        int mid = (low + high) / 2;
        if (strcmp(name[mid].text, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && strcmp(name[low].text, text) == 0 ? low : n;
}

static enum hps_status no_such(const struct hps_list_job *job, const struct name *name, int n,
                               const char *text)
{
    const char **word = hps_mem_new((size_t)n, sizeof *word);

    for (int i = 0; i < n; i++)
        word[i] = name[i].text;
    const char *near = hps_deck_nearest(text, word, n);
    hps_mem_free(word);
    return hps_deck_wrong(job->item, "after", "there is no job '%s'%s%s%s", text,
                          near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- which job waits for which ---- */

static enum hps_status bind_after(struct hps_list_job *job, const struct hps_list *after,
                                  const struct name *name, int n)
{
    size_t cap = 0;

    for (int i = 0; i < after->n; i++) {
        int at = place_of(name, n, after->item[i]);
        if (at == n) return no_such(job, name, n, after->item[i]);
        for (; at < n && strcmp(name[at].text, after->item[i]) == 0; at++) {
            hps_mem_grow(&job->after, &cap, (size_t)job->nafter + 1, sizeof *job->after);
            job->after[job->nafter++] = name[at].job;
        }
    }
    return HPS_OK;
}

/* From a job of a circle on: "a waits for b waits for a". */
static enum hps_status say_circle(const struct hps_job_list *list, const int *next, int j)
{
    struct hps_page text = { 0 };
    int at = j;

    hps_page_add(&text, "%s", list->job[j].name);
    do {
        at = next[at];
        hps_page_add(&text, " waits for %s", list->job[at].name);
    } while (at != j && text.n < 600);
    enum hps_status st = hps_deck_wrong(list->job[j].item, "after", "a circle: %s", text.at);
    hps_mem_free(text.at);
    return st;
}

/* Who waits for each job: those of j are waiter[first[j]] up to waiter[first[j + 1] - 1]. */
static int *waiters_of(const struct hps_job_list *list, int *first)
{
    int *at = hps_mem_new((size_t)list->n, sizeof *at);

    for (int j = 0; j < list->n; j++)
        for (int i = 0; i < list->job[j].nafter; i++)
            first[list->job[j].after[i] + 1]++;
    for (int j = 0; j < list->n; j++)
        first[j + 1] += at[j] = first[j];
    int *waiter = hps_mem_new((size_t)first[list->n], sizeof *waiter);
    for (int j = 0; j < list->n; j++)
        for (int i = 0; i < list->job[j].nafter; i++)
            waiter[at[list->job[j].after[i]]++] = j;
    hps_mem_free(at);
    return waiter;
}

/* One after another the jobs leave that wait for none: for how many each of those that stay waits
 * (0: it has left). */
static int *waits_of(const struct hps_job_list *list)
{
    size_t n = (size_t)list->n;
    int *waits = hps_mem_new(n, sizeof *waits), *first = hps_mem_new(n + 1, sizeof *first);
    int *ready = hps_mem_new(n, sizeof *ready), nready = 0, *waiter = waiters_of(list, first);

    for (int j = 0; j < list->n; j++) {
        waits[j] = list->job[j].nafter;
        if (waits[j] == 0) ready[nready++] = j;
    }
    while (nready > 0) {
        int j = ready[--nready];
        for (int i = first[j]; i < first[j + 1]; i++)
            if (--waits[waiter[i]] == 0) ready[nready++] = waiter[i];
    }
    hps_mem_free(waiter);
    hps_mem_free(ready);
    hps_mem_free(first);
    return waits;
}

/* Each job that stays waits for one that stays: going on from any of them ends in a circle. */
static enum hps_status check_circles(const struct hps_job_list *list)
{
    int *waits = waits_of(list), *next = hps_mem_new((size_t)list->n, sizeof *next), at = -1;
    enum hps_status st = HPS_OK;

    for (int j = 0; j < list->n; j++) {
        if (waits[j] > 0) at = j;
        for (int i = 0; i < list->job[j].nafter; i++)
            if (waits[list->job[j].after[i]] > 0) next[j] = list->job[j].after[i];
    }
    if (at >= 0) {
        for (int i = 0; i < list->n; i++)
            at = next[at];
        st = say_circle(list, next, at);
    }
    hps_mem_free(next);
    hps_mem_free(waits);
    return st;
}

enum hps_status hps_list_order(struct hps_list_maker *m)
{
    struct hps_job_list *list = m->list;
    int n;
    struct name *name = names_of(list, &n);
    enum hps_status st = check_unique(list, name, n);

    for (int j = 0; j < list->n && !st; j++)
        st = bind_after(&list->job[j], &m->after[j], name, n);
    if (!st) st = check_circles(list);
    hps_mem_free(name);
    return st;
}
