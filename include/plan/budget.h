/* budget.h - when a search must end: its time is over, or the run is asked to stop. */
#ifndef HPS_PLAN_BUDGET_H
#define HPS_PLAN_BUDGET_H

#include <stdbool.h>

/* From now on searches of this rank call `stop_requested` some ten times a second, and once it
 * returns true they end with what they have found. NULL: nothing is called. Local. */
void hps_budget_check_stop(bool (*stop_requested)(void));
/* Is the moment `until_s` of hps_now_s over (0: there is no such moment), or was a stop requested?
 * Thread safe. */
bool hps_budget_over(double until_s);
/* Was a stop requested since hps_budget_check_stop? Then what a search found since may not be the
 * best. */
bool hps_budget_stopped(void);

#endif
