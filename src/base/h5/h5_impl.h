/* h5_impl.h - what the sources of the room h5 share. */
#ifndef HPS_BASE_H5_H5_IMPL_H
#define HPS_BASE_H5_H5_IMPL_H

#include "base/h5.h"
#include "base/h5_walk.h"

/* The library's own settings, made once. Local. */
void hps_h5_prepare(void);
/* A new list with which a file is opened or created; comm MPI_COMM_NULL: serial. Local. */
hid_t hps_h5_access(MPI_Comm comm);

/* What the library answers (> 0, 0 or < 0) to whether something is there: false, said and kept in
 * h->failed, where it cannot tell. Local. */
bool hps_h5_there(struct hps_h5 *h, htri_t answer);

/* hps_h5_attributes without a word: false where they cannot be listed. Local. */
bool hps_h5_each_attribute(struct hps_h5 *h, const char *object, void *self,
                           void (*each)(void *self, const char *name, const char *text,
                                        bool number));

/* Look through an open file before anything in it is followed: every link, every object, and what
 * this program would read of them (attributes, types, the list of chunks, a first row), but not the
 * data. False, with the reason: a link or a dataset leads out of the file, a dataset has filters,
 * or the objects cannot be listed. What else cannot be read is left to whoever wants it. On a
 * damaged file the library may crash or never end: hps_h5_walk lets a child do this. Local. */
bool hps_h5_survey(hid_t file, char why[HPS_H5_WHY]);

#endif
