/* fake_gpu.c - a driver with two devices, or HPS_FAKE_GPUS of them, to stand where a machine has
 * none. HPS_FAKE_ALIKE=1: all of one model. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
static int model_of(int device)
{
    const char *word = getenv("HPS_FAKE_ALIKE");
    return word && *word == '1' ? 40 : device;
}

int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *text, int size, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int which, int device);
int cuDeviceGetUuid_v2(unsigned char id[16], int device);

int cuInit(unsigned flags)
{
    return flags != 0;
}

int cuDeviceGetCount(int *n)
{
    const char *word = getenv("HPS_FAKE_GPUS");

    *n = word ? atoi(word) : 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = 40 + ordinal;
    return ordinal < 0 || ordinal > 15;
}

int cuDeviceGetName(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "Fake GPU %d", model_of(device) - 40);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(model_of(device) - 39) << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    *value = which == 16 ? model_of(device) : -1;
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char id[16], int device)
{
    for (int i = 0; i < 16; i++)
        id[i] = (unsigned char)device;
    return 0;
}
