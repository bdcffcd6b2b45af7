/* budget.c - a clock, and a function that is called now and then to learn whether to stop. */
#include "plan/budget.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"

static const double every_s = 0.1;
static bool (*check)(void);
static _Atomic double next_s;
static atomic_bool stopped;

void hps_budget_check_stop(bool (*stop_requested)(void))
{
    check = stop_requested;
    next_s = 0;
    stopped = false;
}

bool hps_budget_over(double until_s)
{
    double now = hps_now_s(), next = next_s;

    if (check && !stopped && now >= next &&
        atomic_compare_exchange_strong(&next_s, &next, now + every_s))
        stopped = check();
    return stopped || (until_s > 0 && now >= until_s);
}

bool hps_budget_stopped(void)
{
    return stopped;
}
