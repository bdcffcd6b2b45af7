/* token.h - the tokens of a line, "NAME:VALUE" or "VALUE", and their values. */
#ifndef HPS_DATA_TOKEN_H
#define HPS_DATA_TOKEN_H

#include <stdint.h>

#include "data/import.h"

struct hps_token {
    const char *name, *value;       /* name NULL: no colon; not zero-terminated */
    size_t nname, nvalue;
};

/* The next token of *at..end after blanks; false: there is none. Pure. */
bool hps_token_next(const char **at, const char *end, struct hps_token *token);

/* Parse a label by opt->labels from a finite number. False: it is none. Pure. */
bool hps_token_label(const struct hps_import_opt *opt, const char *s, size_t n, float *label);

/* Parse an id by opt->ids: the number, or 1 + a hash of the text. False: no integer, or not below
 * opt->buckets. Pure. */
bool hps_token_id(const struct hps_import_opt *opt, const char *s, size_t n, uint64_t seed,
                  long long *id);

/* Parse an integer of at most 18 digits without a sign. Pure. */
bool hps_token_whole(const char *s, size_t n, long long *number);

/* Parse a finite float. Pure. */
bool hps_token_real(const char *s, size_t n, float *x);

#endif
