/* fuzz_import.h - what the targets of the importers share: any bytes are imported or refused; what
 * is written is a whole dataset whose every row can be read; nothing is left of what is refused. */
#ifndef HPS_TESTS_FUZZ_IMPORT_H
#define HPS_TESTS_FUZZ_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "data/import.h"

/* Options with which everything is tried; output in a scratch folder of the process. */
struct hps_import_opt fuzz_options(void);

const char *fuzz_test_output(void);     /* in the same folder */

/* Import the bytes as the one input, then read the datasets back. */
void fuzz_import(const char *format, const struct hps_import_opt *opt, const uint8_t *data,
                 size_t size);

/* A file of those bytes in the scratch folder. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);

/* Read every row of a dataset; what the reader refuses is fine when `may_refuse`. */
void fuzz_read(const char *path, int may_refuse);

#endif
