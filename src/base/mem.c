/* mem.c - counted memory. In front of each block stands a head that says what was taken. */
#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/quit.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE ((size_t)4 << 20)

struct head {
    _Alignas(64) uint64_t mark;     /* `alive` while the block is ours to free         */
    size_t bytes;                   /* counted: what was taken from the system         */
    void *base;                     /* where it begins; mapped when != the head itself */
};

static const uint64_t alive = 0x686574657270736d;
static atomic_size_t held;

/* Mapped blocks come as untouched zero pages: whoever writes a page first has it near. */
static struct head *take_mapped(size_t bytes, size_t align)
{
    size_t span = bytes + align + sizeof(struct head);
    char *base = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED) return NULL;
    uintptr_t first = (uintptr_t)base + sizeof(struct head);
    uintptr_t block = (first + align - 1) & ~(uintptr_t)(align - 1);
    struct head *h = (struct head *)block - 1;
    *h = (struct head){ alive, span, base };
    return h;
}

static struct head *take_large(size_t bytes)
{
    struct head *h = take_mapped(bytes, HUGE_PAGE);

    if (h) madvise(h + 1, bytes, MADV_HUGEPAGE);        /* a hint: a failure does not matter */
    return h;
}

static struct head *take_small(size_t bytes)
{
    size_t span = sizeof(struct head) + bytes;
    void *base;

    if (posix_memalign(&base, _Alignof(struct head), span) != 0) return NULL;
    memset(base, 0, span);
    struct head *h = base;
    *h = (struct head){ alive, span, base };
    return h;
}

/* The block of a head that was asked for. */
static void *counted(struct head *h, size_t n, size_t size)
{
    if (!h)
        HPS_DIE("no memory for %zu bytes (%zu things of %zu), %zu bytes are held", n * size, n,
                size, hps_mem_held_bytes());
    atomic_fetch_add(&held, h->bytes);
    return h + 1;
}

void *hps_mem_new(size_t n, size_t size)
{
    if (size > 0 && n > (SIZE_MAX / 2) / size)
        HPS_DIE("%zu things of %zu bytes are more than memory can address", n, size);
    size_t bytes = n * size;
    return counted(bytes >= LARGE ? take_large(bytes) : take_small(bytes), n, size);
}

void *hps_mem_pages(size_t bytes)
{
    assert(bytes <= SIZE_MAX / 2);
    return counted(take_mapped(bytes, HPS_MEM_PAGE), bytes, 1);
}

void *hps_mem_foreign(size_t bytes)
{
    void *p = malloc(bytes);

    if (!p)
        HPS_DIE("no memory for %zu bytes of a library, %zu bytes are held", bytes,
                hps_mem_held_bytes());
    return p;
}

void hps_mem_free(void *p)
{
    if (!p) return;
    struct head *h = (struct head *)p - 1;
    assert(h->mark == alive);                           /* not ours, or freed before */
    h->mark = 0;
    atomic_fetch_sub(&held, h->bytes);
    if (h->base == h)
        free(h);
    else if (munmap(h->base, h->bytes) != 0)
        HPS_DIE("munmap of %zu bytes failed", h->bytes);
}

size_t hps_mem_room(size_t cap, size_t n)
{
    const size_t few = 64;              /* of which a step may need twice as many */
    size_t more = cap + cap / 2, enough = n + n / 8 + few;

    return n <= cap ? cap : more > enough ? more : enough;
}

void hps_mem_grow(void *p, size_t *cap, size_t n, size_t size)
{
    void *old, *new;
    size_t want = hps_mem_room(*cap, n);

    if (n <= *cap) return;
    memcpy(&old, p, sizeof old);                        /* *p is a pointer to any type */
    new = hps_mem_new(want, size);
    if (old) memcpy(new, old, *cap * size);
    hps_mem_free(old);
    memcpy(p, &new, sizeof new);
    *cap = want;
}

char *hps_mem_text(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(hps_mem_new(n, 1), s, n);
}

char *hps_mem_vprint(const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    assert(n >= 0);
    char *text = hps_mem_new((size_t)n + 1, 1);
    vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *hps_mem_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = hps_mem_vprint(format, args);
    va_end(args);
    return text;
}

size_t hps_mem_held_bytes(void)
{
    return atomic_load(&held);
}
