/* quit.h - the only way out in disorder: one rank prints why, and all ranks end. */
#ifndef HPS_BASE_QUIT_H
#define HPS_BASE_QUIT_H

#include "base/status.h"

/* For bugs and failed library calls: print reason and place, end all ranks with HPS_FAIL. */
#define HPS_DIE(...) hps_die(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void hps_die(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For an error of the user's that one rank alone can see, at a point where the other ranks cannot
 * be informed in order any more (a peer is waiting in a message): print, end all with `status`. */
_Noreturn void hps_quit(enum hps_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HPS_DIE for a call that fails where a peer is gone: on several ranks the end comes two seconds
 * later, so that where the peer was killed the launcher's code of that death is the run's. */
_Noreturn void hps_die_late(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A rank was killed, and the launcher is slow to end the others: print, and die by the same signal,
 * so that the launcher's code is that of the first death. The function of hps_on_quit is not
 * called. */
_Noreturn void hps_quit_with_peers(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Call `record` on the rank that ends all ranks in disorder, before it does; NULL: nothing. */
void hps_on_quit(void (*record)(enum hps_status status));

/* End a child process that was forked here and is no rank: nothing is flushed, nobody informed. */
_Noreturn void hps_leave(int code);

#endif
