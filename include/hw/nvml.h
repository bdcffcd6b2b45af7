/* nvml.h - what NVIDIA's management library (NVML) knows of a GPU. It is found at run time: a
 * program built without CUDA asks it too. No library, an old one that lacks a function, a call that
 * fails: what it would have told is not known, and nothing is said. */
#ifndef HPS_HW_NVML_H
#define HPS_HW_NVML_H

#define HPS_NVML_TEXT 32

struct hps_nvml_facts {         /* plain data that travels as bytes; "" and 0: not known       */
    char driver[HPS_NVML_TEXT]; /* its version                                                 */
    int sm_mhz, memory_mhz;     /* the highest clocks                                          */
    int pcie_generation, pcie_width;    /* the most that card and slot can                     */
    double power_limit_w;       /* that is enforced                                            */
    enum { HPS_NVML_ECC_UNKNOWN, HPS_NVML_ECC_OFF, HPS_NVML_ECC_ON } ecc;
};

struct hps_nvml;                /* a GPU as the library knows it */

/* The GPU of that UUID, as the driver tells it. NULL: it cannot be asked; the others take that.
 * Starting the library may take 0.1 s. Local, as all are. */
struct hps_nvml *hps_nvml_open(const unsigned char uuid[16]);
void hps_nvml_close(struct hps_nvml *nvml);

/* Fills in what is known; the rest of *facts stays. */
void hps_nvml_facts(const struct hps_nvml *nvml, struct hps_nvml_facts *facts);

/* Used by the card since its driver was loaded; NaN: not known. */
double hps_nvml_joules(const struct hps_nvml *nvml);

#endif
