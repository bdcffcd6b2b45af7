/* bf16_onednn.c - products of bf16 operands by oneDNN, with AVX-512 BF16 or AMX, whichever the
 * processor has. oneDNN compiles a primitive for each shape; those made are kept to the end of the
 * program, since a network has few shapes. */
#include <dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#include "base/mem.h"
#include "base/quit.h"
#include "hw/cpu/bf16_impl.h"

#define PACKED_FOR 256          /* rows of the product that an operand is packed for     */
#define MAX_KEPT 2048           /* primitives; what more are needed are made each time   */
#define NBUCKET (2 * MAX_KEPT)

#define DNNL(call)                                                                                 \
    do {                                                                                           \
        dnnl_status_t status_ = (call);                                                            \
        if (status_ != dnnl_success)                                                               \
            HPS_DIE("oneDNN: %s ends with status %d", #call, (int)status_);                        \
    } while (0)

enum kind { PRODUCT, PRODUCT_TA, PACK, PACK_TRANSPOSED };

/* What a primitive is compiled for. ldb 0: b is packed. */
struct key {
    size_t kind, add, m, n, k, lda, ldb, ldc;
};

/* ---- oneDNN 2 and 3 differ in how memory is described ---- */

/* n inner blocks: their sizes, their dimensions; numbers from one outer block to the next. Borrowed
 * from a form. */
struct blocking {
    int n;
    const dnnl_dim_t *size, *index, *stride;
};

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t form;
#define FORM(form) (form)

static form strided(size_t rows, size_t columns, dnnl_data_type_t type, size_t row, size_t column)
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
    const dnnl_dims_t strides = { (dnnl_dim_t)row, (dnnl_dim_t)column };
    form f;

    DNNL(dnnl_memory_desc_create_with_strides(&f, 2, dims, type, strides));
    return f;
}

static form chosen_by_library(size_t rows, size_t columns)
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
    form f;

    DNNL(dnnl_memory_desc_create_with_tag(&f, 2, dims, dnnl_bf16, dnnl_format_tag_any));
    return f;
}

static dnnl_primitive_desc_t product_desc(dnnl_engine_t engine, form a, form b, form c,
                                          dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_t desc;

    DNNL(dnnl_matmul_primitive_desc_create(&desc, engine, a, b, NULL, c, attr));
    return desc;
}

static form form_of(dnnl_primitive_desc_t desc, dnnl_query_t what)
{
    form f;

    DNNL(dnnl_memory_desc_clone(&f, dnnl_primitive_desc_query_md(desc, what, 0)));
    return f;
}

static void append_sum(dnnl_post_ops_t ops)
{
    DNNL(dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef));
}

static void free_form(form f)
{
    dnnl_memory_desc_destroy(f);
}

static struct blocking blocking_of(form f)
{
    struct blocking b = { 0 };
    const dnnl_dims_t *strides, *block, *index;
    int n = 0;

    if (dnnl_memory_desc_query(f, dnnl_query_inner_nblks_s32, &n) != dnnl_success || n != 3)
        return b;
    DNNL(dnnl_memory_desc_query(f, dnnl_query_inner_blks, &block));
    DNNL(dnnl_memory_desc_query(f, dnnl_query_inner_idxs, &index));
    DNNL(dnnl_memory_desc_query(f, dnnl_query_strides, &strides));
    return (struct blocking){ 3, *block, *index, *strides };
}
#else
typedef dnnl_memory_desc_t form;
#define FORM(form) (&(form))

static form strided(size_t rows, size_t columns, dnnl_data_type_t type, size_t row, size_t column)
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
    const dnnl_dims_t strides = { (dnnl_dim_t)row, (dnnl_dim_t)column };
    form f;

    DNNL(dnnl_memory_desc_init_by_strides(&f, 2, dims, type, strides));
    return f;
}

static form chosen_by_library(size_t rows, size_t columns)
{
    const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
    form f;

    DNNL(dnnl_memory_desc_init_by_tag(&f, 2, dims, dnnl_bf16, dnnl_format_tag_any));
    return f;
}

static dnnl_primitive_desc_t product_desc(dnnl_engine_t engine, form a, form b, form c,
                                          dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t product;
    dnnl_primitive_desc_t desc;

    DNNL(dnnl_matmul_desc_init(&product, &a, &b, NULL, &c));
    DNNL(dnnl_primitive_desc_create(&desc, &product, attr, engine, NULL));
    return desc;
}

static form form_of(dnnl_primitive_desc_t desc, dnnl_query_t what)
{
    return *dnnl_primitive_desc_query_md(desc, what, 0);
}

static void append_sum(dnnl_post_ops_t ops)
{
    DNNL(dnnl_post_ops_append_sum(ops, 1));
}

static void free_form(form f)
{
    (void)f;
}

static struct blocking blocking_of(const form *f)
{
    const dnnl_blocking_desc_t *b = &f->format_desc.blocking;

    if (f->format_kind != dnnl_blocked || f->extra.flags != 0) return (struct blocking){ 0 };
    return (struct blocking){ b->inner_nblks, b->inner_blks, b->inner_idxs, b->strides };
}
#endif

