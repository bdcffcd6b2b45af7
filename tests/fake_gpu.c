/* fake_gpu.c - a driver with two devices, or HPS_FAKE_GPUS of them, to stand where a machine has
 * none. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
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
    return ordinal < 0 || ordinal > 1;
}

int cuDeviceGetName(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "Fake GPU %d", device - 40);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device - 39) << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    *value = which == 16 ? device : -1;
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char id[16], int device)
{
    for (int i = 0; i < 16; i++)
        id[i] = (unsigned char)device;
    return 0;
}
