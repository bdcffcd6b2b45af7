/* csv.c - one record of delimited text cut into cells. */
#include "data/csv.h"

#include <string.h>

#include "base/mem.h"
#include "data/parse.h"

void hps_record_init(struct hps_record *r, char delimiter)
{
    *r = (struct hps_record){ .delimiter = delimiter };
}

void hps_record_done(struct hps_record *r)
{
    hps_mem_free(r->cell);
}

static struct hps_cell *add(struct hps_record *r)
{
    hps_mem_grow(&r->cell, &r->cap, (size_t)r->n + 1, sizeof *r->cell);
    r->cell[r->n] = (struct hps_cell){ 0 };
    return &r->cell[r->n++];
}

/* Behind the closing quote; the end of the text when there is none. */
static size_t close_quote(struct hps_cell *c, const char *text, size_t at, size_t n, bool *closed)
{
    *closed = false;
    while (at < n) {
        const char *quote = memchr(text + at, '"', n - at);
        if (!quote) return n;
        at = (size_t)(quote - text) + 1;
        if (at == n || text[at] != '"') {
            *closed = true;
            return at;
        }
        c->doubled = true;
        at++;
    }
    return n;
}

/* A cell in quotes: its text runs from behind the first quote to the last. */
static bool cut_quoted(struct hps_record *r, const char *text, size_t n)
{
    struct hps_cell *c = &r->cell[r->n - 1];
    bool closed;
    size_t end = close_quote(c, text, r->at, n, &closed), rest;

    r->inside = !closed;
    r->at = end;
    if (!closed) return false;
    c->at = r->start;
    c->n = end - 1 - r->start;
    rest = r->at;
    while (rest < n && text[rest] != r->delimiter)      /* what stands behind is left out */
        rest++;
    r->at = rest;
    return true;
}

static void cut_plain(struct hps_record *r, const char *text, size_t n)
{
    const char *end = memchr(text + r->start, r->delimiter, n - r->start);
    struct hps_cell *c = add(r);
    const char *s = text + r->start;

    c->n = (end ? (size_t)(end - text) : n) - r->start;
    r->at = r->start + c->n;
    hps_parse_trim(&s, &c->n);
    c->at = (size_t)(s - text);
}

/* Where a cell's first sign stands; blanks are skipped unless they delimit. */
static size_t skip_blanks(const struct hps_record *r, const char *text, size_t at, size_t n)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t') && text[at] != r->delimiter)
        at++;
    return at;
}

bool hps_record_cut(struct hps_record *r, const char *text, size_t n, bool again)
{
    bool going = again && r->inside;

    if (!going) {
        r->n = 0;
        r->at = r->start = 0;
        r->inside = false;
    }
    for (;;) {
        size_t first = going ? n : skip_blanks(r, text, r->start, n);
        if (!going && first < n && text[first] == '"') {
            add(r)->quoted = true;
            r->start = r->at = first + 1;
            going = true;
        }
        if (going && !cut_quoted(r, text, n)) return false;
        if (!going) cut_plain(r, text, n);
        going = false;
        if (r->at >= n) return true;
        r->start = r->at + 1;                           /* behind the delimiter */
    }
}

const char *hps_record_guess(const char *text, size_t n, char delimiter)
{
    static const char *const word[] = { ";", "tab", ",", "|" };
    size_t most = 0;
    const char *guess = NULL;

    for (int i = 0; i < 4; i++) {
        char sign = strcmp(word[i], "tab") == 0 ? '\t' : *word[i];
        size_t times = 0;
        for (size_t k = 0; k < n && sign != delimiter; k++)
            times += text[k] == sign;
        if (times <= most) continue;
        most = times;
        guess = word[i];
    }
    return guess;
}

enum hps_status hps_record_next(struct hps_record *r, struct hps_text *t, char **text, bool *whole)
{
    size_t n;
    enum hps_status s;

    do {
        s = hps_text_next(t, text, &n);
    } while (!s && *text && skip_blanks(r, *text, 0, n) == n);
    *whole = true;
    if (s || !*text) return s;
    for (bool again = false; !hps_record_cut(r, *text, n, again); again = true) {
        char *longer;
        s = hps_text_more(t, &longer, &n);
        *whole = !s && longer;
        if (!*whole) break;
        *text = longer;
    }
    return s;
}

const char *hps_record_text(struct hps_record *r, char *text, int i, size_t *n)
{
    struct hps_cell *c = &r->cell[i];
    char *s = text + c->at;

    if (c->doubled) {
        size_t to = 0;
        for (size_t from = 0; from < c->n; from++) {
            s[to++] = s[from];
            from += s[from] == '"' && from + 1 < c->n && s[from + 1] == '"';
        }
        c->n = to;
        c->doubled = false;
    }
    *n = c->n;
    return s;
}
