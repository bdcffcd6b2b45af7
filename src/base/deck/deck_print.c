/* deck_print.c - a deck as text again, and the reference of a table. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/tree.h"

struct text {
    char *s;
    size_t n, cap;
};

static void add_bytes(struct text *t, const char *s, size_t n)
{
    hps_mem_grow(&t->s, &t->cap, t->n + n + 1, 1);
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

static void add(struct text *t, const char *s)
{
    add_bytes(t, s, strlen(s));
}

/* Words and numbers that mean the same with and without quotes, wherever they stand. */
static bool is_plain(const char *s)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
                               "./+-";

    s += *s == '-' || *s == '+';
    return *s && *s != '-' && *s != '+' && s[strspn(s, good)] == '\0';
}

/* One UTF-8 character (the parser let no other bytes through). */
static size_t decode(const char *s, unsigned long *code)
{
    unsigned char c = (unsigned char)*s;
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    *code = n == 1 ? c : c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        *code = *code << 6 | ((unsigned char)s[i] & 0x3f);
    return n;
}

/* What YAML takes for a line break, or does not take at all, is written by its number. */
static bool shows(unsigned long c)
{
    return (c >= ' ' && c < 0x7f) || (c >= 0xa0 && c < 0x2028) || (c > 0x2029 && c < 0xd800) ||
           (c >= 0xe000 && c < 0xfffe && c != 0xfeff) || (c >= 0x10000 && c <= 0x10ffff);
}

static void add_quoted(struct text *t, const char *s)
{
    unsigned long c;
    char number[16];

    add(t, "\"");
    for (size_t n; *s; s += n) {
        n = decode(s, &c);
        if (c == '"' || c == '\\') add(t, "\\");
        if (shows(c)) {
            add_bytes(t, s, n);
        } else {
            snprintf(number, sizeof number, c < 0x10000 ? "\\u%04lx" : "\\U%08lx", c);
            add(t, number);
        }
    }
    add(t, "\"");
}

static void add_key(struct text *t, const char *key)
{
    if (is_plain(key))
        add(t, key);
    else
        add_quoted(t, key);
    add(t, ": ");
}

static void add_scalar(struct text *t, const struct hps_item *item)
{
    if (hps_tree_null(item))
        add(t, "null");
    else if (!item->quoted && is_plain(item->text))
        add(t, item->text);
    else
        add_quoted(t, item->text);
}

static void add_flow(struct text *t, const struct hps_item *item)
{
    if (item->kind == HPS_ITEM_SCALAR) {
        add_scalar(t, item);
        return;
    }
    add(t, item->kind == HPS_ITEM_MAP ? "{" : "[");
    for (const struct hps_item *i = item->first; i; i = i->next) {
        if (item->kind == HPS_ITEM_MAP) add_key(t, i->key);
        add_flow(t, i);
        add(t, i->next ? ", " : "");
    }
    add(t, item->kind == HPS_ITEM_MAP ? "}" : "]");
}

char *hps_item_yaml(const struct hps_item *item)
{
    struct text t = { 0 };

    add(&t, "");
    add_flow(&t, item);
    return t.s;
}

/* A section: a line for each key or entry, in one line what is inside them. */
static void add_section(struct text *t, const struct hps_item *section)
{
    add_key(t, section->key);
    if (section->n == 0) {
        add_flow(t, section);
        add(t, "\n");
        return;
    }
    t->n--;                                         /* no blank behind "key:" */
    add(t, "\n");
    for (const struct hps_item *i = section->first; i; i = i->next) {
        add(t, i->key ? "  " : "  - ");
        if (i->key) add_key(t, i->key);
        add_flow(t, i);
        add(t, "\n");
    }
}

char *hps_deck_text(const struct hps_deck *deck)
{
    struct text t = { 0 };

    add(&t, deck->tree->root->n ? "" : "{}\n");
    for (const struct hps_item *i = deck->tree->root->first; i; i = i->next)
        add_section(&t, i);
    return t.s;
}

/* The reference. */

static void add_value(struct text *t, const struct hps_field *f)
{
    const char *p = f->preset;

    if (*p == '\0')
        add(t, f->kind == HPS_LIST ? "[]" : "\"\"");
    else if (f->kind == HPS_LIST || *p == '"' || *p == '\'' || is_plain(p))
        add(t, p);
    else
        add_quoted(t, p);
}

