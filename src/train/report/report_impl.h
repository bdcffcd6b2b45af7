/* report_impl.h - what the parts of the report share: counters, JSON, table, dump, plots. */
#ifndef HPS_TRAIN_REPORT_REPORT_IMPL_H
#define HPS_TRAIN_REPORT_REPORT_IMPL_H

#include <jansson.h>

#include "base/h5.h"
#include "base/plot.h"
#include "comm/team.h"
#include "train/report.h"

#define HPS_REPORT_NAME 64      /* bytes of an event's name */

/* The counters of one rank: plain data, sent as bytes. */
struct hps_report_rank {
    struct hps_count_sum total[HPS_REGIONS];
    /* since the last plan began, for each of the rank's stages */
    struct hps_count_sum part[HPS_COUNT_PARTS][HPS_REGIONS];
    int nevent;
    char event[HPS_EVENTS][HPS_REPORT_NAME];
    double event_total[HPS_EVENTS];     /* NaN: unreliable                              */
    bool by_region;                     /* perf.events_per_region: region_event is valid */
    double region_event[HPS_REGIONS][HPS_EVENTS];
    long long nrow, nspan;              /* windows and spans that it has                */
    double shift_s;                     /* rank 0's clock less this rank's              */
    double cpu_s, peak_bytes;
};

struct hps_report_counts {
    int R, nevent;
    struct hps_report_rank *rank_counts;       /* (R)                                          */
    char (*event)[HPS_REPORT_NAME];     /* (nevent) events that any rank counted        */
};

/* Gather the counters of all ranks at rank 0; NULL on the others. `before` (NULL: nothing): this
 * rank's counters when the last plan began. Collective over world. Caller frees. */
struct hps_report_counts *hps_report_gather(const struct hps_run_counted *before, MPI_Comm world);
void hps_report_counts_free(struct hps_report_counts *counts);
/* The index of an event among a rank's; -1: the rank did not count it. Pure. */
int hps_report_event(const struct hps_report_rank *rank_counts, const char *event);

/* Rank 0 receives windows and spans from the other ranks, one block at a time: it calls _recv
 * for each rank in order until it returns 0, and every other rank calls _send once for each
 * kind. */
enum hps_report_kind { HPS_REPORT_ROWS, HPS_REPORT_SPANS };
enum { HPS_REPORT_BLOCK = 4096 };
void hps_report_send(enum hps_report_kind kind, MPI_Comm world);
/* Receive windows or spans from..from+n-1 of rank r (at most HPS_REPORT_BLOCK); returns n. Rank
 * 0. */
long long hps_report_recv(enum hps_report_kind kind, const struct hps_report_rank *rank_counts,
                          int r, long long from, void *to, MPI_Comm world);

/* Summarise regions over the ranks with stage_of[r] >= 0 (NULL: all): all of this start (part
 * -1), or one of a rank's stages under the last plan. Pure. */
void hps_report_regions(const struct hps_report_counts *counts, const int *stage_of, int part,
                        double seconds, struct hps_report_region *region);

/* The report as "heterps-report-1"; `old` (NULL: none) is an earlier report of the run. Pure. */
json_t *hps_report_json(const struct hps_report_input *facts,
                        const struct hps_report_counts *counts, const json_t *old);
/* Put the parts of the step of stage s, measured and promised, into its object: `parts`, `most_off`
 * and by what share of the step. region: of its ranks, in `seconds` of the last plan. Pure. */
void hps_report_put_parts(json_t *stage, const struct hps_report_input *facts, int s,
                          const struct hps_report_region *region, double seconds);
json_t *hps_report_layers(const struct hps_report_input *facts);   /* its `layers`: the roofline */

/* Its `servers`, `staleness`, `row_cache` and `worker_clocks`, of workers that did not wait for
 * each other; null where they did. And from these lines of the table, plots of the page. */
