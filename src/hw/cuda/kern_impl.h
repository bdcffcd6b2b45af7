/* kern_impl.h - templates that the sources of kernels share: loops over elements and rows, and
 * reductions. The same source runs on a GPU and, launched by a stand-in for CUDA, block by block on
 * a CPU.
 *
 * Reductions have an order that depends on the sizes alone, so the bits are the same in each run.
 * `each` uses a thread for an element, `each_row` a warp for a row. */
#ifndef HPS_HW_CUDA_KERN_IMPL_H
#define HPS_HW_CUDA_KERN_IMPL_H

#include <cuda_runtime.h>

#include "hw/kern.h"

/* kernel<<<blocks, threads, 0, stream>>>(...) as an int; _TEAM: its threads synchronise. */
#ifdef __CUDACC__
#define HPS_LAUNCH(kernel, blocks, threads, stream, ...)                                           \
    (kernel<<<blocks, threads, 0, (cudaStream_t)(stream)>>>(__VA_ARGS__), (int)cudaGetLastError())
#define HPS_LAUNCH_TEAM HPS_LAUNCH
#else
#define HPS_LAUNCH_AS(team, kernel, blocks, threads, stream, ...)                                  \
    hps_shim_launch(stream, team, blocks, threads, [=]() mutable { kernel(__VA_ARGS__); })
#define HPS_LAUNCH(kernel, blocks, threads, stream, ...)                                           \
    HPS_LAUNCH_AS(false, kernel, blocks, threads, stream, __VA_ARGS__)
#define HPS_LAUNCH_TEAM(kernel, blocks, threads, stream, ...)                                      \
    HPS_LAUNCH_AS(true, kernel, blocks, threads, stream, __VA_ARGS__)
#endif

#define THREADS 256
#define WARP 32
#define MAX_BLOCKS 65535u       /* with more rows, a block loops */

static inline unsigned blocks_of(size_t n, unsigned each)
{
    size_t blocks = (n + each - 1) / each;
    return blocks < MAX_BLOCKS ? (unsigned)blocks : MAX_BLOCKS;
}

/* ---- a thread an element ---- */

/* The shape of a block: as many threads along a row as it is wide, the rest over rows. */
static inline dim3 shape_of(int width)
{
    unsigned x = 1;

    while ((int)x < width && x < THREADS)
        x *= 2;
    return dim3(x, THREADS / x);
}

template <class F> static __global__ void each(size_t B, int width, F f)
{
    for (size_t r = (size_t)blockIdx.x * blockDim.y + threadIdx.y; r < B;
         r += (size_t)gridDim.x * blockDim.y)
        for (int c = (int)threadIdx.x; c < width; c += (int)blockDim.x)
            f(r, c);
}

/* f(row, column) for all of (B, width). */
template <class F> static int run_each(void *stream, size_t B, int width, F f)
{
    if (B == 0 || width == 0) return 0;
    dim3 shape = shape_of(width);
    unsigned blocks = blocks_of(B, shape.y);
    return HPS_LAUNCH(each<F>, dim3(blocks), shape, stream, B, width, f);
}

/* ---- a warp a row ---- */

template <class T> static __device__ __forceinline__ T warp_sum(T v)
{
    for (int m = WARP / 2; m > 0; m /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    return v;
}

static __device__ __forceinline__ float warp_max(float v)
{
    for (int m = WARP / 2; m > 0; m /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, v, m);
        v = other > v ? other : v;
    }
    return v;
}

static __device__ __forceinline__ int warp_min(int v)
{
    for (int m = WARP / 2; m > 0; m /= 2) {
        int other = __shfl_xor_sync(0xffffffffu, v, m);
        v = other < v ? other : v;
    }
    return v;
}

template <class F> static __global__ void each_row(size_t B, F f)
{
    for (size_t r = (size_t)blockIdx.x * blockDim.y + threadIdx.y; r < B;
         r += (size_t)gridDim.x * blockDim.y)
        f(r, (int)threadIdx.x);
}

