/* progress.c - a short list. */
#include "base/progress.h"

#include <assert.h>

static struct {
    void (*look)(void *with);
    void *with;
} list[HPS_PROGRESS_MAX];
static int n;

void hps_progress_add(void (*look)(void *with), void *with)
{
    assert(n < HPS_PROGRESS_MAX);
    list[n].look = look;
    list[n++].with = with;
}

void hps_progress_drop(void (*look)(void *with), void *with)
{
    int i = 0;

    while (i < n && (list[i].look != look || list[i].with != with))
        i++;
    assert(i < n);
    list[i] = list[--n];
}

bool hps_progress_poll(void)
{
    for (int i = 0; i < n; i++)
        list[i].look(list[i].with);
    return n > 0;
}
