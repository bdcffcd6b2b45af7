/* token.h - the words of a line, "NAME:VALUE" or "VALUE", and what their values mean. */
#ifndef HPS_DATA_TOKEN_H
#define HPS_DATA_TOKEN_H

#include <stdint.h>

#include "data/import.h"

struct hps_token {
    const char *name, *value;       /* name NULL: no colon; not ended by zeros */
    size_t nname, nvalue;
};

/* The next word of *at..end, blanks before it passed over; false: there is none. Pure. */
bool hps_token_next(const char **at, const char *end, struct hps_token *token);

/* A label as opt->labels wants it, from a finite number. False: it is none. Pure. */
bool hps_token_label(const struct hps_import_opt *opt, const char *s, size_t n, float *label);

/* An id as opt->ids wants it: the number, or 1 + a hash of the text. False: no whole number, or it
 * is not below opt->buckets. Pure. */
bool hps_token_id(const struct hps_import_opt *opt, const char *s, size_t n, uint64_t seed,
                  long long *id);

/* A whole number of at most 18 digits, no sign. Pure. */
bool hps_token_whole(const char *s, size_t n, long long *number);

/* A finite float. Pure. */
bool hps_token_real(const char *s, size_t n, float *x);

#endif
