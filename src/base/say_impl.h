/* say_impl.h - what the voice does for the end of the run. */
#ifndef HPS_BASE_SAY_IMPL_H
#define HPS_BASE_SAY_IMPL_H

#include <stdarg.h>
#include <stddef.h>

#include "base/say.h"

enum { HPS_SAY_LINE = 8192 };   /* longest line; longer ones are cut and end in "..." */

/* Format "[rank seconds] text" and a line's end into HPS_SAY_LINE bytes; returns their number. */
size_t hps_say_line(char *line, enum hps_level level, const char *format, va_list args);
/* Write n bytes to standard error. */
void hps_say_write(const char *line, size_t n);
/* Write the last line to standard error and the log, and flush all that was said before. Where
 * another thread is stuck in a write, the log misses the line after two seconds. */
void hps_say_last(const char *line, size_t n);

#endif
