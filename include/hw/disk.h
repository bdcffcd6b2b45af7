/* disk.h - how many places of a file a disk reads in a second, as rows in files are read: many at
 * once (base/deep_read.h). */
#ifndef HPS_HW_DISK_H
#define HPS_HW_DISK_H

/* Reads of 4 KiB a second, at random, from a new file of 64 MiB in the directory, without the page
 * cache where the file system can do so; for 50 ms, after the file was written. Nothing is left
 * of it. 0: no file can be written there, which is not said. Local; ranks of one host that call it
 * together share the disk as they do in a training. */
double hps_disk_reads_s(const char *directory);

#endif
