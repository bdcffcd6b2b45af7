/* fuzz_csv: any bytes are delimited text or are refused, under schemas with all there is: joins,
 * splits, dates, every kind of column and scaling. The first byte chooses; the text before a zero
 * byte is the joined file. */
#include <string.h>

#include "fuzz_import.h"

#define COLUMNS                                                                                    \
    "columns:\n  - {column: a, dense: zscore}\n  - {column: b, dense: log1p+minmax}\n"             \
    "  - {column: c, category: {index: 3}}\n  - {column: d, category: {hash: 10}}\n"               \
    "  - {column: e, multi: {separator: '|', index: 4}}\n"                                         \
    "  - {column: f, multi: {separator: '::', hash: 5}}\n"

static const char *const schemas[] = {
    "label: {column: y}\ntext: {missing: ['?', na]}\n" COLUMNS "split: {by: file, share: 0.3}\n",
    "label: {column: y, at_least: 1}\ntext: {delimiter: tab, header: false, names: "
    "[y, a, b, c, d, e, f, g]}\n" COLUMNS "split: {by: g, share: 0.5}\n",
    "label: {column: y, equals: [x, '1']}\n" COLUMNS "split: {by: a, share: 0.2}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, time: iso, category: hour}\n"
    "  - {column: a, time: iso, since: 2014-10-21, dense: zscore}\n"
    "  - {column: b, time: '%a %d/%b/%y %I:%M:%S.%f %p%z', category: yearday}\n"
    "split: {by: a, share: 0.5}\n",
};

enum { SCHEMAS = sizeof schemas / sizeof *schemas };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hps_import_opt opt = fuzz_options();
    char schema[4096];
    size_t n, joined = 0;
    const uint8_t *zero;

    if (size == 0)
        return 0;
    n = *data++ % (2 * SCHEMAS);
    size--;
    strcpy(schema, schemas[n % SCHEMAS]);
    zero = memchr(data, 0, size);
    if (zero && n % SCHEMAS != 1) {
        joined = (size_t)(zero - data) + 1;
        strcat(schema, "join: {file: ");
        strcat(schema, fuzz_file("join.csv", data, joined - 1));
        strcat(schema, ", on: y, key: k}\n");
    }
    opt.schema = fuzz_file("schema", (const uint8_t *)schema, strlen(schema));
    if (n >= SCHEMAS)
        opt.test_output = fuzz_test_output();
    strcpy(schema, opt.schema);                         /* the next file's name takes its place */
    opt.schema = schema;
    fuzz_import("csv", &opt, data + joined, size - joined);
    return 0;
}
