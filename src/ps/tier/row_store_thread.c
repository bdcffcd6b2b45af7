/* row_store_thread.c - the thread that moves rows, and the queue of stores that wait for it: one
 * for all stores, since more would take the cores of those that compute. */
#include "base/thread.h"
#include "ps/tier/row_store_impl.h"

static struct {
    pthread_mutex_t users_mutex;    /* of the next two             */
    int users;
    pthread_t thread;
    pthread_mutex_t mutex;          /* of all below                */
    pthread_cond_t work;
    struct hps_row_store *first, **last;
    bool closes;
} mover = { .users_mutex = PTHREAD_MUTEX_INITIALIZER,
            .mutex = PTHREAD_MUTEX_INITIALIZER,
            .work = PTHREAD_COND_INITIALIZER };

/* The store that has waited for longest; NULL: the thread is to end. */
static struct hps_row_store *next_store(void)
{
    pthread_mutex_lock(&mover.mutex);
    while (!mover.first && !mover.closes)
        pthread_cond_wait(&mover.work, &mover.mutex);
    struct hps_row_store *s = mover.first;
    if (s) mover.first = s->next;
    if (!mover.first) mover.last = &mover.first;
    pthread_mutex_unlock(&mover.mutex);
    return s;
}

static void *run(void *none)
{
    struct hps_row_store *s;

    while ((s = next_store()) != NULL)
        hps_row_store_move(s);
    return none;
}

int hps_row_thread_get(void)
{
    int error = 0;

    pthread_mutex_lock(&mover.users_mutex);
    if (mover.users == 0) {
        mover.closes = false;
        mover.last = &mover.first;
        error = hps_thread_start(&mover.thread, run, NULL);
    }
    if (!error) mover.users++;
    pthread_mutex_unlock(&mover.users_mutex);
    return error;
}

void hps_row_thread_put(void)
{
    pthread_mutex_lock(&mover.users_mutex);
    if (--mover.users == 0) {
        pthread_mutex_lock(&mover.mutex);
        mover.closes = true;
        pthread_cond_signal(&mover.work);
        pthread_mutex_unlock(&mover.mutex);
        pthread_join(mover.thread, NULL);
    }
    pthread_mutex_unlock(&mover.users_mutex);
}

void hps_row_thread_give(struct hps_row_store *s)
{
    s->state = HPS_ROWS_LEAVING;
    s->next = NULL;
    pthread_mutex_lock(&mover.mutex);
    *mover.last = s;
    mover.last = &s->next;
    pthread_cond_signal(&mover.work);
    pthread_mutex_unlock(&mover.mutex);
}
