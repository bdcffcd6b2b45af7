/* budget.c - a clock, and a wish that is asked for now and then. */
#include "plan/budget.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"

static const double every_s = 0.1;
static bool (*asked)(void);
static _Atomic double next_s;
static atomic_bool cut;

void hps_budget_check_stop(bool (*wish)(void))
{
    asked = wish;
    next_s = 0;
    cut = false;
}

bool hps_budget_over(double until_s)
{
    double now = hps_now_s(), next = next_s;

    if (asked && !cut && now >= next &&
        atomic_compare_exchange_strong(&next_s, &next, now + every_s))
        cut = asked();
    return cut || (until_s > 0 && now >= until_s);
}

bool hps_budget_stopped(void)
{
    return cut;
}
