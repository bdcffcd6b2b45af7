/* report_check.h - what cmocka tests of the report check with; included behind cmocka.h. */
#ifndef HPS_TESTS_REPORT_CHECK_H
#define HPS_TESTS_REPORT_CHECK_H

#include <math.h>

#include "tests/lib/made_run.h"

static inline void made_is_real(const json_t *j, const char *key, double want)
{
    double got = hps_report_real(j, key);

    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%s is %.17g, not %.17g", key, got, want);
}

static inline void made_is_null(const json_t *j, const char *key)
{
    if (!json_is_null(json_object_get(j, key))) fail_msg("%s is not null", key);
}

/* The report of a made run, behind an earlier one (NULL: none). */
static inline json_t *made_report(const struct made_run *m, const json_t *old)
{
    struct hps_report_counts *c = made_counts(m->pool.R);
    json_t *j = hps_report_json(&m->facts, c, old);

    hps_report_counts_free(c);
    return j;
}

#endif
