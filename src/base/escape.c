#include "base/escape.h"

#include <string.h>

/* The code point of n bytes that begin with a leading byte of n, -1: no UTF-8. */
static long code_of(const unsigned char *c, int n)
{
    long code = n == 1 ? c[0] : c[0] & (0xff >> (n + 1));

    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) return -1;
        code = code << 6 | (c[i] & 0x3f);
    }
    return code;
}

int hps_escape_shown(const char *s, size_t n)
{
    static const long least[] = { 0, 0x20, 0xa0, 0x800, 0x10000 };  /* no control, no long form */
    const unsigned char *c = (const unsigned char *)s;
    int k = c[0] < 0x80 ? 1 : c[0] < 0xc0 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

    if (k == 0 || c[0] >= 0xf8 || (size_t)k > n) return 0;
    long code = code_of(c, k);
    bool half = code >= 0xd800 && code < 0xe000;        /* of a pair of UTF-16 */
    return code < least[k] || code == 0x7f || code > 0x10ffff || half ? 0 : k;
}

size_t hps_escape(char *to, size_t *done, size_t size, const char *from, size_t n, bool lines)
{
    static const char digit[] = "0123456789abcdef";
    size_t taken = 0;

    while (taken < n) {
        const char *c = from + taken;
        char hex[4] = { '\\', 'x', digit[(unsigned char)*c >> 4], digit[*c & 15] };
        int k = *c == '\t' || (*c == '\n' && lines) ? 1 : hps_escape_shown(c, n - taken);
        const char *put = k > 0 ? c : *c == '\n' ? "\\n" : hex;
        size_t bytes = k > 0 ? (size_t)k : put == hex ? sizeof hex : 2;
        if (bytes > size - *done) break;
        memcpy(to + *done, put, bytes);
        *done += bytes;
        taken += k > 0 ? (size_t)k : 1;
    }
    return taken;
}
