#include "jobs/policy.h"

#include <string.h>

/* Each in a file of its own. */
extern const struct hps_policy hps_policy_fifo, hps_policy_backfill, hps_policy_drf,
    hps_policy_srtf, hps_policy_las, hps_policy_tiresias, hps_policy_gittins, hps_policy_optimus,
    hps_policy_maxmin, hps_policy_elasticflow, hps_policy_hesrpt,
    hps_policy_dl2, hps_policy_prices;
/* Those of the authors' own simulators. */
extern const struct hps_policy hps_tiresias_fifo, hps_tiresias_fjf, hps_tiresias_lpjf,
    hps_tiresias_sjf, hps_tiresias_shortest, hps_tiresias_shortest_gpu, hps_tiresias_dlas,
    hps_tiresias_dlas_gpu, hps_tiresias_dlas_gpu_1, hps_tiresias_dlas_gpu_gittins,
    hps_pollux_tiresias, hps_pollux_optimus;

static const struct hps_policy *const all[] = {
    &hps_policy_prices, &hps_policy_fifo, &hps_policy_backfill, &hps_policy_drf, &hps_policy_srtf,
    &hps_policy_las, &hps_policy_tiresias, &hps_policy_gittins, &hps_policy_optimus,
    &hps_policy_maxmin, &hps_policy_dl2, &hps_policy_elasticflow, &hps_policy_hesrpt,
    &hps_tiresias_fifo, &hps_tiresias_fjf,
    &hps_tiresias_sjf, &hps_tiresias_lpjf, &hps_tiresias_shortest, &hps_tiresias_shortest_gpu,
    &hps_tiresias_dlas, &hps_tiresias_dlas_gpu, &hps_tiresias_dlas_gpu_1,
    &hps_tiresias_dlas_gpu_gittins, &hps_pollux_tiresias, &hps_pollux_optimus,
};

enum { N = sizeof all / sizeof *all, WORDS = 1024 };

const struct hps_policy *hps_policy_at(int i)
{
    return i >= 0 && i < N ? all[i] : NULL;
}

const struct hps_policy *hps_policy_find(const char *name)
{
    for (int i = 0; i < N; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

const char *hps_policy_words(void)
{
    static char words[WORDS];

    if (words[0]) return words;
    for (int i = 0; i < N; i++) {
        if (i > 0) strncat(words, "|", WORDS - strlen(words) - 1);
        strncat(words, all[i]->name, WORDS - strlen(words) - 1);
    }
    return words;
}
