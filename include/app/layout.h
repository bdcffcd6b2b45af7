/* layout.h - the layout of a plan: which layers run on how many units of which hardware. It
 * decides the order of sums, and so the bits of a run: a run that continues in another layout,
 * or with a plan of another origin, reports that. */
#ifndef HPS_APP_LAYOUT_H
#define HPS_APP_LAYOUT_H

/* One line of a plan and its pool, both as JSON text (heterps-plan-1, heterps-pool-1): equal for
 * equal layouts. To free with hps_mem_free. Pure. */
char *hps_layout_text(const char *plan, const char *pool);

/* The origin of a plan: "greedy", "heuristic in place of greedy". To free. Pure. */
char *hps_layout_origin(const char *plan);

#endif
