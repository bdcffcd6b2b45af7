/* nvml_text.h - NVML's facts of a GPU as text and as JSON. */
#ifndef HPS_HW_NVML_TEXT_H
#define HPS_HW_NVML_TEXT_H

#include <jansson.h>

#include "hw/nvml.h"

/* The known facts, "driver 580.65, SMs to 1980 MHz, ...", to free with hps_mem_free; NULL: none is
 * known. Local. */
char *hps_nvml_text(const struct hps_nvml_facts *facts);

/* Add to an object the keys gpu_driver, gpu_sm_mhz, gpu_memory_mhz, gpu_pcie_generation,
 * gpu_pcie_width, gpu_power_limit_w, gpu_ecc (true or false); null: not known. Local. */
void hps_nvml_put(json_t *object, const struct hps_nvml_facts *facts);

#endif
