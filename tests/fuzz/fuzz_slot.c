/* fuzz_slot: any bytes, packed or not, are slot text or are refused; the random split. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hps_import_opt opt = fuzz_options();

    opt.test_output = fuzz_test_output();
    opt.split = "random";
    fuzz_import("slot", &opt, data, size);
    return 0;
}
