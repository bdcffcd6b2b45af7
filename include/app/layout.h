/* layout.h - the layout of a plan, which decides in which order the sums of a run are rounded:
 * which layers on how many units of which hardware. A run that goes on in another layout, or with a
 * plan of another origin, ends in other bits, and says so. */
#ifndef HPS_APP_LAYOUT_H
#define HPS_APP_LAYOUT_H

/* One line of a plan and its pool, both as JSON text (heterps-plan-1, heterps-pool-1): equal for
 * equal layouts. To free with hps_mem_free. Pure. */
char *hps_layout_text(const char *plan, const char *pool);

/* Who made the plan: "greedy", "heuristic in place of greedy". To free. Pure. */
char *hps_layout_origin(const char *plan);

#endif
