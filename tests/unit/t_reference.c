/* t_reference: what is printed of a table of fields is a deck that binds to the defaults; as a
 * manual page it says the same, and nothing in it is a word of roff's. */
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

/* The reference of a section with these fields, and the head of a group, in this form. */
static void print_reference(enum hps_deck_form form, char *text, size_t size)
{
    char path[] = "/tmp/t_reference.XXXXXX";
    int file = mkstemp(path), out = dup(STDOUT_FILENO);

    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    hps_deck_print_section(form, "run", NULL);
    hps_deck_print_table(form, false, fields);
    hps_deck_print_group(form, "type: a-b", ".of rows");
    assert_int_equal(hps_out_flush(), HPS_OK);
    dup2(out, STDOUT_FILENO);
    close(out);
    ssize_t n = pread(file, text, size - 1, 0);
    assert_true(n > 0);
    close(file);
    unlink(path);
    text[n] = '\0';
}

static void test_deck(void **state)
{
    char text[4096];
    struct hps_deck *deck;
    const struct hps_item *run;
    struct opt o;

    (void)state;
    print_reference(HPS_DECK_YAML, text, sizeof text - 16);
    assert_non_null(strstr(text, "run:\n  steps: 3           # to run (whole number, 0 to 1000"));
    assert_non_null(strstr(text, "\n  rate: 0.05         # of learning (number, 0 to 10 1/s)\n"));
    assert_non_null(strstr(text, "\n  method: rl         # how to search (rl|exact|single:)\n"));
    assert_non_null(strstr(text, "\n  # name:            # of the run (text, must be given)\n"));
    assert_non_null(strstr(text, "\n  # type: a-b  (.of rows)\n"));
    strcat(text, "  name: x\n");
    assert_int_equal(hps_deck_parse(&deck, "a.yaml", text, strlen(text), 0, NULL), HPS_OK);
    assert_int_equal(hps_deck_map(deck, "run", &run), HPS_OK);
    assert_int_equal(hps_deck_bind(deck, run, fields, NULL, NULL, &o), HPS_OK);
    assert_int_equal(o.steps, 3);
    assert_true(isinf(o.limit));
    assert_int_equal(o.slots.n, 2);
    assert_int_equal(o.inputs.n, 0);
    hps_deck_free(deck);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_man(void **state)
{
    char text[4096];

    (void)state;
    print_reference(HPS_DECK_MAN, text, sizeof text);
    assert_non_null(strstr(text, ".SS run\n.TP\n\\fBsteps\\fR: 3\nto run (whole number, 0 to "));
    assert_non_null(strstr(text, "\n.TP\n\\fBname\\fR\nof the run (text, must be given)\n"));
    assert_non_null(strstr(text, "how to search (rl|\\:exact|\\:single:)\n"));
    assert_non_null(strstr(text, "\n.PP\n\\fBtype: a\\-b\\fR\n\\&.of rows\n"));
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_deck), cmocka_unit_test(test_man) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
