/* stall.h - what ranks know of each other when nothing moves, without messages: each leaves a
 * report in a folder that all ranks see; a rank that leaves none does not answer. All reports stay
 * there until the next start, where a reader finds the ranks that the one line had no space for. */
#ifndef HPS_LIFE_STALL_H
#define HPS_LIFE_STALL_H

#include <stdbool.h>
#include <stddef.h>

enum { HPS_STALL_HOST = 64 };

/* What one rank reports of itself. */
struct hps_stall_report {
    bool answered;        /* false: the rest is not known                                */
    long long step;       /* steps that it has done                                      */
    char region[64];      /* what it is doing                                            */
    char waits_for[200];  /* "0-3,5": the ranks that it may be waiting for there; "": none,
                             it computes                                                 */
    char killed[200];     /* in the same form, ranks on its host that were killed        */
};

/* Leave this rank's report; remove it. Local. Where the folder cannot be written, the rank counts
 * as not answering. */
void hps_stall_put(const char *folder, int rank, const struct hps_stall_report *report);
void hps_stall_remove(const char *folder, int rank);
/* Is there a report of any rank? Local. */
bool hps_stall_any(const char *folder);
/* The lowest rank that left a report, -1: none; no file is opened. Local. */
int hps_stall_first(const char *folder, int R);
/* Read all reports (R). Local: R files, so one rank reads them and not every rank. */
void hps_stall_get(const char *folder, int R, struct hps_stall_report *report);
/* Remove the folder and all in it. Local. */
void hps_stall_clear(const char *folder);

/* Does a report say that this rank was killed? Pure. */
bool hps_stall_killed(int R, const struct hps_stall_report *report, int rank);
/* Ranks as text, "0-3,5"; ends in "..." where `size` is too small. Pure. */
void hps_stall_ranks(char *to, size_t size, int n, const int *rank);
/* One line that says which rank waits where for which others: first ranks that were killed or do
 * not answer, then those that wait for nobody, then the rest; at most HPS_STALL_NAMED of a kind by
 * name. host (R). To free. Pure. */
enum { HPS_STALL_NAMED = 8 };
char *hps_stall_text(int R, const struct hps_stall_report *report,
                     const char (*host)[HPS_STALL_HOST]);
/* The same line about one rank that could not read the others' reports. To free. Pure. */
char *hps_stall_text_alone(int rank, const char *host, const struct hps_stall_report *report);

#endif
