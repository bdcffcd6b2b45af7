/* profiles.c - a random problem for the planner, as a profile on standard output:
 *   profiles SEED LAYERS TYPES tight|loose|cut|tight-cut [GROUPS]
 * Feasible where a plan was found that is; GROUPS > 0: only so many unlike types. Built by
 * `make perf/bin/profiles`. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/world.h"
#include "random_profile.h"

static enum hps_status make(int argc, char **argv)
{
    struct random_wish w = { .feasible = true };

    w.seed = argc > 4 ? strtoull(argv[1], NULL, 10) : 0;
    w.L = argc > 4 ? atoi(argv[2]) : 0;
    w.T = argc > 4 ? atoi(argv[3]) : 0;
    w.groups = argc > 5 ? atoi(argv[5]) : 0;
    if (w.L < 1 || w.T < 1 || !random_limits_of(argv[4], &w.limits)) {
        HPS_SAY(HPS_ERROR, "usage: profiles SEED LAYERS TYPES tight|loose|cut|tight-cut [GROUPS]");
        return HPS_USAGE;
    }
    struct hps_profile *p = random_profile(&w);
    char *text = hps_profile_text(p);
    hps_out("%s", text);
    hps_mem_free(text);
    hps_profile_free(p);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(make(argc, argv));
}
