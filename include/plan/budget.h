/* budget.h - when a search must end: its time is over, or somebody wishes to stop. */
#ifndef HPS_PLAN_BUDGET_H
#define HPS_PLAN_BUDGET_H

#include <stdbool.h>

/* From now on searches of this rank ask `wish`, some ten times a second, and end with what they
 * have once it says yes; NULL: nobody wishes. Local. */
void hps_budget_check_stop(bool (*wish)(void));
/* Is the moment `until_s` of hps_now_s (0: none) over, or was the wish heard? Thread safe. */
bool hps_budget_over(double until_s);
/* Was the wish heard since hps_budget_check_stop: is what was found since then perhaps not the
 * best? */
bool hps_budget_stopped(void);

#endif
