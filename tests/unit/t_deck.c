/* t_deck: a deck is bound exactly as written or refused at the place of its first error, every
 * misspelt key is refused with its nearest, and a deck printed and read again is the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/say.h"
#include "tests/lib/deck_case.h"

static const struct hps_field more[] = {
    { "width", HPS_INT, offsetof(struct opt, steps), "1", 1, 9, NULL, "", "a second table's" },
    { 0 }
};

static const char *const sections[] = { "run", "model", "other", NULL };

/* Standard error as text, while a verb speaks. */
static char heard[4096];
static int ears, mouth;

static void listen(void)
{
    char path[] = "/tmp/t_deck.XXXXXX";

    ears = mkstemp(path);
    assert_true(ears >= 0);
    unlink(path);
    mouth = dup(STDERR_FILENO);
    dup2(ears, STDERR_FILENO);
}

static const char *hear(void)
{
    ssize_t n = pread(ears, heard, sizeof heard - 1, 0);
    char *line;

    dup2(mouth, STDERR_FILENO);
    close(mouth);
    close(ears);
    heard[n > 0 ? n : 0] = '\0';
    line = strstr(heard, "] error: ");
    if (!line)
        return heard;
    line[strcspn(line, "\n")] = '\0';
    return line + 9;
}

/* Parse, look at the sections, bind `run` and the entries of `model`. */
static enum hps_status take(const char *text, int nset, char *const *set, struct hps_deck **deck,
                            struct opt *opt)
{
    const char *const skip[] = { "inner", NULL };
    const struct hps_item *run, *const *entry;
    enum hps_status s = hps_deck_parse(deck, "a.yaml", text, strlen(text), nset, set);
    int n = 0;

    if (!s) s = hps_deck_sections(*deck, sections);
    if (!s) s = hps_deck_map(*deck, "run", &run);
    if (!s) s = hps_deck_bind(*deck, run, fields, NULL, NULL, opt);
    if (!s) s = hps_deck_entries(*deck, "model", &n, &entry);
    for (int i = 0; i < n && !s; i++) {
        struct opt o;
        s = hps_deck_bind(*deck, entry[i], fields, more, skip, &o);
    }
    return s;
}

