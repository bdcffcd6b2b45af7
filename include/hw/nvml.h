/* nvml.h - facts of a GPU from NVIDIA's management library (NVML). The library is opened at run
 * time, so that a program built without CUDA can ask it too. Where it is missing, lacks a function
 * or a call fails, the fact stays unknown without a message. */
#ifndef HPS_HW_NVML_H
#define HPS_HW_NVML_H

#define HPS_NVML_TEXT 32

struct hps_nvml_facts {         /* plain data that travels as bytes; "" and 0: not known       */
    char driver[HPS_NVML_TEXT]; /* version                                                     */
    int sm_mhz, memory_mhz;     /* the highest clocks                                          */
    int pcie_generation, pcie_width;    /* the highest of GPU and slot                         */
    double power_limit_w;       /* the enforced one                                            */
    enum { HPS_NVML_ECC_UNKNOWN, HPS_NVML_ECC_OFF, HPS_NVML_ECC_ON } ecc;
};

struct hps_nvml;                /* a handle of a GPU */

/* Open the GPU with that UUID. NULL: the library or the GPU is missing; the other functions accept
 * it. Starting the library may take 0.1 s. All are Local. */
struct hps_nvml *hps_nvml_open(const unsigned char uuid[16]);
void hps_nvml_close(struct hps_nvml *nvml);

/* Fill in what is known; the rest of *facts is unchanged. */
void hps_nvml_facts(const struct hps_nvml *nvml, struct hps_nvml_facts *facts);

/* Energy used by the GPU since its driver was loaded; NaN: not known. */
double hps_nvml_joules(const struct hps_nvml *nvml);

#endif
