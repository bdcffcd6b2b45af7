/* unpack.c - gzip streams unpacked by a thread: a ring of blocks between it and the reader. */
#include "data/unpack.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/thread.h"
#include "data/inflate.h"
#include "data/text.h"

enum { PACKED = 128 << 10, BLOCK = 256 << 10, BLOCKS = 4, LOOK_MS = 100 };

struct hps_unpack {
    int fd;
    struct hps_inflate z;
    unsigned char *in;              /* PACKED bytes of the stream         */
    bool more, inside;              /* the file goes on; a member has begun, not yet ended */
    char *block[BLOCKS];
    size_t size[BLOCKS], taken;     /* bytes in each; read of the first one */
    pthread_t thread;
    pthread_mutex_t lock;           /* of what follows                    */
    pthread_cond_t moved;
    long long made, used;           /* blocks filled and given back       */
    bool ended, stop;
    enum hps_status status;
    const char *why;
};

static bool is_stopped(struct hps_unpack *u)
{
    bool stop;

    pthread_mutex_lock(&u->lock);
    stop = u->stop;
    pthread_mutex_unlock(&u->lock);
    return stop || hps_text_stop;
}

static enum hps_status fail(struct hps_unpack *u, enum hps_status s, const char *why)
{
    u->why = why;
    return s;
}

/* More of the stream. The wait for a pipe ends when nobody wants it any more. */
static enum hps_status read_packed(struct hps_unpack *u)
{
    struct pollfd wait = { .fd = u->fd, .events = POLLIN };
    ssize_t n = -1;

    do {
        if (is_stopped(u)) return HPS_AGAIN;
        if (poll(&wait, 1, LOOK_MS) > 0)
            n = read(u->fd, u->in, PACKED);
        else
            errno = EINTR;
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) return fail(u, HPS_INPUT, strerror(errno));
    u->more = n > 0;
    u->z.in = u->in;
    u->z.nin = (size_t)n;
    return HPS_OK;
}

/* Between members: another one begins, or only zeros follow and the text ends. */
static void next_member(struct hps_unpack *u)
{
    while (u->z.nin > 0 && *u->z.in == 0) {
        u->z.in++;
        u->z.nin--;
    }
    if (u->z.nin == 0) return;
    hps_inflate_again(&u->z);
    u->inside = true;
}

/* Fill a block, or what there is to the end of the stream. */
static enum hps_status fill(struct hps_unpack *u, char *block, size_t *size)
{
    enum hps_status s = HPS_OK;

    u->z.out = (unsigned char *)block;
    u->z.nout = BLOCK;
    while (u->z.nout > 0 && !s) {
        if (u->z.nin == 0 && u->more) s = read_packed(u);
        if (!s && !u->inside) next_member(u);
        if (s || (!u->inside && !u->more)) break;
        if (!u->inside) continue;
        size_t room = u->z.nout;
        switch (hps_inflate_some(&u->z)) {
        case HPS_INFLATE_END:
            u->inside = false;
            break;
        case HPS_INFLATE_BAD:
            s = fail(u, HPS_DECK, "damaged gzip data");
            break;
        case HPS_INFLATE_ON:
            if (u->z.nin == 0 && !u->more && u->z.nout == room)
                s = fail(u, HPS_DECK, "the gzip data end too early");
            break;
        }
    }
    *size = BLOCK - u->z.nout;
    return s;
}

/* Waits for a free block; false: nobody reads any more. */
static bool wait_for_block(struct hps_unpack *u)
{
    bool go;

    pthread_mutex_lock(&u->lock);
    while (!u->stop && u->made - u->used >= BLOCKS)
        pthread_cond_wait(&u->moved, &u->lock);
    go = !u->stop;
    pthread_mutex_unlock(&u->lock);
    return go;
}

static void *unpack_all(void *unpack)
{
    struct hps_unpack *u = unpack;
    bool ended = false;

    while (!ended && wait_for_block(u)) {
        size_t size;
        enum hps_status s = fill(u, u->block[u->made % BLOCKS], &size);
        ended = s || size < BLOCK;
        pthread_mutex_lock(&u->lock);
        u->size[u->made % BLOCKS] = size;
        u->made += size > 0;
        u->status = s;
        u->ended = ended;
        pthread_cond_signal(&u->moved);
        pthread_mutex_unlock(&u->lock);
    }
    return NULL;
}

static void start(struct hps_unpack *u)
{
    pthread_mutex_init(&u->lock, NULL);
    hps_cond_init(&u->moved);
    int rc = hps_thread_start(&u->thread, unpack_all, u);
    if (rc != 0) HPS_DIE("no thread for unpacking: %s", strerror(rc));
}

void hps_unpack_new(struct hps_unpack **unpack, int fd, const void *first, size_t n)
{
    struct hps_unpack *u = hps_mem_new(1, sizeof *u);

    u->fd = fd;
    u->in = hps_mem_new(n > PACKED ? n : PACKED, 1);
    memcpy(u->in, first, n);
    hps_inflate_new(&u->z);
    u->z.in = u->in;
    u->z.nin = n;
    u->more = u->inside = true;
    for (int i = 0; i < BLOCKS; i++)
        u->block[i] = hps_mem_new(BLOCK, 1);
    start(u);
    *unpack = u;
}

enum hps_status hps_unpack_read(struct hps_unpack *u, void *to, size_t n, size_t *got,
                                const char **why)
{
    enum hps_status s;
    int at;
    bool is_there;

    pthread_mutex_lock(&u->lock);
    while (u->made == u->used && !u->ended && !hps_text_stop)   /* no signal ends the wait */
        hps_cond_wait(&u->moved, &u->lock, hps_steady_s() + 1e-3 * LOOK_MS);
    is_there = u->made > u->used;
    s = hps_text_stop ? HPS_AGAIN : is_there ? HPS_OK : u->status;
    *why = u->ended && !hps_text_stop ? u->why : NULL;
    pthread_mutex_unlock(&u->lock);
    *got = 0;
    if (s || !is_there) return s;
    at = (int)(u->used % BLOCKS);
    *got = u->size[at] - u->taken < n ? u->size[at] - u->taken : n;
    memcpy(to, u->block[at] + u->taken, *got);
    u->taken += *got;
    if (u->taken < u->size[at]) return HPS_OK;
    u->taken = 0;
    pthread_mutex_lock(&u->lock);
    u->used++;
    pthread_cond_signal(&u->moved);
    pthread_mutex_unlock(&u->lock);
    return HPS_OK;
}

void hps_unpack_free(struct hps_unpack *u)
{
    if (!u) return;
    pthread_mutex_lock(&u->lock);
    u->stop = true;
    pthread_cond_signal(&u->moved);
    pthread_mutex_unlock(&u->lock);
    pthread_join(u->thread, NULL);
    pthread_cond_destroy(&u->moved);
    pthread_mutex_destroy(&u->lock);
    hps_inflate_free(&u->z);
    for (int i = 0; i < BLOCKS; i++)
        hps_mem_free(u->block[i]);
    hps_mem_free(u->in);
    hps_mem_free(u);
}
