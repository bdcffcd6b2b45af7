/* Law: a profile written and read again is the same to the last bit; what the design refuses is
 * refused, with the place in the message's reach; what is optional may be absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/profile.h"
#include "tests/lib/plan_make.h"

static void read_again_is_the_same(void **state)
{
    struct hps_profile *p = make_profile(1, 7, 3, 100, 0), *q, *r;

    (void)state;
    p->server_type = 2;
    p->serve[4] = 1e-3 / 3;
    p->server_units = 1;
    p->type[2].memory_bytes = 1e10 / 3;
    p->layer[1].state_bytes = 12345.5;
    p->throughput_limit = 1e5 / 7;
    p->workers = 3;
    p->engine.batch = 4096;
    p->engine.microbatches = 3;
    p->engine.forward_s[5] = 1e-6 / 3;
    p->engine.once_s[20] = 1e-6 / 7;
    p->engine.read_s[0] = 1e-6 / 11;
    p->layer[3].reads = true;
    p->engine.micro_s[1] = 1e-5 / 3;
    p->engine.step_s[2] = 1e-4 / 7;
    p->engine.unsure[1] = 1e-2 / 3;
    p->engine.run_s = 1.0 / 3;
    p->engine.move = 2.0 / 3;
    p->engine.trial = 1.1;
    p->max_rows_bytes = 1e9 / 3;
    p->tier.reads_s[1] = 1e5 / 3;
    p->tier.take_s[3] = p->tier.write_s[5] = 1e-8 / 3;
    p->tier.make_s[4] = p->tier.read_s[3] = 1e-7 / 3;
    p->layer[1].sample = (struct hps_tier_sample){
        .rows = 1e6 / 3, .asked = 100.0 / 3, .steps = 40,
        .distinct = { 900, 500, 300.0 / 7, 30, 20, 10, 5 },
        .hits = { 1, 0.9, 0.8, 0.7, 0.6, 0.5, 1.0 / 3 },
        .later_hits = { 1, 1, 0.8, 0.7, 0.6, 0.5, 0 },
        .first_hits = { 1, 0.5, 0.3, 0.2, 0, 0, 0 },
    };
    p->layer[4].rows_with = 1;
    char *text = hps_profile_text(p);
    assert_int_equal(hps_profile_parse(&q, "text", text, strlen(text)), HPS_OK);
    assert_int_equal(hps_profile_save(q, "t_profile.json"), HPS_OK);
    assert_int_equal(hps_profile_load(&r, "t_profile.json"), HPS_OK);
    unlink("t_profile.json");
    char *again = hps_profile_text(r);
    assert_string_equal(text, again);
    assert_memory_equal(p->oct, r->oct, (13 * 21 + 5 * 3) * sizeof(double));
    assert_memory_equal(p->type, r->type, 3 * sizeof *p->type);
    assert_memory_equal(p->layer, r->layer, 7 * sizeof *p->layer);
    assert_int_equal(r->server_units, 1);
    assert_true(r->engine.batch == 4096 && r->engine.microbatches == 3);
    assert_true(r->engine.move == 2.0 / 3 && r->engine.run_s == 1.0 / 3 && r->engine.trial == 1.1);
    hps_mem_free(text);
    hps_mem_free(again);
    hps_profile_free(p);
    hps_profile_free(q);
    hps_profile_free(r);
}

static void a_limit_may_be_max(void **state)
{
    struct hps_profile *p = make_profile(2, 2, 1, 4, 0), *q;

    (void)state;
    p->throughput_limit = INFINITY;
    char *text = hps_profile_text(p);
    assert_non_null(strstr(text, "\"throughput_limit\": \"max\""));
    assert_int_equal(hps_profile_parse(&q, "text", text, strlen(text)), HPS_OK);
    assert_true(isinf(q->throughput_limit));
    hps_mem_free(text);
    hps_profile_free(p);
    hps_profile_free(q);
}

static const char head[] = "{\"format\": \"heterps-profile-1\", \"batch\": 512, "
                           "\"examples\": 1000, "
                           "\"epochs\": 0.5, \"throughput_limit\": 0, \"more\": [1], ";
static const char types[] =
    "\"types\": [{\"name\": \"cpu\", \"price_usd_hour\": 0.04, \"limit\": 480}], ";
static const char layers[] =
    "\"layers\": [{\"name\": \"a\", \"type\": \"fc\", \"input_bytes\": 1, \"weight_bytes\": 2, "
    "\"oct\": [1], \"alpha\": [1], \"sync\": [0], \"beta\": [0], \"recv\": [0], \"send\": [0]}]}";

/* The smallest profile with one text changed. */
static enum hps_status parse(const char *from, const char *to)
{
    char *text = hps_mem_print("%s%s%s", head, types, layers), *at = strstr(text, from);
    struct hps_profile *p;

