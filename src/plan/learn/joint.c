#include "plan/joint.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define DEVIATION 0.5 /* of x */

struct hps_joint *hps_joint_new(int L, int T)
{
    struct hps_joint *j = hps_mem_new(1, sizeof *j);
    size_t n = (size_t)L * (size_t)T;

    *j = (struct hps_joint){ .L = L, .T = T };
    j->more = hps_mem_new(2 * n + (size_t)L, sizeof *j->more);
    j->dmore = j->more + n;
    j->x = j->more + 2 * n;
    j->at = hps_mem_new((size_t)L, sizeof *j->at);
    j->units = hps_mem_new((size_t)L, sizeof *j->units);
    return j;
}

void hps_joint_free(struct hps_joint *j)
{
    if (!j) return;
    hps_mem_free(j->more);
    hps_mem_free(j->at);
    hps_mem_free(j->units);
    hps_mem_free(j);
}

void hps_joint_draw(struct hps_joint *j, const struct hps_pricer *pr,
                    const struct hps_value *value, const int *type, uint64_t key)
{
    j->S = 0;
    for (int i = 0, end; i < j->L; i = end, j->S++) {
        end = hps_plan_run_end(type, j->L, i);
        long long capacity = hps_pricer_capacity(pr, type[i]);
        long long min = hps_cost_line_units(hps_cost_line(hps_pricer_cost(pr), i, end - 1, type[i]),
                                            value->tau, capacity);
        j->at[j->S] = i * j->T + type[i];
        j->x[j->S] = j->more[j->at[j->S]] + DEVIATION * hps_rng_normal(key, (uint64_t)i);
        double units = (double)(min ? min : capacity) * exp2(j->x[j->S]);
        j->units[j->S] = units >= (double)capacity ? capacity : llround(units);
        if (j->units[j->S] < 1) j->units[j->S] = 1;
    }
}

double hps_joint_price(struct hps_joint *j, struct hps_pricer *pr, const int *type, bool improve)
{
    double price = hps_pricer_given(pr, type, j->units, INFINITY);

    for (int idle = 0, s = 0; improve && idle < 2 * j->S; idle++, s = (s + 1) % (2 * j->S)) {
        long long *units = &j->units[s / 2], was = *units;
        *units += s % 2 ? 1 : -1;
        double gain = *units > 0 ? hps_pricer_given(pr, type, j->units, price) : INFINITY;
        if (gain < price) {
            price = gain;
            idle = -1;
        } else {
            *units = was;
        }
    }
    return price;
}

void hps_joint_add(struct hps_joint *j, double weight)
{
    for (int s = 0; s < j->S; s++)
        j->dmore[j->at[s]] += weight * (j->x[s] - j->more[j->at[s]]) / (DEVIATION * DEVIATION);
}

void hps_joint_step(struct hps_joint *j, double rate, double fade)
{
    for (int a = 0; a < j->L * j->T; a++) {
        j->more[a] += rate * j->dmore[a] - fade * j->more[a];
        j->dmore[a] = 0;
    }
}

void hps_joint_forget(struct hps_joint *j)
{
    memset(j->more, 0, 2 * (size_t)j->L * (size_t)j->T * sizeof *j->more);
}
