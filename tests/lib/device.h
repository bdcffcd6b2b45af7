/* device.h - which backend a test is about. */
#ifndef HPS_TESTS_DEVICE_H
#define HPS_TESTS_DEVICE_H

#include "hw/dev.h"

/* The device under test: the CPU backend, or the CUDA backend on its stand-in, to which any memory
 * is a card's. */
#ifdef HPS_TEST_CUDA
extern const struct hps_dev_ops hps_dev_cuda;
#define HPS_TEST_DEV hps_dev_cuda
#define HPS_TEST_THREADS 1
#else
#define HPS_TEST_DEV hps_dev_cpu
#define HPS_TEST_THREADS 3
#endif

#endif
