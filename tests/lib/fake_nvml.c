/* fake_nvml.c - the management library of the devices of fake_gpu.c, to stand where a machine has
 * none. HPS_FAKE_NVML=deaf: what is asked of a device fails; =blind: it knows no device. OLD: as an
 * old driver's, without some of its functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz);
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *n);
int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *n);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts);
int nvmlDeviceGetEccMode(void *device, int *now, int *later);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static char card[16];           /* a device is the address of its place */
static int begun;

static int is(const char *what)
{
    const char *word = getenv("HPS_FAKE_NVML");
    return word && strcmp(word, what) == 0;
}

/* The number of a device that can be asked; -1: none. */
static int number(void *device)
{
    return begun && !is("deaf") ? (int)((char *)device - card) : -1;
}

static int tell(void *device, unsigned value, unsigned *n)
{
    if (number(device) < 0) return NOT_SUPPORTED;
    *n = value;
    return OK;
}

int nvmlInit_v2(void)
{
    begun++;
    return OK;
}

int nvmlShutdown(void)
{
    begun--;
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "580.65.06");
    return begun ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    char name[64];

    for (unsigned i = 0; begun && i < sizeof card && !is("blind"); i++) {
        unsigned two = 257 * (40 + i), four = 65537 * two;
        snprintf(name, sizeof name, "GPU-%08x-%04x-%04x-%04x-%04x%08x", four, two, two, two, two,
                 four);
        if (strcmp(name, uuid) != 0) continue;
        *device = card + i;
        return OK;
    }
    return NOT_FOUND;
}

int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz)
{
    return tell(device, which == 1 ? 1980 : which == 2 ? 3201 : 1, mhz);
}

#ifndef OLD
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *n)
{
    return tell(device, 5, n);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *n)
{
    return tell(device, 16, n);
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    return tell(device, 700500, milliwatts);
}

/* On where the number is even. */
int nvmlDeviceGetEccMode(void *device, int *now, int *later)
{
    if (number(device) < 0) return NOT_SUPPORTED;
    *now = number(device) % 2 == 0;
    *later = !*now;
    return OK;
}

/* Between two questions of a process device 0 takes 5 J, the next 7 J, then 9 J. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    static unsigned long long asked;

    if (number(device) < 0) return NOT_SUPPORTED;
    *millijoules = ++asked * (5000 + 2000 * (unsigned)number(device));
    return OK;
}
#endif