    assert_non_null(at);
    char *changed = hps_mem_print("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    enum hps_status s = hps_profile_parse(&p, "changed", changed, strlen(changed));
    assert_int_equal(s == HPS_OK, p != NULL);
    hps_profile_free(p);
    hps_mem_free(text);
    hps_mem_free(changed);
    return s;
}

/* What to replace by what, so that the profile has this engine. */
#define ENGINE(batch, m, read, micro, step)                                                       \
    "\"more\": [1]", "\"engine\": {\"batch\": " batch ", \"microbatches\": " m                     \
    ", \"read_s\": " read ", \"micro_s\": " micro ", \"step_s\": " step "}"

/* The same: its layer has this sample. */
#define TIER(rows, asked, seen, hits)                                                             \
    "\"oct\": [1]", "\"oct\": [1], \"tier\": {\"rows\": " rows ", \"asked\": " asked               \
    ", \"steps\": 64, \"distinct\": [" seen ", 7, 6, 5, 4, 3, 3], \"hits\": [1, " hits             \
    ", 0.4, 0.3, 0.2, 0.1, 0], \"later_hits\": [1, 1, 1, 1, 1, 1, 1], \"first_hits\": "            \
    "[1, 0, 0, 0, 0, 0, 0], \"take\": [1e-8]}"

static void optional_keys_may_be_absent(void **state)
{
    (void)state;
    assert_int_equal(parse("{", "{"), HPS_OK);
    assert_int_equal(parse("\"limit\": 480", "\"limit\": 480, \"kind\": \"gpu\""), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"servers\": {\"type\": 0, \"units\": 480}"), HPS_OK);
    assert_int_equal(parse("480", "480.0"), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"servers\": {\"auto\": true}"), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"servers\": {\"auto\": true, \"type\": 0}"), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"workers\": 480"), HPS_OK);
    assert_int_equal(parse("\"oct\": [1]", "\"oct\": [1], \"serve\": [1e-3]"), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"engine\": null"), HPS_OK);
    assert_int_equal(parse(ENGINE("64", "4", "[0]", "[0]", "[0], \"unsure\": [0.99]")), HPS_OK);
    assert_int_equal(parse(ENGINE("64", "4", "[0]", "[0]", "[0], \"trial\": 0.9")), HPS_OK);
    assert_int_equal(parse(TIER("9", "3", "8", "0.5")), HPS_OK);
    assert_int_equal(parse("\"more\": [1]", "\"tier\": {\"memory_bytes\": 8}"), HPS_OK);
}

