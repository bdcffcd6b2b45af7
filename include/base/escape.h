/* escape.h - text of others as a terminal may be given it. */
#ifndef HPS_BASE_ESCAPE_H
#define HPS_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character at s, of n > 0 bytes: 1 to 4; 0 where it is a control character (also
 * one beyond ASCII, U+0080 to U+009F), or no UTF-8. Pure. */
int hps_escape_shown(const char *s, size_t n);

/* Copies `from` (n bytes) to `to` (at most `size` bytes, no end is added; *done of them are used
 * before and after): what is not shown as \xNN for each byte, but tabs, and ends of lines where
 * `lines`; without it they become \n. Returns how much of `from` was taken: never a part of a
 * character. Pure. */
size_t hps_escape(char *to, size_t *done, size_t size, const char *from, size_t n, bool lines);

#endif