/* Is this the form of hps_bf16_pack_blocks? */
static bool in_blocks(const struct blocking *b)
{
    return b->n == 3 && b->index[0] == 0 && b->index[1] == 1 && b->index[2] == 0 &&
           b->size[0] == 16 && b->size[1] == 64 && b->size[2] == 2;
}

/* ---- primitives, by what they are compiled for ---- */

struct primitive {
    struct key key;
    dnnl_primitive_t run;
    form a, b, c;               /* PACK: a to c              */
    form scratch;               /* of each call, since threads share a primitive */
    struct hps_bf16_blocks blocks;      /* PACK; k 0: c has another form */
};

static struct {
    pthread_mutex_t mutex;      /* of what is added */
    dnnl_engine_t engine;
    _Atomic(struct primitive *) bucket[NBUCKET];
    struct primitive made[MAX_KEPT];
    int n;
} kept = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void compile(struct primitive *p, dnnl_primitive_desc_t desc)
{
    p->scratch = form_of(desc, dnnl_query_scratchpad_md);
    DNNL(dnnl_primitive_create(&p->run, desc));
    DNNL(dnnl_primitive_desc_destroy(desc));
}

static dnnl_primitive_attr_t new_attr(void)
{
    dnnl_primitive_attr_t attr;

    DNNL(dnnl_primitive_attr_create(&attr));
    DNNL(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    return attr;
}

/* The form in which oneDNN wants b (k, n) of a product. */
static form packed_form(size_t k, size_t n)
{
    form a = strided(PACKED_FOR, k, dnnl_bf16, k, 1), b = chosen_by_library(k, n);
    form c = strided(PACKED_FOR, n, dnnl_f32, n, 1);
    dnnl_primitive_desc_t desc = product_desc(kept.engine, a, b, c, NULL);
    form f = form_of(desc, dnnl_query_weights_md);

    DNNL(dnnl_primitive_desc_destroy(desc));
    free_form(a);
    free_form(b);
    free_form(c);
    return f;
}

static void make_pack(struct primitive *p)
{
    size_t k = p->key.k, n = p->key.n;
    bool transposed = p->key.kind == PACK_TRANSPOSED;
    dnnl_primitive_attr_t attr = new_attr();
    dnnl_primitive_desc_t desc;

    p->a = strided(k, n, dnnl_f32, transposed ? 1 : n, transposed ? k : 1);
    p->c = packed_form(k, n);
    struct blocking b = blocking_of(FORM(p->c));
    if (in_blocks(&b))
        p->blocks = (struct hps_bf16_blocks){ k, n, (size_t)b.stride[0], (size_t)b.stride[1] };
    DNNL(dnnl_reorder_primitive_desc_create(&desc, FORM(p->a), kept.engine, FORM(p->c),
                                            kept.engine, attr));
    compile(p, desc);
    DNNL(dnnl_primitive_attr_destroy(attr));
}

static void make_product(struct primitive *p)
{
    const struct key *x = &p->key;
    bool ta = x->kind == PRODUCT_TA;
    dnnl_primitive_attr_t attr = new_attr();
    dnnl_post_ops_t ops;

    p->a = strided(x->m, x->k, dnnl_bf16, ta ? 1 : x->lda, ta ? x->lda : 1);
    p->b = x->ldb > 0 ? strided(x->k, x->n, dnnl_bf16, x->ldb, 1) : packed_form(x->k, x->n);
    p->c = strided(x->m, x->n, dnnl_f32, x->ldc, 1);
    DNNL(dnnl_post_ops_create(&ops));
    if (x->add) append_sum(ops);
    DNNL(dnnl_primitive_attr_set_post_ops(attr, ops));
    compile(p, product_desc(kept.engine, p->a, p->b, p->c, attr));
    DNNL(dnnl_post_ops_destroy(ops));
    DNNL(dnnl_primitive_attr_destroy(attr));
}

static void make(struct primitive *p, const struct key *key)
{
    if (!kept.engine) DNNL(dnnl_engine_create(&kept.engine, dnnl_cpu, 0));
    p->key = *key;
    if (key->kind == PACK || key->kind == PACK_TRANSPOSED)
        make_pack(p);
    else
        make_product(p);
}

static size_t bucket_of(const struct key *key)
{
    const size_t x[] = { key->kind, key->add, key->m, key->n, key->k, key->lda, key->ldb,
                         key->ldc };
    size_t hash = 0;

    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        hash = (hash ^ x[i]) * 0x9e3779b97f4a7c15u;
    return hash >> 40;
}

/* The primitive for `key`, or the empty bucket where it belongs. */
static struct primitive *find(const struct key *key, size_t *bucket)
{
    struct primitive *p;

    for (*bucket = bucket_of(key) % NBUCKET;; *bucket = (*bucket + 1) % NBUCKET) {
        p = atomic_load_explicit(&kept.bucket[*bucket], memory_order_acquire);
        if (!p || memcmp(&p->key, key, sizeof *key) == 0) return p;
    }
}

/* The primitive for `key`; `spare` is filled where no more are kept, and is then to be freed. */
static const struct primitive *get(const struct key *key, struct primitive *spare)
{
    size_t at;
    struct primitive *p = find(key, &at);

    if (p) return p;
    pthread_mutex_lock(&kept.mutex);
    p = find(key, &at);         /* another thread may have made it meanwhile */
    if (!p) {
        p = kept.n < MAX_KEPT ? &kept.made[kept.n] : spare;
        make(p, key);
        if (p != spare) {
            kept.n++;
            atomic_store_explicit(&kept.bucket[at], p, memory_order_release);
        }
    }
    pthread_mutex_unlock(&kept.mutex);
    return p;
}

static void done(const struct primitive *p, const struct primitive *spare)
{
    if (p != spare) return;
    DNNL(dnnl_primitive_destroy(p->run));
    free_form(p->a);
    free_form(p->c);
    free_form(p->scratch);
    if (p->key.kind < PACK) free_form(p->b);
}

static dnnl_memory_t memory(const form *f, const void *data)
{
    dnnl_memory_t m;

    DNNL(dnnl_memory_create(&m, FORM(*f), kept.engine, (void *)(size_t)data));
    return m;
}

/* arg (n + 1): the last one is free for the scratch memory. */
static void execute(const struct primitive *p, int n, dnnl_exec_arg_t *arg)
{
    void *scratch = hps_mem_foreign(dnnl_memory_desc_get_size(FORM(p->scratch)));
    dnnl_stream_t stream;

    arg[n++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, memory(&p->scratch, scratch) };
    DNNL(dnnl_stream_create(&stream, kept.engine, dnnl_stream_default_flags));
    DNNL(dnnl_primitive_execute(p->run, stream, n, arg));
    DNNL(dnnl_stream_wait(stream));
    DNNL(dnnl_stream_destroy(stream));
    for (int i = 0; i < n; i++)
        DNNL(dnnl_memory_destroy(arg[i].memory));
    free(scratch);
}

#if defined __x86_64__
/* vcvtneps2bf16 takes denormals as 0, as the products do. */
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void
round_rows(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to, size_t ldto)
{
    for (size_t r = 0; r < rows; r++, x += ldx, to += ldto) {
        size_t c = 0;
        for (; c + 32 <= n; c += 32)
            _mm512_storeu_si512(to + c, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + c + 16),
                                                                    _mm512_loadu_ps(x + c)));
        for (; c < n; c += 16) {
            __mmask16 some = n - c < 16 ? (__mmask16)((1u << (n - c)) - 1) : 0xffff;
            __m512 v = _mm512_maskz_loadu_ps(some, x + c);
            _mm256_mask_storeu_epi16(to + c, some, (__m256i)_mm512_cvtneps_pbh(v));
        }
    }
}
#else
#define round_rows hps_bf16_round
#endif

