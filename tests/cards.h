/* cards.h - the GPUs of a test: none, or the stand-in's, as the program would load them. */
#ifndef HPS_TESTS_CARDS_H
#define HPS_TESTS_CARDS_H

#include "hw/dev.h"

/* How a test's ranks compute: `far`: on a CPU as if its memory were elsewhere. The others on
 * stand-in cards (HPS_TEST_CARDS): one each, with NCCL and without; all on the same one. */
enum cards { CARDS_NONE, CARDS_FAR, CARDS_APART, CARDS_FORBIDDEN, CARDS_SHARED };
#ifdef HPS_TEST_CARDS
#define CARDS_FIRST CARDS_APART
#define CARDS_LAST CARDS_SHARED
#else
#define CARDS_FIRST CARDS_NONE
#define CARDS_LAST CARDS_FAR
#endif

/* Open this rank's device; close it with its own close. */
void cards_open(struct hps_dev *dev, enum cards how);

#endif
