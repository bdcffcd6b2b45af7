/* mem.h - counted memory: zeroed, aligned, never NULL, and nothing held at the end. */
#ifndef HPS_BASE_MEM_H
#define HPS_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* `n` elements of `size` bytes, zeroed, 64-byte aligned; n = 0 gives a valid pointer to free.
 * Overflow or no memory ends the run with the size in the message. Large blocks (>= 4 MiB) are
 * 2 MiB aligned and ask for huge pages. Thread safe. Caller frees. Local. */
void *hps_mem_new(size_t n, size_t size);
/* The same, HPS_MEM_PAGE aligned, as direct I/O wants it; mapped by itself, so for long. */
enum { HPS_MEM_PAGE = 4096 };
void *hps_mem_pages(size_t bytes);

/* For how many elements there is to be memory where n are needed and there is some for `cap`: where
 * it does not suffice, for half more, so that appending is linear, and an eighth and a few more
 * than needed, since what steps need varies by some per cent, few by more, and each growth is new
 * memory to touch. Pure. */
size_t hps_mem_room(size_t cap, size_t n);

/* Grow (never shrink) `*p` so that it holds `n` elements; keeps the content; `*cap` is the number
 * held now (hps_mem_room). *p may be NULL with *cap = 0. New part zeroed. `p` is the address of a
 * pointer of any type. Ends the run as hps_mem_new does. Local. */
void hps_mem_grow(void *p, size_t *cap, size_t n, size_t size);

/* Memory for a library that releases it with free(3): neither counted nor zeroed; where there is
 * none, the run ends. Local. */
void *hps_mem_foreign(size_t bytes);

void hps_mem_free(void *p);              /* NULL is fine; not ours or freed before: assert */
char *hps_mem_text(const char *s);       /* a copy of a string, to free */

/* A printed string, to free. */
char *hps_mem_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *hps_mem_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* With the headers of the blocks; large blocks count as the address space that they take. */
size_t hps_mem_held_bytes(void);         /* held now: 0 at the end of a clean run */

#endif
