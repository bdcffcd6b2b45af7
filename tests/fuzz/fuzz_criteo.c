/* fuzz_criteo: any bytes, packed or not, are lines of Criteo's form or are refused. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hps_import_opt opt = fuzz_options();

    fuzz_import("criteo", &opt, data, size);
    return 0;
}