void hps_report_put_async(json_t *report, const struct hps_report_input *facts);
void hps_report_table_async(struct hps_page *table, const json_t *report);
void hps_report_plot_async(struct hps_page *page, const json_t *report);

/* Its `messages`, one for each kind that is encoded; their lines of the table, and how many. */
void hps_report_put_rows(json_t *report, const struct hps_report_input *facts);
void hps_report_put_messages(json_t *report, const struct hps_report_input *facts);
void hps_report_table_messages(struct hps_page *table, const json_t *report);
int hps_report_nmessages(const json_t *report);

/* Its `tiers`, one for each request's tables of which memory has some rows; the line of the table,
 * of those whose rows moved most, and whether there is one. */
void hps_report_put_tiers(json_t *report, const struct hps_report_input *facts);
void hps_report_table_tiers(struct hps_page *table, const json_t *report);
bool hps_report_has_tiers(const json_t *report);

/* Build JSON: values are owned by the object; a real that is not finite becomes null; a word goes
 * through hps_json_word, since hosts and models may not be UTF-8. */
void hps_report_put(json_t *object, const char *key, json_t *value);
void hps_report_put_real(json_t *object, const char *key, double x);
void hps_report_put_whole(json_t *object, const char *key, long long n);
void hps_report_put_word(json_t *object, const char *key, const char *word);
void hps_report_append(json_t *list, json_t *value);

/* Numbers and names of a report; NaN, -1, "" where there are none. Borrowed. Pure. */
double hps_report_real(const json_t *object, const char *key);
long long hps_report_whole(const json_t *object, const char *key);
const char *hps_report_word(const json_t *object, const char *key);

/* The table, at most 40 lines of 100 columns, and the page with plots; both to free. Pure. */
char *hps_report_table(const json_t *report);
struct hps_perf;
char *hps_report_html(const json_t *report, const struct hps_perf *perf);

/* Write perf.h5 from rank 0's facts, counts and report; HPS_OUTPUT. Collective over world. */
enum hps_status hps_report_dump(const struct hps_report_input *facts,
                                const struct hps_report_counts *counts, const char *report,
                                const char *path, MPI_Comm world);

/* The data of the plots in a perf.h5: windows averaged over the ranks, the spans of two steps. */
struct hps_perf_window {
    long long step;
    double seconds, region[HPS_REGIONS];
    int n;                              /* ranks in the average */
};
struct hps_perf_span {
    int rank, stage, region;
    double begin_s, end_s;
};
struct hps_perf {
    int nwindow;
    struct hps_perf_window *window;
    int nspan;
    struct hps_perf_span *span;
};
/* Missing: HPS_INPUT; damaged: HPS_DECK. Local. Caller frees. */
enum hps_status hps_perf_read(struct hps_perf **perf, const char *path);
void hps_perf_free(struct hps_perf *perf);

/* Read spans of a perf.h5 in blocks. HPS_DECK with the deck's key when it has none. Local. */
struct hps_perf_spans {
    struct hps_h5 file;
    int R;
    int *stage;                         /* (R, HPS_MY_STAGES) stages of each rank, -1: no more */
    long long nspan;
    int *rank, *part, *region;          /* of a block, HPS_REPORT_BLOCK of each */
    long long *step;
    double *begin_s, *end_s;
};
enum hps_status hps_perf_spans_open(struct hps_perf_spans *spans, const char *path);
/* The stage of span i of the block. */
int hps_perf_spans_stage(const struct hps_perf_spans *spans, int i);
/* Read the block of spans that begins at `from`; *n: how many, 0 at the end. */
enum hps_status hps_perf_spans_get(struct hps_perf_spans *spans, long long from, int *n);
void hps_perf_spans_close(struct hps_perf_spans *spans);

/* Write the spans as Chrome trace events: a stage is a process, a rank a thread. Local. */
enum hps_status hps_report_trace(const char *perf, const char *to);

#endif
