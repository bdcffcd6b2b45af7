/* reader.c - a thread that assembles steps ahead, in a ring of buffers. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/thread.h"
#include "data/reader_impl.h"

/* Wait for a free buffer; false: the reader is being freed. */
static bool wait_for_buffer(struct hps_reader *r)
{
    bool go;

    pthread_mutex_lock(&r->lock);
    /* all takes but the last two have released their buffers */
    while (!r->stop &&
           r->filled_steps - (r->taken_steps > 2 ? r->taken_steps - 2 : 0) >= r->nbuffer)
        pthread_cond_wait(&r->changed, &r->lock);
    go = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static void *read_ahead(void *reader)
{
    struct hps_reader *r = reader;
    struct hps_reader_fill_state f = { .nid = hps_mem_new((size_t)r->data->nslot, sizeof *f.nid) };
    enum hps_status s = HPS_OK;

    if (r->yields) hps_thread_yields();
    for (long long i = 0; !s && r->next_step < r->steps.total && wait_for_buffer(r); i++) {
        f.buffer = &r->buffer[i % r->nbuffer];
        s = hps_reader_fill(r, &f, r->next_step);
        r->next_step = hps_steps_next(&r->steps, r->next_step);
        pthread_mutex_lock(&r->lock);
        r->ended = r->next_step >= r->steps.total;
        if (s)
            r->status = s;
        else
            r->filled_steps = i + 1;
        pthread_cond_signal(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    hps_mem_free(f.nid);
    return NULL;
}

static void new_tray(const struct hps_reader *r, struct hps_batch_buffer *t, size_t rows)
{
    size_t nslot = (size_t)r->data->nslot, M = (size_t)r->steps.M;

    t->batch = hps_mem_new(M, sizeof *t->batch);
    t->example = hps_mem_new(rows, sizeof *t->example);
    t->label = r->label ? hps_mem_new(rows, sizeof *t->label) : NULL;
    t->dense = r->dense ? hps_mem_new(rows * (size_t)r->data->D, sizeof *t->dense) : NULL;
    t->ids = hps_mem_new(nslot, sizeof *t->ids);
    t->ids_cap = hps_mem_new(nslot, sizeof *t->ids_cap);
    t->offset = hps_mem_new(nslot, sizeof *t->offset);
    t->ids_of = hps_mem_new(M * nslot, sizeof *t->ids_of);
    t->offset_of = hps_mem_new(M * nslot, sizeof *t->offset_of);
    for (size_t j = 0; j < nslot; j++) {
        if (!r->blocks.slot[j]) continue;
        hps_mem_grow(&t->ids[j], &t->ids_cap[j], rows, hps_ids_size(r->blocks.wide));
        if (r->data->slot[j].multi) t->offset[j] = hps_mem_new(rows + M, sizeof **t->offset);
    }
}

static void free_tray(const struct hps_reader *r, struct hps_batch_buffer *t)
{
    for (int j = 0; j < r->data->nslot; j++) {
        hps_mem_free(t->ids[j]);
        hps_mem_free(t->offset[j]);
    }
    hps_mem_free(t->offset_of);
    hps_mem_free(t->ids_of);
    hps_mem_free(t->offset);
    hps_mem_free(t->ids_cap);
    hps_mem_free(t->ids);
    hps_mem_free(t->dense);
    hps_mem_free(t->label);
    hps_mem_free(t->example);
    hps_mem_free(t->batch);
}

static void start(struct hps_reader *r)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    int rc = hps_thread_start(&r->thread, read_ahead, r);
    if (rc != 0) HPS_DIE("no thread for reading: %s", strerror(rc));
}

enum hps_status hps_reader_new(struct hps_reader **reader, const struct hps_data *data,
                               const struct hps_order *order, const struct hps_steps *steps,
                               const struct hps_reader_opt *opt, long long first_step)
{
    struct hps_reader *r = hps_mem_new(1, sizeof *r);
    long long batch = steps->batch < data->N ? steps->batch : data->N;
    long long micro = (batch + steps->M - 1) / steps->M;
    size_t rows = (size_t)((micro + opt->parts - 1) / opt->parts);

    assert(order->N == data->N && steps->N == data->N && opt->ahead >= 1);
    assert(opt->part >= 0 && opt->part < opt->parts && first_step >= 0);
    r->data = data;
    r->order = *order;
    r->steps = *steps;
    r->part = opt->part;
    r->parts = opt->parts;
    r->label = opt->label;
    r->dense = opt->dense && data->D > 0;
    r->nbuffer = opt->ahead + 2;
    r->next_step = first_step;
    r->ended = first_step >= steps->total;
    r->worker = opt->worker;
    r->yields = opt->yields;
    r->memo.window = r->next.window = r->window = -1;
    hps_blocks_new(&r->blocks, data, r->label, r->dense, opt->slot);
    r->example = hps_mem_new((size_t)micro, sizeof *r->example);
    r->spare = hps_mem_new((size_t)micro, sizeof *r->spare);
    r->block = hps_mem_new(rows, sizeof *r->block);
    r->record = hps_mem_new(rows, sizeof *r->record);
    r->bag = hps_mem_new(rows, sizeof *r->bag);
    r->single_slot = hps_mem_new((size_t)data->nslot, sizeof *r->single_slot);
    r->single = hps_mem_new((size_t)data->nslot, sizeof *r->single);
    for (int j = 0; j < data->nslot; j++)
        if (r->blocks.slot_at[j] != SIZE_MAX) r->single_slot[r->nsingle++] = j;
    r->buffer = hps_mem_new((size_t)r->nbuffer, sizeof *r->buffer);
    for (int i = 0; i < r->nbuffer; i++)
        new_tray(r, &r->buffer[i], rows * (size_t)steps->M);
    start(r);
    *reader = r;
    return HPS_OK;
}

enum hps_status hps_reader_take(struct hps_reader *r, const struct hps_batch **batch)
{
    long long want;
    enum hps_status s;
    bool say;

    *batch = NULL;
    pthread_mutex_lock(&r->lock);
    want = r->taken_steps++;
    if (r->filled_steps <= want) pthread_cond_signal(&r->changed);
    while (r->filled_steps <= want && !r->status && !r->ended)
        pthread_cond_wait(&r->changed, &r->lock);
    s = r->filled_steps > want ? HPS_OK : r->status;
    if (r->filled_steps > want) *batch = r->buffer[want % r->nbuffer].batch;
    say = s && !r->said;
    r->said |= say;
    pthread_mutex_unlock(&r->lock);
    if (say) HPS_SAY_ALL(HPS_ERROR, "%s", r->blocks.why);
    return s;
}

void hps_reader_wake(struct hps_reader *r)
{
    pthread_mutex_lock(&r->lock);
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

enum hps_status hps_reader_next(struct hps_reader *r, const struct hps_batch **batch)
{
    enum hps_status s = hps_reader_take(r, batch);

    hps_reader_wake(r);
    return s;
}

void hps_reader_free(struct hps_reader *r)
{
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    for (int i = 0; i < r->nbuffer; i++)
        free_tray(r, &r->buffer[i]);
    hps_mem_free(r->buffer);
    hps_mem_free(r->single);
    hps_mem_free(r->single_slot);
    hps_mem_free(r->bag);
    hps_mem_free(r->record);
    hps_mem_free(r->block);
    hps_mem_free(r->spare);
    hps_mem_free(r->example);
    hps_blocks_free(&r->blocks);
    hps_mem_free(r);
}
