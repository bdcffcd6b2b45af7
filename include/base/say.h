/* say.h - the only voice: messages on standard error, results on standard output, the log. */
#ifndef HPS_BASE_SAY_H
#define HPS_BASE_SAY_H

#include <stdbool.h>

#include "base/status.h"

enum hps_level {
    HPS_DEBUG,
    HPS_INFO,
    HPS_WARN,
    HPS_ERROR,
    HPS_SILENT /* only for hps_say_min */
};

/* One line "[rank seconds] text" on standard error. HPS_SAY speaks on rank 0 only, HPS_SAY_ALL on
 * the calling rank: only for an error of that rank alone. Errors begin "error: ", warnings
 * "warning: ". Thread safe.
 *
 * Messages and results show text that comes from files and users, and never act on it: control
 * characters and bytes that are not UTF-8 become \xNN (base/escape.h), an end of a line inside a
 * message becomes \n. */
#define HPS_SAY(level, ...) hps_say(level, false, __VA_ARGS__)
#define HPS_SAY_ALL(level, ...) hps_say(level, true, __VA_ARGS__)
void hps_say(enum hps_level level, bool all, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Messages of lower levels are dropped (default HPS_INFO); the message that ends the run is always
 * printed. Returns the level before. Local. */
enum hps_level hps_say_min(enum hps_level level);

/* Append all further messages to this regular file as well (base/file.h); NULL: stop. On ranks
 * other than 0 the log also gets what that rank would have printed if it were rank 0. Local.
 * HPS_OUTPUT: the file cannot be opened. */
enum hps_status hps_say_log(const char *path);

/* Results for people, on standard output, from rank 0 only; copied to the log. hps_out_flush
 * answers HPS_OUTPUT when standard output did not take everything (full disk, closed pipe). */
void hps_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum hps_status hps_out_flush(void);

#endif