static const char *const wrong[][2] = {
    { TIER("-9", "3", "8", "0.5") },
    { TIER("9", "0", "8", "0.5") },
    { TIER("9", "10", "8", "0.5") },
    { TIER("9", "3", "10", "0.5") },
    { TIER("9", "3", "6", "0.5") },
    { TIER("9", "3", "8", "1.5") },
    { TIER("9", "3", "8", "0.3") },
    { TIER("9", "3", "8, 8", "0.5") },
    { "\"oct\": [1]", "\"oct\": [1], \"tier\": {\"with\": 0}" },
    { "\"oct\": [1]", "\"oct\": [1], \"tier\": 3" },
    { "\"more\": [1]", "\"tier\": {\"memory_bytes\": -8}" },
    { "\"more\": [1]", "\"tier\": {\"memory_bytes\": 8, \"reads_s\": [-1]}" },
    { ENGINE("-1", "4", "[0]", "[0]", "[0]") },
    { ENGINE("64", "0", "[0]", "[0]", "[0]") },
    { ENGINE("64", "4", "[-1]", "[0]", "[0]") },
    { ENGINE("64", "4", "[0]", "[]", "[0]") },
    { ENGINE("64", "4", "[0]", "[0]", "[-1]") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"unsure\": [-0.1]") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"unsure\": [1]") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"unsure\": [0, 0]") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"run_s\": -1") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"move\": -1") },
    { ENGINE("64", "4", "[0]", "[0]", "[0], \"trial\": -1") },
    { "\"more\": [1]", "\"engine\": 4" },
    { "\"oct\": [1]", "\"oct\": [1], \"forward\": [-1]" },
    { "\"oct\": [1]", "\"oct\": [1], \"once\": [1, 1]" },
    { "\"oct\": [1]", "\"oct\": [1], \"serve\": [-1]" },
    { "\"oct\": [1]", "\"oct\": [1], \"serve\": [1, 1]" },
    { "\"limit\": 480}], ",
      "\"limit\": 480, \"kind\": \"gpu\"}], \"servers\": {\"auto\": true}, " },
    { "\"limit\": 480}], ",
      "\"limit\": 480, \"kind\": \"gpu\"}], \"servers\": {\"type\": 0, \"units\": 1}, " },
    { "heterps-profile-1", "heterps-plan-1" },
    { "{", "[" },
    { "512", "NaN" },
    { "512", "1e999" },
    { "512", "\"512\"" },
    { "512", "-1" },
    { "512", "0" },
    { "\"batch\": 512, ", "" },
    { "\"batch\": 512, ", "\"batch\": 512, \"batch\": 512, " },
    { "1000", "-1000" },
    { "0.5", "0" },
    { "\"throughput_limit\": 0", "\"throughput_limit\": -1" },
    { "\"throughput_limit\": 0", "\"throughput_limit\": \"most\"" },
    { "\"throughput_limit\": 0", "\"throughput_limit\": null" },
    { "\"more\": [1]", "\"servers\": {\"auto\": true, \"units\": 1}" },
    { "\"more\": [1]", "\"servers\": {\"auto\": true, \"type\": 9}" },
    { "\"more\": [1]", "\"servers\": {\"auto\": true, \"type\": -1}" },
    { "\"more\": [1]", "\"servers\": {\"auto\": false}" },
    { "\"more\": [1]", "\"servers\": {\"type\": 0}" },
    { "\"more\": [1]", "\"servers\": {\"auto\": true, \"type\": \"cpu\"}" },
    { "\"more\": [1]", "\"workers\": 0" },
    { "\"more\": [1]", "\"workers\": -2" },
    { "\"more\": [1]", "\"workers\": 2.5" },
    { "\"more\": [1]", "\"workers\": \"2\"" },
    { "\"more\": [1]", "\"workers\": null" },
    { "\"more\": [1]", "\"workers\": 1e18" },
    { "0.04", "-0.04" },
    { "480", "0" },
    { "480", "2.5" },
    { "480", "1e300" },
    { "\"limit\": 480", "\"limit\": 480, \"kind\": \"fpga\"" },
    { "\"limit\": 480", "\"limit\": 480, \"memory_bytes\": -1" },
    { "[{\"name\": \"cpu\"", "[4, {\"name\": \"cpu\"" },
    { "\"name\": \"cpu\"", "\"name\": 4" },
    { "\"cpu\"", "\"a name of more than sixty-three bytes: it would not fit into the row\"" },
    { "\"oct\": [1]", "\"oct\": [0]" },
    { "\"oct\": [1]", "\"oct\": [1, 1]" },
    { "\"oct\": [1]", "\"oct\": []" },
    { "\"oct\": [1]", "\"oct\": 1" },
    { "\"oct\": [1]", "\"oct\": [\"1\"]" },
    { "\"oct\": [1]", "\"oct\": [-1]" },
    { "\"alpha\": [1]", "\"alpha\": [1.0000001]" },
    { "\"alpha\": [1]", "\"alpha\": [-0.1]" },
    { "\"beta\": [0]", "\"beta\": [2]" },
    { "\"sync\": [0]", "\"sync\": [-2]" },
    { "\"recv\": [0], ", "" },
    { "\"send\": [0]", "\"send\": [null]" },
    { "\"weight_bytes\": 2", "\"weight_bytes\": -2" },
    { "\"weight_bytes\": 2", "\"weight_bytes\": 2, \"state_bytes\": \"2\"" },
    { "\"more\": [1]", "\"servers\": {\"type\": 1, \"units\": 1}" },
    { "\"more\": [1]", "\"servers\": {\"type\": 0, \"units\": -1}" },
    { "\"more\": [1]", "\"servers\": {\"type\": 0, \"units\": 481}" },
    { "\"more\": [1]", "\"servers\": [0, 1]" },
    { "}]}", "}]" },
    { "}]}", "}]} x" },
};

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    for (size_t a = 0; a < sizeof wrong / sizeof *wrong; a++)
        if (parse(wrong[a][0], wrong[a][1]) != HPS_DECK)
            fail_msg("accepted: %s instead of %s", wrong[a][1], wrong[a][0]);
    assert_int_equal(parse(types, "\"types\": [], "), HPS_DECK);
    assert_int_equal(parse(types, ""), HPS_DECK);
    char *twice = hps_mem_print("%.*s, %s", (int)strlen(types) - 3, types, types + 10);
    assert_int_equal(parse(types, twice), HPS_DECK);    /* two types of one name */
    hps_mem_free(twice);
    assert_int_equal(parse(layers, "\"layers\": []}"), HPS_DECK);
}

static void files_that_are_not_there(void **state)
{
    struct hps_profile *p;

    (void)state;
    assert_int_equal(hps_profile_load(&p, "no/such/file.json"), HPS_INPUT);
    assert_int_equal(hps_profile_load(&p, "/"), HPS_INPUT);
    assert_null(p);
    p = make_profile(3, 2, 2, 3, 0);
    assert_int_equal(hps_profile_save(p, "no/such/file.json"), HPS_OUTPUT);
    assert_int_equal(hps_profile_save(p, "/dev/full"), HPS_OUTPUT);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_again_is_the_same),
        cmocka_unit_test(a_limit_may_be_max),
        cmocka_unit_test(optional_keys_may_be_absent),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(files_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
