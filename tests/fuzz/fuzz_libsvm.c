/* fuzz_libsvm: any bytes, packed or not, are lines of libsvm or are refused. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hps_import_opt opt = fuzz_options();

    fuzz_import("libsvm", &opt, data, size);
    return 0;
}
