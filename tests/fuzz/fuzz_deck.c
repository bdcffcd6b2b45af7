/* fuzz_deck: any bytes are a deck or are refused; what is taken binds or is refused; and a deck
 * printed and read again prints the same. A line that begins with "--set " is a set. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"

struct opt {
    int steps;
    long long rows;
    double rate, limit;
    bool shuffle;
    const char *name, *method;
    struct hps_list inputs;
};

static const struct hps_field fields[] = {
    HPS_FIELD(opt, steps, HPS_INT, "3", 0, 1e6, "", ""),
    HPS_FIELD(opt, rows, HPS_LONG, "0", -1e18, 1e18, "rows", ""),
    HPS_FIELD(opt, rate, HPS_REAL, "0.05", 0, 10, "1/s", ""),
    { "limit", HPS_REAL, offsetof(struct opt, limit), "max", 0, 1e9, "max|all", "examples/s", "" },
    HPS_FIELD(opt, shuffle, HPS_BOOL, "true", 0, 1, "", ""),
    HPS_FIELD(opt, name, HPS_TEXT, NULL, 0, 0, "", ""),
    HPS_CHOICE(opt, method, "rl", "rl|exact|single:", ""),
    HPS_FIELD(opt, inputs, HPS_LIST, "[a, 'b c']", 0, 0, "", ""),
    { 0 }
};

static const char *const sections[] = { "run", "model", "train", NULL };
static const char *const skip[] = { "emulate", NULL };

enum { MAX_SETS = 8 };

/* Read all that was bound: a pointer that leads nowhere is found by the sanitizer. */
static size_t weigh(const struct opt *o)
{
    size_t n = strlen(o->name) + strlen(o->method);

    for (int i = 0; i < o->inputs.n; i++)
        n += strlen(o->inputs.item[i]);
    return n;
}

static size_t bind_all(const struct hps_deck *deck)
{
    const struct hps_item *run, *inner, *const *entry;
    struct opt o;
    size_t n = 0;
    int nentry;

    hps_deck_sections(deck, sections);
    if (!hps_deck_map(deck, "run", &run) && !hps_deck_bind(deck, run, fields, NULL, NULL, &o))
        n += weigh(&o);
    if (hps_deck_entries(deck, "model", &nentry, &entry))
        return n;
    for (int i = 0; i < nentry; i++) {
        const char *type = hps_item_text(entry[i], "type");
        n += type ? strlen(type) : hps_item_has(entry[i], "name");
        if (hps_item_map(entry[i], "emulate", &inner))
            continue;
        if (!hps_deck_bind(deck, entry[i], fields, fields, skip, &o))
            n += weigh(&o) + (size_t)hps_deck_wrong(entry[i], "name", "%s", o.name);
        if (inner && !hps_deck_bind(deck, inner, fields, NULL, NULL, &o))
            n += weigh(&o);
    }
    return n;
}

static void round_trip(const struct hps_deck *deck)
{
    char *text = hps_deck_text(deck), *again;
    struct hps_deck *twin;

    if (hps_deck_parse(&twin, "twin", text, strlen(text), 0, NULL))
        HPS_DIE("what was printed is refused:\n%s", text);
    again = hps_deck_text(twin);
    if (strcmp(text, again) != 0 || bind_all(deck) != bind_all(twin))
        HPS_DIE("printed again it is another deck:\n%s\n%s", text, again);
    hps_mem_free(again);
    hps_mem_free(text);
    hps_deck_free(twin);
}

/* Cut the lines with sets off the end of the text. */
static int take_sets(char *text, char **set)
{
    int n = 0;
    char *at;

    while (n < MAX_SETS && (at = strstr(text, "\n--set "))) {
        set[n++] = at + 7;
        *at = '\0';
        text = at + 7;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    char *text = hps_mem_new(size + 1, 1), *set[MAX_SETS];
    struct hps_deck *deck;

    if (!begun) {
        hps_begin(NULL, NULL, false);
        hps_say_min(HPS_SILENT);
        begun = true;
    }
    if (size > 0)
        memcpy(text, data, size);
    int nset = take_sets(text, set);
    size_t length = nset ? strlen(text) : size;
    if (!hps_deck_parse(&deck, "fuzz", text, length, nset, set)) {
        bind_all(deck);
        round_trip(deck);
        hps_deck_free(deck);
    }
    hps_mem_free(text);
    if (hps_mem_held_bytes() > 0)
        HPS_DIE("%zu bytes are held", hps_mem_held_bytes());
    return 0;
}
