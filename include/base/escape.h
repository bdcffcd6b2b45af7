/* escape.h - text of unknown origin, made safe for a terminal. */
#ifndef HPS_BASE_ESCAPE_H
#define HPS_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character at s, of n > 0 bytes: 1 to 4; 0 where it is a control character (also
 * one beyond ASCII, U+0080 to U+009F), or no UTF-8. Pure. */
int hps_escape_shown(const char *s, size_t n);

/* Append `from` (n bytes) to the *done bytes that are in `to` (`size` bytes; no zero is added):
 * bytes that cannot be shown become \xNN, except tabs; ends of lines are copied where `lines`, else
 * they become \n. Returns how many bytes of `from` were taken: never a part of a character. Pure.
 */
size_t hps_escape(char *to, size_t *done, size_t size, const char *from, size_t n, bool lines);

#endif
