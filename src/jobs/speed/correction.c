#include "jobs/correction.h"

#include <math.h>

#include "base/mem.h"

void hps_correction_add(struct hps_correction *c, const struct hps_job_config *config, double ratio)
{
    hps_mem_grow(&c->run, &c->cap, (size_t)c->n + 1, sizeof *c->run);
    c->run[c->n++] = (struct hps_measured){ *config, ratio };
}

double hps_correction_of(const struct hps_correction *c, const struct hps_job_config *config)
{
    double all = 0, same = 0;
    int nsame = 0;

    for (int i = 0; i < c->n; i++) {
        double x = log(c->run[i].ratio);
        all += x;
        if (!hps_config_same(&c->run[i].config, config)) continue;
        same += x;
        nsame++;
    }
    all /= c->n + 1;
    return exp((same + all) / (nsame + 1));
}

void hps_correction_done(struct hps_correction *c)
{
    hps_mem_free(c->run);
    *c = (struct hps_correction){ 0 };
}
