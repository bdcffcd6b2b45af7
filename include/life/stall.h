/* stall.h - what ranks tell each other when none comes on, without messages: each leaves a word in
 * a folder that all see; who leaves none cannot speak. All words stay there until the next start,
 * for those whose line of many ranks names too few. */
#ifndef HPS_LIFE_STALL_H
#define HPS_LIFE_STALL_H

#include <stdbool.h>
#include <stddef.h>

enum { HPS_STALL_HOST = 64 };

/* What one rank says of itself. */
struct hps_stall_word {
    bool spoke;           /* else the rest is not known                                  */
    long long step;       /* steps that it has done                                      */
    char inside[64];      /* what it is inside of                                        */
    char whom[200];       /* "0-3,5": the ranks that it may be waiting for there; "": none,
                             it works by itself                                          */
    char killed[200];     /* the same of the ranks on its host that are no more          */
};

/* Leave mine; take it back. Local; a folder that cannot be written is as good as not speaking. */
void hps_stall_tell(const char *folder, int rank, const struct hps_stall_word *word);
void hps_stall_untell(const char *folder, int rank);
/* Did any rank leave a word? Local. */
bool hps_stall_any(const char *folder);
/* The lowest rank that left a word, -1: none; it opens no file. Local. */
int hps_stall_first(const char *folder, int R);
/* All words (R). Local: R files, which one rank reads and not each of R. */
void hps_stall_hear(const char *folder, int R, struct hps_stall_word *word);
/* The folder and all in it go. Local. */
void hps_stall_clear(const char *folder);

/* Does a word tell of this rank that it was killed? Pure. */
bool hps_stall_killed(int R, const struct hps_stall_word *word, int rank);
/* Ranks as text, "0-3,5"; cut in "..." where there is no room. Pure. */
void hps_stall_ranks(char *to, size_t size, int n, const int *rank);
/* Who waits where for whom, in one line: ranks that were killed or do not answer first, then those
 * that wait for nobody, then the rest; at most HPS_STALL_NAMED of a kind by name. host (R). To
 * free. Pure. */
enum { HPS_STALL_NAMED = 8 };
char *hps_stall_text(int R, const struct hps_stall_word *word,
                     const char (*host)[HPS_STALL_HOST]);
/* The same of one rank that could not ask the others. To free. Pure. */
char *hps_stall_own(int rank, const char *host, const struct hps_stall_word *word);

#endif
