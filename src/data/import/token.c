/* token.c - the words of a line and what their values mean. */
#include "data/token.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "data/parse.h"

bool hps_token_next(const char **at, const char *end, struct hps_token *token)
{
    const char *s = *at, *colon = NULL;

    while (s < end && hps_parse_blank(*s))
        s++;
    *token = (struct hps_token){ .value = s };
    for (*at = s; *at < end && !hps_parse_blank(**at); (*at)++)
        if (**at == ':' && !colon) colon = *at;
    if (colon) {
        token->name = s;
        token->nname = (size_t)(colon - s);
        token->value = colon + 1;
    }
    token->nvalue = (size_t)(*at - token->value);
    return *at > s;
}

bool hps_token_real(const char *s, size_t n, float *x)
{
    double value;
    size_t plus = n > 0 && *s == '+';

    if (!hps_parse_real(s + plus, n - plus, &value) || fabs(value) > (double)FLT_MAX) return false;
    *x = (float)value;
    return true;
}

bool hps_token_label(const struct hps_import_opt *opt, const char *s, size_t n, float *label)
{
    if (!hps_token_real(s, n, label)) return false;
    if (strcmp(opt->labels, "binary") == 0) *label = *label > 0;
    return true;
}

bool hps_token_whole(const char *s, size_t n, long long *number)
{
    enum { DIGITS = 18 };           /* that many always fit */

    *number = 0;
    for (size_t i = 0; i < n && n <= DIGITS; i++) {
        if ((unsigned char)(s[i] - '0') > 9) return false;
        *number = *number * 10 + (s[i] - '0');
    }
    return n > 0 && n <= DIGITS;
}

bool hps_token_id(const struct hps_import_opt *opt, const char *s, size_t n, uint64_t seed,
                  long long *id)
{
    if (*opt->ids == 'k') return hps_token_whole(s, n, id) && *id < opt->buckets;
    *id = 1 + hps_parse_bucket(hps_parse_hash(s, n, seed), opt->buckets - 1);
    return n > 0;
}
