/* report_impl.h - the parts of the report, for each other: counters, JSON, table, dump, plots. */
#ifndef HPS_TRAIN_REPORT_REPORT_IMPL_H
#define HPS_TRAIN_REPORT_REPORT_IMPL_H

#include <jansson.h>

#include "base/h5.h"
#include "base/plot.h"
#include "comm/team.h"
#include "train/report.h"

#define HPS_REPORT_NAME 64      /* bytes of an event's name */

/* What one rank counted: plain data that travels as bytes. */
struct hps_report_card {
    struct hps_count_sum total[HPS_REGIONS];
    /* of these, since the last plan began: for its stages, in order */
    struct hps_count_sum part[HPS_COUNT_PARTS][HPS_REGIONS];
    int nevent;
    char event[HPS_EVENTS][HPS_REPORT_NAME];
    double event_total[HPS_EVENTS];     /* NaN: unreliable                              */
    bool by_region;                     /* perf.events_per_region: what follows is counted */
    double region_event[HPS_REGIONS][HPS_EVENTS];
    long long nrow, nspan;              /* windows and spans that it holds              */
    double shift_s;                     /* to add to its clock to get rank 0's          */
    double cpu_s, peak_bytes;
};

struct hps_report_counts {
    int R, nevent;
    struct hps_report_card *card;       /* (R)                                          */
    char (*event)[HPS_REPORT_NAME];     /* (nevent) every name that any rank counted    */
};

/* The cards of all ranks at rank 0; NULL on the others. `before` (NULL: nothing) is this rank's.
 * Collective over world. Caller frees. */
struct hps_report_counts *hps_report_gather(const struct hps_run_before *before, MPI_Comm world);
void hps_report_counts_free(struct hps_report_counts *counts);
/* Place of an event among a card's, -1: it was not counted there. Pure. */
int hps_report_event(const struct hps_report_card *card, const char *event);

/* Windows and spans stay on their ranks until rank 0 takes them, a piece at a time: rank 0 calls
 * _take for each rank in order until it answers 0, every other rank _give once for each kind. */
enum hps_report_kind { HPS_REPORT_ROWS, HPS_REPORT_SPANS };
enum { HPS_REPORT_PIECE = 4096 };
void hps_report_send(enum hps_report_kind kind, MPI_Comm world);
/* Things from..from+n-1 of rank r into `to` (HPS_REPORT_PIECE of them fit); returns n. Rank 0. */
long long hps_report_recv(enum hps_report_kind kind, const struct hps_report_card *card, int r,
                          long long from, void *to, MPI_Comm world);

/* Over the ranks with stage_of[r] >= 0 (NULL: all); of all their work in this start (part -1), or
 * of one part of it under its last plan. Pure. */
void hps_report_regions(const struct hps_report_counts *counts, const int *stage_of, int part,
                        double seconds, struct hps_report_region *region);

/* All of it as "heterps-report-1"; `old` (NULL: none) is an earlier report of the run. Pure. */
json_t *hps_report_json(const struct hps_run_facts *facts, const struct hps_report_counts *counts,
                        const json_t *old);
json_t *hps_report_layers(const struct hps_run_facts *facts);   /* its `layers`: the roofline */

/* Build it: values are taken over; a real that is not finite is null; a word that is no UTF-8
 * (hosts and models come from outside) is hps_json_word's. */
void hps_report_put(json_t *object, const char *key, json_t *value);
void hps_report_put_real(json_t *object, const char *key, double x);
void hps_report_put_whole(json_t *object, const char *key, long long n);
void hps_report_put_word(json_t *object, const char *key, const char *word);
void hps_report_append(json_t *list, json_t *value);

/* Numbers and names of a report; NaN, -1, "" where there are none. Borrowed. Pure. */
double hps_report_real(const json_t *object, const char *key);
long long hps_report_whole(const json_t *object, const char *key);
const char *hps_report_word(const json_t *object, const char *key);

/* The table, at most 40 lines of at most 100 columns; a page with plots; both to free. Pure. */
char *hps_report_table(const json_t *report);
struct hps_perf;
char *hps_report_html(const json_t *report, const struct hps_perf *perf);

/* perf.h5. Rank 0's facts, counts and report; HPS_OUTPUT. Collective over world. */
enum hps_status hps_report_dump(const struct hps_run_facts *facts,
                                const struct hps_report_counts *counts, const char *report,
                                const char *path, MPI_Comm world);

/* What the plots need of a perf.h5: windows averaged over the ranks, the spans of two steps. */
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

/* Spans of a perf.h5, a piece at a time: HPS_DECK with the deck's key when it has none. Local. */
struct hps_perf_spans {
    struct hps_h5 file;
    int R;
    int *stage;                         /* (R, HPS_WORKERS) that a rank works for, -1: no more */
    long long nspan;
    int *rank, *part, *region;          /* of a piece, HPS_REPORT_PIECE of each */
    long long *step;
    double *begin_s, *end_s;
};
enum hps_status hps_perf_spans_open(struct hps_perf_spans *spans, const char *path);
/* The stage that span i of the piece was spent on. */
int hps_perf_spans_stage(const struct hps_perf_spans *spans, int i);
/* Spans from.. into the columns; *n: how many, 0 at the end. */
enum hps_status hps_perf_spans_get(struct hps_perf_spans *spans, long long from, int *n);
void hps_perf_spans_close(struct hps_perf_spans *spans);

/* The spans as Chrome's trace events: a stage is a process, a rank a thread. Local. */
enum hps_status hps_report_trace(const char *perf, const char *to);

#endif