static bool usable(void)
{
    const unsigned isa = dnnl_cpu_isa_avx512_core_bf16;

    return ((unsigned)dnnl_get_effective_cpu_isa() & isa) == isa;
}

static struct key pack_key(size_t k, size_t n, bool transposed)
{
    return (struct key){ .kind = transposed ? PACK_TRANSPOSED : PACK, .k = k, .n = n };
}

static size_t packed_bytes(size_t k, size_t n)
{
    struct key key = pack_key(k, n, false);
    struct primitive spare;
    const struct primitive *p = get(&key, &spare);
    size_t bytes = dnnl_memory_desc_get_size(FORM(p->c));

    done(p, &spare);
    return bytes;
}

static void pack(size_t k, size_t n, bool transposed, const float *w, void *packed)
{
    struct key key = pack_key(k, n, transposed);
    struct primitive spare;
    const struct primitive *p = get(&key, &spare);

    if (p->blocks.k > 0)
        hps_bf16_pack_blocks(&p->blocks, transposed, w, packed);
    else
        execute(p, 2, (dnnl_exec_arg_t[3]){ { DNNL_ARG_FROM, memory(&p->a, w) },
                                            { DNNL_ARG_TO, memory(&p->c, packed) } });
    done(p, &spare);
}

static void run(const struct hps_bf16_product *g)
{
    struct key key = { .kind = g->ta ? PRODUCT_TA : PRODUCT, .add = g->beta != 0, .m = g->m,
                       .n = g->n, .k = g->k, .lda = g->lda, .ldb = g->ldb, .ldc = g->ldc };
    struct primitive spare;
    const struct primitive *p = get(&key, &spare);

    execute(p, 3, (dnnl_exec_arg_t[4]){ { DNNL_ARG_SRC, memory(&p->a, g->a) },
                                        { DNNL_ARG_WEIGHTS, memory(&p->b, g->b) },
                                        { DNNL_ARG_DST, memory(&p->c, g->c) } });
    done(p, &spare);
}

const struct hps_bf16_lib hps_bf16_onednn = {
    .name = "oneDNN",
    .usable = usable,
    .cache_numbers = 65536,
    .round = round_rows,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};
