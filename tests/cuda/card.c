/* card.c - on a real card: tests hand an operation memory of their own, as they do to the stand-in,
 * to which any memory is a card's. So the blocks of base/mem.h come from memory that the card
 * addresses as well, and the program's variables, constants and stack are registered with it. To be
 * linked with --wrap for the four calls below. Without a GPU the program is skipped. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA ((size_t)768 << 20)
#define STACK ((size_t)512 << 10)       /* of the main thread: what tests may use of it */
#define NCLASS 40                       /* block sizes are powers of two                */

/* Ahead of each block; as long as the alignment that is asked for. */
struct head {
    _Alignas(64) struct head *next;     /* free ones of its size */
    int size_class;
};

static char *arena, *end;               /* NULL: the card reads any memory by itself */
static size_t used;
static struct head *unused[NCLASS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int __real_posix_memalign(void **p, size_t align, size_t bytes);
void __real_free(void *p);
void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t bytes);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t bytes);

/* NULL: the arena is full. */
static void *take(size_t bytes)
{
    int size_class = 7;

    while (((size_t)1 << size_class) < bytes + sizeof(struct head))
        size_class++;
    size_t span = (size_t)1 << size_class;
    pthread_mutex_lock(&lock);
    struct head *h = unused[size_class];
    if (h) {
        unused[size_class] = h->next;
    } else if (span <= ARENA - used) {
        h = (struct head *)(arena + used);
        used += span;
        h->size_class = size_class;
    }
    pthread_mutex_unlock(&lock);
    return h ? h + 1 : NULL;
}

static void give(void *p)
{
    struct head *h = (struct head *)p - 1;

    pthread_mutex_lock(&lock);
    h->next = unused[h->size_class];
    unused[h->size_class] = h;
    pthread_mutex_unlock(&lock);
}

static int is_ours(const void *p)
{
    return arena && (const char *)p >= arena && (const char *)p < end;
}

int __wrap_posix_memalign(void **p, size_t align, size_t bytes)
{
    void *block = arena && align <= sizeof(struct head) ? take(bytes) : NULL;

    if (!block) return __real_posix_memalign(p, align, bytes);
    *p = block;
    return 0;
}

void __wrap_free(void *p)
{
    if (is_ours(p))
        give(p);
    else
        __real_free(p);
}

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    void *block = arena && !at && (flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) ? take(bytes)
                                                                                   : NULL;

    return block ? memset(block, 0, bytes) : __real_mmap(at, bytes, prot, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t bytes)
{
    if (!is_ours(at)) return __real_munmap(at, bytes);
    give(at);
    return 0;
}

/* Pages of a file are the program's own once they are written. */
static void own_pages(char *first, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096) {
        volatile char *page = first + i;
        *page = *page;
    }
}

static void let_read(char *first, size_t bytes, const char *what)
{
    cudaError_t e = cudaHostRegister(first, bytes, cudaHostRegisterDefault);

    if (e == cudaSuccess) return;
    fprintf(stderr, "card: %s of the test cannot be registered: %s\n", what,
            cudaGetErrorString(e));
    (void)cudaGetLastError();
}

/* Variables and constants of the program itself, and the stack from here on. */
static void let_read_program(void)
{
    char line[512], self[256] = "", prot[8], name[256];
    void *first, *last;
    char on_stack[STACK], *before = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");

    memset(on_stack, 0, sizeof on_stack);
    if (!maps || readlink("/proc/self/exe", self, sizeof self - 1) < 0) return;
    while (fgets(line, sizeof line, maps)) {
        name[0] = 0;
        if (sscanf(line, "%p-%p %7s %*s %*s %*s %255s", &first, &last, prot, name) < 3) continue;
        size_t bytes = (size_t)((char *)last - (char *)first);
        int variables = strcmp(name, self) == 0 && !strchr(prot, 'x');
        int zeros = !name[0] && before == first && prot[1] == 'w';  /* behind the variables */
        if (variables || zeros) {
            if (prot[1] != 'w') mprotect(first, bytes, PROT_READ | PROT_WRITE);
            own_pages(first, bytes);
            let_read(first, bytes, "variables");
        } else if (strcmp(name, "[stack]") == 0) {
            char *from = (char *)((uintptr_t)on_stack / 4096 * 4096);
            let_read(from, (size_t)((char *)last - from), "the stack");
        }
        before = variables ? last : NULL;
    }
    fclose(maps);
}

__attribute__((constructor)) static void open_card(void)
{
    int n = 0, reads_all = 0;
    void *p = NULL;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 1) {
        puts("skipped: no GPU answers CUDA");
        exit(77);
    }
    if (cudaDeviceGetAttribute(&reads_all, cudaDevAttrPageableMemoryAccess, 0) != cudaSuccess ||
        reads_all)
        return;
    if (cudaHostAlloc(&p, ARENA, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
        puts("no pinned memory for the blocks of the test");
        exit(99);
    }
    let_read_program();
    end = (char *)p + ARENA;
    arena = p;
}
