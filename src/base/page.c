#include "base/page.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

void hps_page_add(struct hps_page *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *more = hps_mem_vprint(format, args);
    va_end(args);
    size_t n = strlen(more);
    hps_mem_grow(&text->at, &text->cap, text->n + n + 1, 1);
    memcpy(text->at + text->n, more, n + 1);
    text->n += n;
    hps_mem_free(more);
}

/* Bytes of the first `max` characters (or fewer), and how many they are. */
static size_t characters(const char *word, int max, int *n)
{
    size_t i = 0;

    for (*n = 0; word[i] && *n < max; ++*n)
        for (i++; ((unsigned char)word[i] & 0xc0) == 0x80;)
            i++;
    return i;
}

int hps_page_cut(struct hps_page *text, const char *word, int max)
{
    int n;
    size_t bytes = characters(word, max, &n);

    if (!word[bytes]) {
        hps_page_add(text, "%s", word);
        return n;
    }
    bytes = characters(word, max - 2, &n);
    hps_page_add(text, "%.*s..", (int)bytes, word);
    return max;
}

void hps_page_fit(struct hps_page *text, const char *word, int width)
{
    int n;

    if (width < 0) {
        size_t bytes = characters(word, -width, &n);
        hps_page_add(text, "%*s%.*s", -width - n, "", (int)bytes, word);
    } else {
        n = hps_page_cut(text, word, width);
        hps_page_add(text, "%*s", width - n, "");
    }
}

static const char *entity_of(char c)
{
    return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : NULL;
}

void hps_page_xml(struct hps_page *text, const char *word)
{
    size_t left = strlen(word);

    for (size_t n; left > 0; word += n, left -= n) {
        const char *entity = entity_of(*word);
        int shown = hps_escape_shown(word, left);
        char piece[4];
        size_t done = 0;
        n = shown > 0 ? (size_t)shown : 1;
        if (!entity) hps_escape(piece, &done, sizeof piece, word, n, true);
        hps_page_add(text, "%.*s", entity ? (int)strlen(entity) : (int)done,
                     entity ? entity : piece);
    }
}

const char *hps_page_real(char *to, size_t size, double x)
{
    double size_of = fabs(x);

    if (isnan(x))
        snprintf(to, size, "none");
    else if (size_of == 0)
        snprintf(to, size, "0");
    else if (size_of >= 1e9 || size_of < 1e-8)
        snprintf(to, size, "%.3e", x);
    else if (size_of >= 1000)
        snprintf(to, size, "%.0f", x);
    else
        snprintf(to, size, "%.*f", 3 - (int)floor(log10(size_of)), x);
    return to;
}
