/* deep_read_threads.c - reads by threads, each of which makes one at a time. */
#include "base/file/deep_read_impl.h"
#include "base/mem.h"

static bool open_threads(void **context)
{
    *context = NULL;
    return true;
}

static void close_threads(void *context)
{
    (void)context;
}

static void run(struct hps_deep_reader *r)
{
    struct hps_deep_room room = { NULL, 0 };
    struct hps_deep_taken one;

    while (hps_deep_take(r, 1, true, &one) > 0) {
        hps_deep_room(&room, hps_deep_bytes(&one));
        int error = hps_deep_pread(&one, room.at, 0);
        one.batch->arrived(one.batch->context, one.i, room.at, error);
        hps_deep_end(r, 1, &one);
    }
    hps_mem_free(room.at);
}

const struct hps_deep_ops hps_deep_threads = {
    .name = "threads",
    .nthread = 32,
    .open = open_threads,
    .close = close_threads,
    .run = run,
};