static void add_bounds(struct text *t, const struct hps_field *f)
{
    bool least = f->min > -DBL_MAX, most = f->max < DBL_MAX;
    char bounds[80] = "";

    if (least && most)
        snprintf(bounds, sizeof bounds, ", %.10g to %.10g", f->min, f->max);
    else if (least)
        snprintf(bounds, sizeof bounds, ", from %.10g", f->min);
    else if (most)
        snprintf(bounds, sizeof bounds, ", to %.10g", f->max);
    add(t, bounds);
}

/* "what it means (whole number, 0 to 10 s)" */
static void add_meaning(struct text *t, const struct hps_field *f)
{
    static const char *const kind[] = { "whole number", "whole number", "number", "true or false",
                                        "text", "", "list" };
    bool counts = f->kind == HPS_INT || f->kind == HPS_LONG || f->kind == HPS_REAL;

    add(t, f->help);
    add(t, " (");
    add(t, kind[f->kind]);
    if (counts) add_bounds(t, f);
    if (f->unit && *f->unit) {
        add(t, " ");
        add(t, f->unit);
    }
    if (f->words) {
        add(t, f->kind == HPS_WORD ? "" : ", or ");
        add(t, f->words);
    }
    add(t, f->preset ? ")" : ", must be given)");
}

static void add_line(struct text *t, const struct hps_field *f)
{
    add(t, f->preset ? "" : "# ");              /* a key without default may not look given */
    add_key(t, f->name);
    if (f->preset) add_value(t, f);
}

/* As roff reads it: no word of it is a request or an escape, and lists of words may be broken. */
static void out_roff(const char *s)
{
    hps_out("%s", *s == '.' || *s == '\'' ? "\\&" : "");
    for (; *s; s++)
        if (*s == '\\')
            hps_out("\\e");
        else if (*s == '-')
            hps_out("\\-");
        else
            hps_out(*s == '|' ? "%c\\:" : "%c", *s);
}

void hps_deck_print_section(enum hps_deck_form form, const char *section, const char *lines)
{
    if (form == HPS_DECK_YAML) {
        hps_out("%s:\n%s", section, lines ? lines : "");
        return;
    }
    hps_out(".SS %s\n", section);
    if (lines) {
        hps_out(".nf\n");
        out_roff(lines);
        hps_out(".fi\n");
    }
}

void hps_deck_print_group(enum hps_deck_form form, const char *head, const char *help)
{
    if (form == HPS_DECK_YAML) {
        hps_out(help ? "  # %s  (%s)\n" : "  # %s\n", head, help);
        return;
    }
    hps_out(".PP\n\\fB");
    out_roff(head);
    hps_out("\\fR\n");
    if (help) {
        out_roff(help);
        hps_out("\n");
    }
}

static void print_yaml(const char *indent, const struct hps_field *table)
{
    enum { WIDEST = 36 };
    int width = 0;

    for (const struct hps_field *f = table; f->name; f++) {
        struct text t = { 0 };
        add_line(&t, f);
        if ((int)t.n > width && t.n <= WIDEST) width = (int)t.n;
        hps_mem_free(t.s);
    }
    for (const struct hps_field *f = table; f->name; f++) {
        struct text line = { 0 }, meaning = { 0 };
        add_line(&line, f);
        add_meaning(&meaning, f);
        hps_out("%s%-*s  # %s\n", indent, width, line.s, meaning.s);
        hps_mem_free(line.s);
        hps_mem_free(meaning.s);
    }
}

static void print_man(const struct hps_field *table)
{
    for (const struct hps_field *f = table; f->name; f++) {
        struct text preset = { 0 }, meaning = { 0 };
        if (f->preset) {
            add(&preset, ": ");
            add_value(&preset, f);
        }
        add_meaning(&meaning, f);
        hps_out(".TP\n\\fB%s\\fR", f->name);
        out_roff(f->preset ? preset.s : "");
        hps_out("\n");
        out_roff(meaning.s);
        hps_out("\n");
        hps_mem_free(preset.s);
        hps_mem_free(meaning.s);
    }
}

void hps_deck_print_table(enum hps_deck_form form, bool inner, const struct hps_field *table)
{
    if (form == HPS_DECK_YAML) {
        print_yaml(inner ? "  #     " : "  ", table);
        return;
    }
    hps_out("%s", inner ? ".RS\n" : "");
    print_man(table);
    hps_out("%s", inner ? ".RE\n" : "");
}
