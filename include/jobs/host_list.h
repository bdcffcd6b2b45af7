/* host_list.h - names of nodes as batch systems write them: "n[0-15,20],m[008-011]-ib". */
#ifndef HPS_JOBS_HOST_LIST_H
#define HPS_JOBS_HOST_LIST_H

/* The names that a text stands for, in its order: names with commas between them, of which each
 * may have ranges in brackets, which keep their zeros in front. Returns how many, the names in
 * *name (to free each, and the list, with hps_mem_free); -1 where it is none, or stands for more
 * than `max`: *name is NULL then, and *why (may be NULL) says why. Pure. */
int hps_host_list(const char *text, int max, char ***name, const char **why);

#endif