/* f(row, lane): every lane of a warp with the same row, so that they may sum over it. */
template <class F> static int run_rows(void *stream, size_t B, F f)
{
    if (B == 0) return 0;
    unsigned blocks = blocks_of(B, THREADS / WARP);
    return HPS_LAUNCH_TEAM(each_row<F>, dim3(blocks), dim3(WARP, THREADS / WARP), stream, B, f);
}

/* ---- a sum of all: by blocks, then over the blocks ---- */

/* The sum of v over the block, in thread 0. */
static __device__ __forceinline__ double block_sum(double v)
{
    __shared__ double part[THREADS / WARP];

    v = warp_sum(v);
    __syncthreads();            /* part may still be read by a call before */
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; threadIdx.x == 0 && w < THREADS / WARP; w++)
        v += part[w];
    return v;
}

template <class G> static __global__ void sum_spans(size_t n, G g, double *part)
{
    double sum = 0;
    size_t first = (size_t)blockIdx.x * HPS_KERN_SUM_BLOCK, last = first + HPS_KERN_SUM_BLOCK;

    if (last > n) last = n;
    for (size_t i = first + threadIdx.x; i < last; i += THREADS)
        sum += g(i);
    sum = block_sum(sum);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

static __global__ void sum_parts(size_t n, const double *part, double *sum, bool add)
{
    double all = 0;

    for (size_t i = threadIdx.x; i < n; i += THREADS)
        all += part[i];
    all = block_sum(all);
    if (threadIdx.x == 0) *sum = add ? *sum + all : all;
}

/* *sum (+)= g(0) + .. + g(n-1); part: hps_kern_sum_blocks(n) doubles. */
template <class G>
static int run_sum(void *stream, size_t n, G g, double *part, double *sum, bool add)
{
    size_t spans = hps_kern_sum_blocks(n);
    int error = 0;

    if (n > 0)
        error = HPS_LAUNCH_TEAM(sum_spans<G>, dim3((unsigned)spans), dim3(THREADS), stream, n, g,
                                part);
    if (error) return error;
    return HPS_LAUNCH_TEAM(sum_parts, dim3(1), dim3(THREADS), stream, n > 0 ? spans : 0, part,
                           sum, add);
}

/* ---- column sums: by blocks of rows, then over the blocks ---- */

template <class T, class G>
static __global__ void sum_columns(size_t B, int width, G g, T *part)
{
    __shared__ T lane[THREADS / WARP][WARP];
    int c = (int)(blockIdx.y * WARP + threadIdx.x);
    size_t first = (size_t)blockIdx.x * HPS_KERN_COLUMN_BLOCK, last = first + HPS_KERN_COLUMN_BLOCK;
    T sum = 0;

    if (last > B) last = B;
    for (size_t r = first + threadIdx.y; c < width && r < last; r += THREADS / WARP)
        sum += g(r, c);
    lane[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < THREADS / WARP; k++)
        sum += lane[k][threadIdx.x];
    if (threadIdx.y == 0 && c < width) part[(size_t)blockIdx.x * (size_t)width + (size_t)c] = sum;
}

template <class T> struct add_chunks {
    size_t nchunk;
    int width;
    const T *part;
    T *to;
    bool add;

    __device__ void operator()(size_t, int c) const
    {
        T sum = 0;
        for (size_t k = 0; k < nchunk; k++)
            sum += part[k * (size_t)width + (size_t)c];
        to[c] = add ? to[c] + sum : sum;
    }
};

/* to (width) (+)= the sums of g(row, column) over the B rows;
 * part: hps_kern_column_blocks(B) * width. */
template <class T, class G>
static int run_columns(void *stream, size_t B, int width, G g, T *part, T *to, bool add)
{
    size_t chunks = hps_kern_column_blocks(B);
    int error = 0;
    unsigned across = ((unsigned)width + WARP - 1) / WARP;

    if (B > 0) {
        auto kernel = sum_columns<T, G>;
        error = HPS_LAUNCH_TEAM(kernel, dim3((unsigned)chunks, across), dim3(WARP, THREADS / WARP),
                                stream, B, width, g, part);
    }
    if (error) return error;
    add_chunks<T> f = { B > 0 ? chunks : 0, width, part, to, add };
    return run_each(stream, 1, width, f);
}

/* ---- sums by key: by blocks of the sorted pairs, then over keys that cross blocks ---- */

/* Hot keys have thousands of pairs, too many for one thread. A key whose pairs lie in several
 * blocks leaves a partial sum in each; a block has at most two of them, of the key that begins
 * before the block and of the key that continues behind it. */
template <class G> struct sum_partials {
    size_t n;
    int dim;
    const int *key;
    G g;                        /* g(k, d): what pair k adds to element d */
    float *partial;             /* (blocks, 2, dim) */
    float *to;                  /* (.., dim) by key, added to */

    __device__ void operator()(size_t k, int d) const
    {
        int row = key[k];
        size_t span = k / HPS_KERN_SORTED_BLOCK, first = span * HPS_KERN_SORTED_BLOCK, i = k;
        size_t last = first + HPS_KERN_SORTED_BLOCK < n ? first + HPS_KERN_SORTED_BLOCK : n;
        bool begins = k == 0 || key[k - 1] != row;
        float sum = 0;
        if (!begins && k != first) return;
        for (; i < last && key[i] == row; i++)
            sum += g(i, d);
        bool ends = i < last || i == n || key[i] != row;
        if (begins && ends)
            to[(size_t)row * (size_t)dim + (size_t)d] += sum;
        else
            partial[(2 * span + (begins ? 1 : 0)) * (size_t)dim + (size_t)d] = sum;
    }
};

struct join_partials {
    size_t n;
    int dim;
    const int *key;
    const float *partial;
    float *to;

    /* Does the key of the block's last pair begin in the block and continue behind it? */
    __device__ bool leaves(size_t span) const
    {
        size_t first = span * HPS_KERN_SORTED_BLOCK, last = first + HPS_KERN_SORTED_BLOCK;
        return last < n && key[last - 1] == key[last] &&
               (first == 0 || key[first - 1] != key[last - 1]);
    }
    __device__ void operator()(size_t span, int d) const
    {
        size_t next = span + 1;
        if (!leaves(span)) return;
        int row = key[next * HPS_KERN_SORTED_BLOCK];
        float sum = partial[(2 * span + 1) * (size_t)dim + (size_t)d];
        for (; next * HPS_KERN_SORTED_BLOCK < n && key[next * HPS_KERN_SORTED_BLOCK] == row; next++)
            sum += partial[2 * next * (size_t)dim + (size_t)d];
        to[(size_t)row * (size_t)dim + (size_t)d] += sum;
    }
};

/* to[key[k]] += g(k, ..) over the n sorted pairs;
 * partial: hps_kern_partial_floats(n, dim) floats. */
template <class G>
static int run_keys(void *stream, size_t n, int dim, const int *key, G g, float *partial, float *to)
{
    sum_partials<G> sum = { n, dim, key, g, partial, to };
    join_partials join = { n, dim, key, partial, to };
    int error = run_each(stream, n, dim, sum);
    size_t blocks = (n + HPS_KERN_SORTED_BLOCK - 1) / HPS_KERN_SORTED_BLOCK;
    return error ? error : run_each(stream, blocks, dim, join);
}

/* The first id of a bag. */
static __device__ __forceinline__ size_t bag_start(struct hps_kern_bags bag, size_t at)
{
    return bag.single ? at : (size_t)bag.offset[at];
}

/* A row of a matrix view. */
static __device__ __forceinline__ float *row_of(struct hps_tensor x, size_t r)
{
    return x.data + r * x.ld;
}

/* *to (+)= v */
static __device__ __forceinline__ void put_to(float *to, float v, bool add)
{
    *to = add ? *to + v : v;
}

#endif
