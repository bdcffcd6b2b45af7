/* nvml.c - libnvidia-ml.so.1, opened at run time by the names and numbers of its ABI. */
#include "hw/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bind.h"
#include "base/mem.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };        /* NVML_CLOCK_SM, NVML_CLOCK_MEM */

/* All return 0 on success. The functions after `device` may be missing. */
struct hps_nvml {
    void *library, *device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *uuid, void **device);
    int (*driver)(char *text, unsigned size);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*generation)(void *device, unsigned *n);
    int (*width)(void *device, unsigned *n);
    int (*limit)(void *device, unsigned *milliwatts);
    int (*ecc)(void *device, int *now, int *later);
    int (*energy)(void *device, unsigned long long *millijoules);
};

static bool open_library(struct hps_nvml *m)
{
    m->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    return m->library && hps_bind(m->library, &m->init, "nvmlInit_v2") &&
           hps_bind(m->library, &m->shutdown, "nvmlShutdown") &&
           hps_bind(m->library, &m->find, "nvmlDeviceGetHandleByUUID");
}

static void bind_facts(struct hps_nvml *m)
{
    hps_bind(m->library, &m->driver, "nvmlSystemGetDriverVersion");
    hps_bind(m->library, &m->clock, "nvmlDeviceGetMaxClockInfo");
    hps_bind(m->library, &m->generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    hps_bind(m->library, &m->width, "nvmlDeviceGetMaxPcieLinkWidth");
    hps_bind(m->library, &m->limit, "nvmlDeviceGetEnforcedPowerLimit");
    hps_bind(m->library, &m->ecc, "nvmlDeviceGetEccMode");
    hps_bind(m->library, &m->energy, "nvmlDeviceGetTotalEnergyConsumption");
}

/* "GPU-" and 16 bytes in hexadecimal, with a dash before the 4th, 6th, 8th and 10th. */
static void name_of(const unsigned char uuid[16], char name[64])
{
    int n = snprintf(name, 64, "GPU-");

    for (int i = 0; i < 16; i++)
        n += snprintf(name + n, (size_t)(64 - n), "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

struct hps_nvml *hps_nvml_open(const unsigned char uuid[16])
{
    struct hps_nvml *m = hps_mem_new(1, sizeof *m);
    char name[64];

    name_of(uuid, name);
    if (open_library(m) && m->init() == 0) {
        bind_facts(m);
        if (m->find(name, &m->device) == 0) return m;
        m->shutdown();
    }
    if (m->library) dlclose(m->library);
    hps_mem_free(m);
    return NULL;
}

void hps_nvml_close(struct hps_nvml *m)
{
    if (!m) return;
    m->shutdown();
    dlclose(m->library);
    hps_mem_free(m);
}

/* The result of a function of one number; 0: unknown. */
static int number_of(const struct hps_nvml *m, int (*function)(void *device, unsigned *n))
{
    unsigned n = 0;

    return function && function(m->device, &n) == 0 ? (int)n : 0;
}

static int clock_mhz(const struct hps_nvml *m, int which)
{
    unsigned mhz = 0;

    return m->clock && m->clock(m->device, which, &mhz) == 0 ? (int)mhz : 0;
}

void hps_nvml_facts(const struct hps_nvml *m, struct hps_nvml_facts *f)
{
    char driver[128] = "";              /* NVML asks for 80 */
    int now = 0, later = 0;

    if (!m) return;
    if (m->driver && m->driver(driver, sizeof driver) == 0)
        snprintf(f->driver, sizeof f->driver, "%.*s", HPS_NVML_TEXT - 1, driver);
    f->sm_mhz = clock_mhz(m, CLOCK_SM);
    f->memory_mhz = clock_mhz(m, CLOCK_MEMORY);
    f->pcie_generation = number_of(m, m->generation);
    f->pcie_width = number_of(m, m->width);
    f->power_limit_w = number_of(m, m->limit) / 1e3;
    if (m->ecc && m->ecc(m->device, &now, &later) == 0)
        f->ecc = now ? HPS_NVML_ECC_ON : HPS_NVML_ECC_OFF;
}

double hps_nvml_joules(const struct hps_nvml *m)
{
    unsigned long long millijoules = 0;

    return m && m->energy && m->energy(m->device, &millijoules) == 0 ? 1e-3 * (double)millijoules
                                                                    : NAN;
}
