#include "jobs/host_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DIGITS = 9 };            /* of a number in a range, at most */

struct names {
    int n, max;
    size_t cap;
    char **name;
    const char *why;            /* NULL: no error so far */
};

static void wrong(struct names *a, const char *why)
{
    if (!a->why) a->why = why;
}

/* Takes over the name. */
static void add(struct names *a, char *name)
{
    if (a->n == a->max || a->why) {
        wrong(a, "it is too many names");
        hps_mem_free(name);
        return;
    }
    hps_mem_grow(&a->name, &a->cap, (size_t)a->n + 1, sizeof *a->name);
    a->name[a->n++] = name;
}

/* The number at *text, which moves behind it, and its digits; -1: there is none. */
static long number(const char **text, int *digits)
{
    size_t n = strspn(*text, "0123456789");
    long x = n > 0 && n <= DIGITS ? strtol(*text, NULL, 10) : -1;

    *digits = (int)n;
    *text += n;
    return x;
}

static void expand(struct names *a, const char *head, const char *rest, size_t n);

/* One number, or a range of them, between brackets at *at, which moves behind it. */
static void expand_range(struct names *a, const char *head, const char **at, const char *rest,
                         size_t n)
{
    int width, other;
    long first = number(at, &width), last = first;

    if (**at == '-') {
        ++*at;
        last = number(at, &other);
    }
    if (first < 0 || last < first) {
        wrong(a, "a range in brackets is wanted, like [0-15,20]");
        return;
    }
    for (long i = first; i <= last && !a->why; i++) {
        char *longer = hps_mem_print("%s%0*ld", head, width, i);
        expand(a, longer, rest, n);
        hps_mem_free(longer);
    }
}

/* All that begin with `head`, which is whole, and go on with the n characters of `rest`. */
static void expand(struct names *a, const char *head, const char *rest, size_t n)
{
    size_t plain = 0;

    while (plain < n && rest[plain] != '[')
        plain++;
    char *longer = hps_mem_print("%s%.*s", head, (int)plain, rest);
    if (strchr(longer, ']')) wrong(a, "a bracket was never opened");
    if (plain == n) {
        add(a, longer);
        return;
    }
    const char *close = memchr(rest + plain, ']', n - plain), *at = rest + plain;
    if (!close) wrong(a, "a bracket is left open");
    while (!a->why && *at != ']') {
        at++;                                   /* the bracket, or the comma */
        expand_range(a, longer, &at, close + 1, n - (size_t)(close + 1 - rest));
        if (!a->why && *at != ',' && *at != ']')
            wrong(a, "a range in brackets is wanted, like [0-15,20]");
    }
    hps_mem_free(longer);
}

/* Characters up to the comma that ends a name; those in brackets do not. */
static size_t length(const char *text)
{
    size_t n = 0;

    for (int depth = 0; text[n] && (depth > 0 || text[n] != ','); n++)
        depth += text[n] == '[' ? 1 : text[n] == ']' ? -1 : 0;
    return n;
}

int hps_host_list(const char *text, int max, char ***name, const char **why)
{
    struct names a = { .max = max };

    for (size_t n;; text += n + 1) {
        n = length(text);
        if (n == 0 || memchr(text, ' ', n)) wrong(&a, "a name is empty, or has a blank");
        if (!a.why) expand(&a, "", text, n);
        if (a.why || !text[n]) break;
    }
    if (why) *why = a.why;
    if (a.why) {
        while (a.n > 0)
            hps_mem_free(a.name[--a.n]);
        hps_mem_free(a.name);
        a.name = NULL;
    }
    *name = a.name;
    return a.why ? -1 : a.n;
}
