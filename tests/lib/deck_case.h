/* deck_case.h - a section with a field of each kind: what t_deck binds and t_reference prints. */
#ifndef HPS_TESTS_LIB_DECK_CASE_H
#define HPS_TESTS_LIB_DECK_CASE_H

#include "base/deck.h"

struct opt {
    int steps;
    long long rows;
    double rate, limit;
    bool shuffle;
    const char *name, *method, *note;
    struct hps_list inputs, slots;
};

static const struct hps_field fields[] = {
    HPS_FIELD(opt, steps, HPS_INT, "3", 0, 1e6, "", "to run"),
    HPS_FIELD(opt, rows, HPS_LONG, "5000000000", 0, 1e12, "rows", "to read"),
    HPS_FIELD(opt, rate, HPS_REAL, "0.05", 0, 10, "1/s", "of learning"),
    { "limit", HPS_REAL, offsetof(struct opt, limit), "max", 0, 1e9, "max|all", "examples/s", "x" },
    HPS_FIELD(opt, shuffle, HPS_BOOL, "true", 0, 1, "", "in a new order"),
    HPS_FIELD(opt, name, HPS_TEXT, NULL, 0, 0, "", "of the run"),
    HPS_CHOICE(opt, method, "rl", "rl|exact|single:", "how to search"),
    HPS_FIELD(opt, note, HPS_TEXT, "", 0, 0, "", "whatever # you like"),
    HPS_FIELD(opt, inputs, HPS_LIST, "", 0, 0, "", "layers"),
    HPS_FIELD(opt, slots, HPS_LIST, "[a, 'b c']", 0, 0, "", "columns"),
    { 0 }
};

#endif
