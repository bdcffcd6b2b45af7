/* t_import_csv: what delimited text must not be taken for something else: another kind of file, a
 * share that was promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "imported.h"

static void expect_refusal(const struct hps_import_opt *opt, const char *format, const char *why)
{
    if (import(format, opt, NULL) != HPS_DECK || !strstr(said, why) ||
        strchr(said, '\n') != strrchr(said, '\n'))
        fail_msg("'%s' was not said, but: %s", why, said);
    expect_nothing_left();
}

static void put_bytes(const char *bytes, size_t n)
{
    FILE *f = fopen("in.txt", "wb");

    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}
#define PUT_BYTES(text) put_bytes(text, sizeof text - 1)

/* What is no delimited text in UTF-8 is told by what it looks like, and what to do. */
static void test_looks(void **state)
{
    const struct hps_import_opt opt = defaults();

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    PUT_BYTES("\xff\xfe" "y\0,\0a\0\n\0");
    expect_refusal(&opt, "csv", "in.txt: this looks like UTF-16, wanted is text in UTF-8: unpack "
                   "or convert it first (iconv -f UTF-16 -t UTF-8)");
    expect_refusal(&opt, "criteo", "looks like UTF-16,");
    PUT_BYTES("y\0,\0a\0\n\0");
    expect_refusal(&opt, "csv", "UTF-16 without its mark");
    PUT_BYTES("\0y\0,\0a\0\n");
    expect_refusal(&opt, "libsvm", "iconv -f UTF-16BE");
    PUT_BYTES("\xff\xfe\0\0y\0\0\0");
    expect_refusal(&opt, "csv", "looks like UTF-32");
    PUT_BYTES("y,a\n1,\0");
    expect_refusal(&opt, "csv", "zero bytes");
    PUT_BYTES("\x28\xb5\x2f\xfd 1234");
    expect_refusal(&opt, "csv", "(zstd -dc)");
    put("in.txt", "y,a\r1,2\r0,3\r");
    expect_refusal(&opt, "csv", "in.txt:1: its lines end in \\r alone: make \\n of it");
    expect_refusal(&opt, "slot", "its lines end in \\r alone");
    put("in.txt", "y;a\n1;2\n");
    expect_refusal(&opt, "csv", "there is no column 'y': its only column is 'y;a'; separated by ;? "
                   "(in the schema, text: {delimiter: \";\"})");
    put("in.txt", "y\ta\n1\t2\n");
    expect_refusal(&opt, "csv", "text: {delimiter: \"tab\"}");
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: price, dense: none}\n");
    put("in.txt", "y,b,pirce\n1,2,3\n");
    expect_refusal(&opt, "csv", "there is no column 'price', did you mean 'pirce'?");
    put("s.yaml", "text: {header: false, names: [y, a]}\nlabel: {column: y}\ncolumns:\n"
                  "  - {column: a, dense: none}\n");
    put("in.txt", "1|2\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "1 columns instead of 2 (separated by |? see text.delimiter)"));
    put("in.txt", "1,2\r\n0,3\r");                    /* nothing of this is CR alone */
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "label", 0, 2, (double[]){ 1, 0 });
    unlink("o.h5");
}

/* Without a section `split`, and without a share, --split has its promised fifth of the rows. */
static void test_promised_share(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[1200] = "y,a\n";

    (void)state;
    for (int i = 0; i < 100; i++)
        sprintf(text + strlen(text), "%d,%d\n", i % 2, i);
    put("in.txt", text);
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    opt.test_output = "t.h5";
    opt.split = "random";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_true(r.test_rows > 8 && r.test_rows < 32);   /* 20, and three times its deviation */
    opt.split = "a";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.test_rows, 20);
    opt.split = "";
    unlink("o.h5");
    unlink("t.h5");
    expect_refusal(&opt, "csv", "there is no section 'split'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_promised_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
