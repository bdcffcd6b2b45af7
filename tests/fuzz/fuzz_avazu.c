/* fuzz_avazu: any bytes are lines of Avazu's form or are refused, with a split by the hour. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hps_import_opt opt = fuzz_options();

    opt.test_output = fuzz_test_output();
    opt.split = "hour";
    fuzz_import("avazu", &opt, data, size);
    return 0;
}
