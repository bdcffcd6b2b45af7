/* deck_lines.h - a section of a deck as lines "KEY VALUE" that two decks can be compared by. */
#ifndef HPS_BASE_DECK_LINES_H
#define HPS_BASE_DECK_LINES_H

#include "base/deck.h"

/* A section with a table: every key but those of `skip` ("section.key", NULL-terminated), given or
 * by default. table NULL: a list of mappings with names, "section.NAME.key", what is given. Numbers
 * are in one form however they were written, unless in quotes. To free. Pure. */
char *hps_deck_lines(const struct hps_deck *deck, const char *section,
                     const struct hps_field *table, const char *const *skip);

/* Do two such texts differ? Then *change is the first line of one that the other lacks: the key and
 * its two values ("nothing" where a text lacks it). Pure. */
struct hps_deck_change {
    char *key, *before, *now;
};
bool hps_deck_differ(const char *before, const char *now, struct hps_deck_change *change);
void hps_deck_change_free(struct hps_deck_change *change);

#endif