static void refused(const char *text, char *set, const char *message)
{
    struct hps_deck *deck = NULL;
    struct opt opt;

    listen();
    enum hps_status s = take(text, set != NULL, &set, &deck, &opt);
    assert_string_equal(hear(), message);
    assert_int_equal(s, HPS_DECK);
    hps_deck_free(deck);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_defaults(void **state)
{
    struct hps_deck *deck;
    struct opt o;

    (void)state;
    assert_int_equal(take("run: {name: x}\n", 0, NULL, &deck, &o), HPS_OK);
    assert_int_equal(o.steps, 3);
    assert_true(o.rows == 5000000000LL);
    assert_true(o.rate == 0.05 && isinf(o.limit) && o.shuffle);
    assert_string_equal(o.name, "x");
    assert_string_equal(o.method, "rl");
    assert_string_equal(o.note, "");
    assert_int_equal(o.inputs.n, 0);
    assert_int_equal(o.slots.n, 2);
    assert_string_equal(o.slots.item[1], "b c");
    hps_deck_free(deck);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_values(void **state)
{
    struct hps_deck *deck;
    struct opt o;

    (void)state;
    assert_int_equal(take("run:\n  name: 'two words'\n  steps: +7\n  rows: 999999999999\n"
                          "  rate: 1.5e-3\n  limit: 1e3\n  shuffle: Off\n  method: single:cpu\n"
                          "  note: \"\"\n  inputs: one\n  slots: [1, '2', c]\n",
                          0, NULL, &deck, &o),
                     HPS_OK);
    assert_int_equal(o.steps, 7);
    assert_true(o.rows == 999999999999LL);
    assert_true(o.rate == 1.5e-3 && o.limit == 1000 && !o.shuffle);
    assert_string_equal(o.name, "two words");
    assert_string_equal(o.method, "single:cpu");
    assert_int_equal(o.inputs.n, 1);
    assert_string_equal(o.inputs.item[0], "one");
    assert_int_equal(o.slots.n, 3);
    assert_string_equal(o.slots.item[1], "2");
    hps_deck_free(deck);
}

#define RUN "run:\n  name: x\n"

static void test_shape(void **state)
{
    (void)state;
    refused("run: [a\n", NULL,
            "a.yaml:2:1: did not find expected ',' or ']'");
    refused("run: a: b\n", NULL, "a.yaml:1:7: mapping values are not allowed in this context");
    refused("- a\n- b\n", NULL, "a.yaml:1:1: a deck is a mapping of sections");
    refused("just text", NULL, "a.yaml:1:1: a deck is a mapping of sections");
    refused("run: {}\n---\nrun: {}\n", NULL, "a.yaml:2:1: a deck is one document");
    refused("run: &a {name: x}\n", NULL, "a.yaml:1:6: anchors and tags are not for decks");
    refused("run: {name: !!str x}\n", NULL, "a.yaml:1:13: anchors and tags are not for decks");
    refused("run: {name: *x}\n", NULL,
            "a.yaml:1:13: aliases are not for decks (a text with * needs quotes)");
    refused("run: {<<: *x}\n", NULL,
            "a.yaml:1:11: aliases are not for decks (a text with * needs quotes)");
    refused("run: {[a]: b}\n", NULL, "a.yaml:1:7: a key must be one word");
    refused("run: {name: \"a\\0b\"}\n", NULL, "a.yaml:1:13: a text may not hold a zero byte");
    refused(RUN "run: {}\n", NULL, "a.yaml:3:1: the key 'run' is given twice");
    refused("run:\n  name: x\n  rate: 1\n  name: y\n", NULL,
            "a.yaml:4:3: the key 'name' is given twice");
    refused("run: 5\n", NULL, "a.yaml:1:6: run: a mapping {key: value, ...} is wanted");
    refused(RUN "model: {a: b}\n", NULL, "a.yaml:3:8: model: a list of mappings is wanted");
    refused(RUN "model: 3\n", NULL, "a.yaml:3:8: model: a list of mappings is wanted");
    refused(RUN "model: [3]\n", NULL, "a.yaml:3:9: model[0]: a mapping {name: ..., ...} is wanted");
    refused("run: \xff\n", NULL, "a.yaml:1:6: invalid leading UTF-8 octet");
    refused("run: {name: x}\nrnu: 1\n", NULL,
            "a.yaml:2:1: unknown section 'rnu', did you mean 'run'?");
    refused("xyzzy: 1\n", NULL, "a.yaml:1:1: unknown section 'xyzzy'");
}

static void test_types(void **state)
{
    (void)state;
    refused(RUN "  steps: 1e3\n", NULL, "a.yaml:3:10: run.steps: '1e3' is no whole number");
    refused(RUN "  steps: 1.0\n", NULL, "a.yaml:3:10: run.steps: '1.0' is no whole number");
    refused(RUN "  steps: 5 apples\n", NULL,
            "a.yaml:3:10: run.steps: '5 apples' is no whole number");
    refused(RUN "  steps: 0x10\n", NULL, "a.yaml:3:10: run.steps: '0x10' is no whole number");
    refused(RUN "  steps: '5'\n", NULL, "a.yaml:3:10: run.steps: '5' is no whole number");
    refused(RUN "  steps: 2147483648\n", NULL,
            "a.yaml:3:10: run.steps: 2147483648 is too large a number");
    refused(RUN "  rows: 9223372036854775808\n", NULL,
            "a.yaml:3:9: run.rows: 9223372036854775808 is too large a number");
    refused(RUN "  steps:\n  rate: 1\n", NULL, "a.yaml:3:9: run.steps: there is no value");
    refused(RUN "  steps: ~\n", NULL, "a.yaml:3:10: run.steps: there is no value");
    refused(RUN "  note: null\n", NULL, "a.yaml:3:9: run.note: there is no value");
    refused(RUN "  steps: [1]\n", NULL,
            "a.yaml:3:10: run.steps: a single value is wanted, not a list");
    refused(RUN "  slots: {a: 1}\n", NULL,
            "a.yaml:3:10: run.slots: a list is wanted, not a mapping");
    refused(RUN "  slots: [a, [b]]\n", NULL,
            "a.yaml:3:10: run.slots: a list of plain values is wanted");
    refused(RUN "  rate: nan\n", NULL, "a.yaml:3:9: run.rate: 'nan' is no number");
    refused(RUN "  rate: .inf\n", NULL, "a.yaml:3:9: run.rate: '.inf' is no number");
    refused(RUN "  rate: 1e\n", NULL, "a.yaml:3:9: run.rate: '1e' is no number");
    refused(RUN "  rate: 1e999\n", NULL,
            "a.yaml:3:9: run.rate: 1e999 is too large or too small a number");
    refused(RUN "  limit: inf\n", NULL,
            "a.yaml:3:10: run.limit: 'inf' is no number and not max|all");
    refused(RUN "  shuffle: 1\n", NULL, "a.yaml:3:12: run.shuffle: '1' is neither true nor false");
    refused(RUN "  method: exakt\n", NULL,
            "a.yaml:3:11: run.method: 'exakt' is none of rl|exact|single:, did you mean 'exact'?");
    refused(RUN "  method: 'single:'\n", NULL,
            "a.yaml:3:11: run.method: 'single:' is none of rl|exact|single:, did you mean"
            " 'single:'?");
}

static void test_bounds(void **state)
{
    (void)state;
    refused(RUN "  steps: -1\n", NULL, "a.yaml:3:10: run.steps: -1 is below 0");
    refused(RUN "  steps: 1000001\n", NULL, "a.yaml:3:10: run.steps: 1000001 is above 1000000");
    refused(RUN "  rate: 10.5\n", NULL, "a.yaml:3:9: run.rate: 10.5 is above 10");
    refused("run: {rate: -1, name: x}\n", NULL, "a.yaml:1:13: run.rate: -1 is below 0");
    refused("run: {rate: 1}\n", NULL, "a.yaml:1:6: run.name: must be given");
    refused("", NULL, "a.yaml:1:1: name: must be given");
    refused(RUN "model:\n  - {name: h1, width: 3}\n  - {name: h2, width: 10}\n", NULL,
            "a.yaml:5:23: model.h2.width: 10 is above 9");
}

static void test_misspelt(void **state)
{
    char deck[256], message[256], key[64];

    (void)state;
    for (const struct hps_field *f = fields; f->name; f++) {
        size_t n = strlen(f->name);
        for (size_t i = 0; i < n; i++) {            /* a letter left out, doubled, made large */
            snprintf(key, sizeof key, "%.*s%s", (int)i, f->name, f->name + i + 1);
            if (strcmp(key, "rat") == 0 || strcmp(key, "nam") == 0)
                continue;
            snprintf(deck, sizeof deck, RUN "  %s: 1\n", key);
            snprintf(message, sizeof message,
                     "a.yaml:3:3: run: unknown key '%s', did you mean '%s'?", key, f->name);
            refused(deck, NULL, message);
            snprintf(key, sizeof key, "%.*s%c%s", (int)i + 1, f->name, f->name[i], f->name + i + 1);
            snprintf(deck, sizeof deck, RUN "  %s: 1\n", key);
            snprintf(message, sizeof message,
                     "a.yaml:3:3: run: unknown key '%s', did you mean '%s'?", key, f->name);
            refused(deck, NULL, message);
        }
    }
    refused(RUN "  Steps: 1\n", NULL,
            "a.yaml:3:3: run: unknown key 'Steps', did you mean 'steps'?");
    refused(RUN "  setps: 1\n", NULL,
            "a.yaml:3:3: run: unknown key 'setps', did you mean 'steps'?");
    refused(RUN "  colour: 1\n", NULL, "a.yaml:3:3: run: unknown key 'colour'");
    refused(RUN "model: [{name: h1, wdith: 1}]\n", NULL,
            "a.yaml:3:20: model.h1: unknown key 'wdith', did you mean 'width'?");
}

#define NET RUN "model:\n  - {name: h1, width: 3, inner: {a: 1}}\n  - {name: h2}\n"

static void test_set(void **state)
{
    char *set[] = { "run.steps=9", "run.name=", "run.slots=[a, b]", "run.inputs=q",
                    "model.h2.width=5", "model.h1.inner.b=2", "model.h2.inner={c: 3}", "run.rate=1",
                    "run.rate=2", "run.method=\"single:x=y\"", "other=[1, 2]" };
    struct hps_deck *deck;
    struct opt o;

    (void)state;
    assert_int_equal(take(NET, sizeof set / sizeof *set, set, &deck, &o), HPS_OK);
    assert_int_equal(o.steps, 9);
    assert_string_equal(o.name, "");
    assert_int_equal(o.slots.n, 2);
    assert_string_equal(o.inputs.item[0], "q");
    assert_true(o.rate == 2);
    assert_string_equal(o.method, "single:x=y");
    char *text = hps_deck_text(deck);
    assert_string_equal(text,
                        "run:\n  name: \"\"\n  steps: 9\n  slots: [a, b]\n  inputs: q\n  rate: 2\n"
                        "  method: \"single:x=y\"\nmodel:\n"
                        "  - {name: h1, width: 3, inner: {a: 1, b: 2}}\n"
                        "  - {name: h2, width: 5, inner: {c: 3}}\nother:\n  - 1\n  - 2\n");
    hps_mem_free(text);
    hps_deck_free(deck);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_set_refused(void **state)
{
    struct hps_deck *deck;
    char *bad = "run.steps";

    (void)state;
    refused(RUN, "run.steps=-1", "--set run.steps=-1: run.steps: -1 is below 0");
    refused(RUN, "run.step=1",
            "--set run.step=1: run: unknown key 'step', did you mean 'steps'?");
    refused(RUN, "urn.steps=1", "--set urn.steps=1: unknown section 'urn', did you mean 'run'?");
    refused(RUN, "run.steps=", "--set run.steps=: run.steps: '' is no whole number");
    refused(RUN, "run.slots=[a", "--set run.slots=[a: did not find expected ',' or ']'");
    refused(RUN, "run.name.first=x", "--set run.name.first=x: run.name is a value, nothing is"
                                     " under it");
    refused(RUN, ".a=x", "--set .a=x: the key has an empty or endless part");
    refused(RUN, "=x", "--set =x: the key has an empty or endless part");
    refused(RUN, "run.\xff=x", "--set run.\\xff=x: a key is made of plain letters");
    refused(RUN, "run.\xc3.x=x", "--set run.\\xc3.x=x: a key is made of plain letters");
    refused(NET, "model.h11.width=1",
            "--set model.h11.width=1: model has no entry 'h11', did you mean 'h1'?");
    refused(NET, "model.zzzz.width=1", "--set model.zzzz.width=1: model has no entry 'zzzz'");
    refused(NET, "model.h1=5", "--set model.h1=5: model is a list: KEY ends in model.NAME.KEY");
    refused(NET, "model.h1.widht=5",
            "--set model.h1.widht=5: model.h1: unknown key 'widht', did you mean 'width'?");
    refused(RUN, "run.steps=\x1b[31m", "--set run.steps=?[31m: control characters are not allowed");
    listen();
    assert_int_equal(hps_deck_parse(&deck, "a.yaml", RUN, strlen(RUN), 1, &bad), HPS_USAGE);
    assert_string_equal(hear(), "--set run.steps: KEY=VALUE is wanted");
    assert_null(deck);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_round_trip(void **state)
{
    static const char *const word[] = {
        "a b", "", "null", "~", "- x", "#x", "a: b", "*", "&a", "it's", "\"", "\\", "[", "{}", "%",
        "@", "`", "!x", "|", ">", "?", "-", "--- a", "...", " lead", "trail ",
        "a\nb", "\t", "a\x01",
        "\xc3\xa9", "\xe2\x80\xa8", "\xc2\x85", "\xef\xbb\xbf", "\xf0\x9f\x98\x80", "1e3", "true"
    };
    struct hps_deck *deck, *again;
    const struct hps_item *run;
    struct opt o;

    (void)state;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        /* set through JSON-like quotes, printed, read, and printed once more */
        char *plain = "run: {name: x}", *text, *twice, set[64] = "run.name=\"";
        size_t n = strlen(set);
        for (const char *c = word[i]; *c; c++)
            n += (size_t)snprintf(set + n, sizeof set - n,
                                  *c == '"' || *c == '\\' ? "\\%c"
                                  : (unsigned char)*c < ' ' ? "\\x%02x" : "%c", *c);
        snprintf(set + n, sizeof set - n, "\"");
        if (strstr("\xe2\x80\xa8 \xc2\x85 \xef\xbb\xbf", word[i]) && (*word[i] & 0x80))
            strcpy(set, *word[i] == '\xe2' ? "run.name=\"\\u2028\""
                        : *word[i] == '\xc2' ? "run.name=\"\\u0085\"" : "run.name=\"\\ufeff\"");
        char *sets[] = { set };
        assert_int_equal(take(plain, 1, sets, &deck, &o), HPS_OK);
        assert_string_equal(o.name, word[i]);
        text = hps_deck_text(deck);
        assert_int_equal(hps_deck_parse(&again, "b.yaml", text, strlen(text), 0, NULL), HPS_OK);
        assert_int_equal(hps_deck_map(again, "run", &run), HPS_OK);
        assert_string_equal(hps_item_text(run, "name"), word[i]);
        twice = hps_deck_text(again);
        assert_string_equal(text, twice);
        hps_mem_free(text);
        hps_mem_free(twice);
        hps_deck_free(again);
        hps_deck_free(deck);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_items(void **state)
{
    static const char text[] = "run:\n  a: 1\n  b: {c: x}\n  d: [1]\n  e:\nmodel:\n";
    const struct hps_item *run, *inner, *const *entry;
    struct hps_deck *deck;
    int n;

    (void)state;
    assert_int_equal(hps_deck_parse(&deck, "a.yaml", text, sizeof text - 1, 0, NULL), HPS_OK);
    assert_int_equal(hps_deck_map(deck, "none", &inner), HPS_OK);
    assert_null(inner);
    assert_int_equal(hps_deck_entries(deck, "model", &n, &entry), HPS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(hps_deck_map(deck, "run", &run), HPS_OK);
    assert_int_equal(hps_item_map(run, "b", &inner), HPS_OK);
    assert_string_equal(hps_item_text(inner, "c"), "x");
    assert_null(hps_item_text(run, "d"));
    assert_null(hps_item_text(run, "e"));
    assert_null(hps_item_text(NULL, "e"));
    assert_true(hps_item_has(run, "d") && !hps_item_has(run, "c") && !hps_item_has(NULL, "a"));
    listen();
    assert_int_equal(hps_deck_wrong(inner, "c", "no %d", 7), HPS_DECK);
    assert_string_equal(hear(), "a.yaml:3:10: run.b.c: no 7");
    listen();
    assert_int_equal(hps_deck_wrong(run, "zz", "no"), HPS_DECK);
    assert_string_equal(hear(), "a.yaml:2:3: run.zz: no");
    listen();
    assert_int_equal(hps_item_map(run, "a", &inner), HPS_DECK);
    assert_string_equal(hear(), "a.yaml:2:6: run.a: a mapping {key: value, ...} is wanted");
    hps_deck_free(deck);
}

/* Many levels, many items: refused, not endured. */
static void test_limits(void **state)
{
    enum { N = 300000 };
    static char big[N + 16];
    struct hps_deck *deck;

    (void)state;
    memset(big, '[', 40);
    refused(big, NULL, "a.yaml:1:33: too many levels");
    strcpy(big, "run: [");
    for (int i = 6; i < N; i += 2)
        memcpy(big + i, "1,", 2);
    listen();
    assert_int_equal(hps_deck_parse(&deck, "a.yaml", big, strlen(big), 0, NULL), HPS_DECK);
    assert_non_null(strstr(hear(), "too many items for a deck"));
}

static void test_load(void **state)
{
    char path[] = "/tmp/t_deck.XXXXXX";
    int file = mkstemp(path);
    struct hps_deck *deck;
    const struct hps_item *run;

    (void)state;
    assert_int_equal(write(file, RUN, strlen(RUN)), (ssize_t)strlen(RUN));
    close(file);
    assert_int_equal(hps_deck_load(&deck, path, 0, NULL, MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_deck_map(deck, "run", &run), HPS_OK);
    assert_string_equal(hps_item_text(run, "name"), "x");
    hps_deck_free(deck);
    unlink(path);
    listen();
    assert_int_equal(hps_deck_load(&deck, "/nowhere/x.yaml", 0, NULL, MPI_COMM_NULL), HPS_INPUT);
    assert_string_equal(hear(),
                        "/nowhere/x.yaml: the deck cannot be read: No such file or directory");
    listen();
    assert_int_equal(hps_deck_load(&deck, "/tmp", 0, NULL, MPI_COMM_NULL), HPS_INPUT);
    assert_string_equal(hear(), "/tmp: the deck cannot be read: Is a directory");
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_values),
        cmocka_unit_test(test_shape),     cmocka_unit_test(test_types),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_misspelt),
        cmocka_unit_test(test_set),       cmocka_unit_test(test_set_refused),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_items),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
