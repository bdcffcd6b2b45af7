/* stall.h - diagnosis of a hang without messages: each rank writes a report to a shared folder,
 * and a rank without a report does not answer. The reports stay there until the next start, for
 * ranks that the printed line has no space for. */
#ifndef HPS_LIFE_STALL_H
#define HPS_LIFE_STALL_H

#include <stdbool.h>
#include <stddef.h>

enum { HPS_STALL_HOST = 64 };

/* What one rank reports of itself. */
struct hps_stall_report {
    bool answered;        /* false: the rest is unknown                                  */
    long long step;       /* steps done                                                  */
    char region[64];      /* the current region                                          */
    char waits_for[200];  /* "0-3,5": ranks that it may be waiting for; "": it computes  */
    char killed[200];     /* in the same form, ranks on its host that were killed        */
};

/* Write this rank's report; remove it. Where the folder cannot be written, the rank counts as not
 * answering. Local. */
void hps_stall_put(const char *folder, int rank, const struct hps_stall_report *report);
void hps_stall_remove(const char *folder, int rank);
/* Has any rank written a report? Local. */
bool hps_stall_any(const char *folder);
/* The lowest rank with a report, -1: none; opens no file. Local. */
int hps_stall_first(const char *folder, int R);
/* Read all reports (R). Local: these are R files, to be read by one rank. */
void hps_stall_get(const char *folder, int R, struct hps_stall_report *report);
/* Remove the folder and all in it. Local. */
void hps_stall_clear(const char *folder);

/* Does any report say that this rank was killed? Pure. */
bool hps_stall_killed(int R, const struct hps_stall_report *report, int rank);
/* Ranks as text, "0-3,5"; ends in "..." where `size` is too small. Pure. */
void hps_stall_ranks(char *to, size_t size, int n, const int *rank);
/* A line of which rank waits where for which others: first ranks that were killed or do not
 * answer, then those that do not wait, then the rest; at most HPS_STALL_NAMED of a kind by name.
 * host (R). To free. Pure. */
enum { HPS_STALL_NAMED = 8 };
char *hps_stall_text(int R, const struct hps_stall_report *report,
                     const char (*host)[HPS_STALL_HOST]);
/* The same line about one rank that could not read the others' reports. To free. Pure. */
char *hps_stall_text_alone(int rank, const char *host, const struct hps_stall_report *report);

#endif
