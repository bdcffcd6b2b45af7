/* gantt.h - a Gantt chart of what became of a pool's jobs: a row a job, a bar for each stretch in
 * which it had units, as SVG, and as a page.
 *
 * Colours are by type; a bar of several types has a stripe of each, as wide as its units. What a
 * start takes is hatched; a thin line is a wait; a red mark is a deadline. Under the pointer stands
 * which units, from when to when. Where there are more than HPS_GANTT_ROWS jobs, jobs that do not
 * meet share a row. */
#ifndef HPS_JOBS_GANTT_H
#define HPS_JOBS_GANTT_H

#include "jobs/outcome.h"

enum { HPS_GANTT_ROWS = 200, HPS_GANTT_BARS = 50000 };

/* The drawing, to free with hps_mem_free; `restart_s` is what each start took. Of more than
 * HPS_GANTT_BARS bars the first of these are drawn, and the chart says so. Pure. */
char *hps_gantt_svg(const struct hps_job_outcomes *o, double restart_s);
/* The same with its figures as a page of HTML that needs no other file. */
char *hps_gantt_html(const struct hps_job_outcomes *o, double restart_s);

/* Both, by the end of the file's name: .html is a page. HPS_OUTPUT, said. Local. */
enum hps_status hps_gantt_save(const struct hps_job_outcomes *o, double restart_s,
                               const char *path);

#endif
