/* kern_impl.h - what the files of kernels share; for src/hw/kern_*.cu only. The same source runs on
 * a card and, launched by a stand-in for CUDA, block by block on a CPU.
 *
 * Whatever is summed is summed in an order that depends on the sizes only: the same bits each time.
 * `each` and `each_row` are loops over a matrix: a thread an element, a warp a row. */
#ifndef HPS_HW_CUDA_KERN_IMPL_H
#define HPS_HW_CUDA_KERN_IMPL_H

#include <cuda_runtime.h>

#include "hw/kern.h"

/* kernel<<<blocks, threads, 0, stream>>>(...) as an int; _TEAM: its threads meet. */
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
#define MOST_BLOCKS 65535u      /* more rows than these take: a block goes round again */

static inline unsigned blocks_of(size_t n, unsigned each)
{
    size_t blocks = (n + each - 1) / each;
    return blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS;
}

/* ---- a thread an element ---- */

/* As many threads along a row as it is wide, up to all of them, the rest over rows. */
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

static __device__ __forceinline__ float warp_most(float v)
{
    for (int m = WARP / 2; m > 0; m /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, v, m);
        v = other > v ? other : v;
    }
    return v;
}

static __device__ __forceinline__ int warp_least(int v)
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

/* ---- sums of everything: by blocks, then over them ---- */

/* The sum of v over the block, in thread 0. */
static __device__ __forceinline__ double block_sum(double v)
{
    __shared__ double part[THREADS / WARP];

    v = warp_sum(v);
    __syncthreads();            /* who read the ones before has done so */
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
    size_t first = (size_t)blockIdx.x * HPS_KERN_SUM, last = first + HPS_KERN_SUM;

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

/* *sum (+)= g(0) + .. + g(n-1); part: hps_kern_spans(n) doubles. */
template <class G>
static int run_sum(void *stream, size_t n, G g, double *part, double *sum, bool add)
{
    size_t spans = hps_kern_spans(n);
    int error = 0;

    if (n > 0)
        error = HPS_LAUNCH_TEAM(sum_spans<G>, dim3((unsigned)spans), dim3(THREADS), stream, n, g,
                                part);
    if (error) return error;
    return HPS_LAUNCH_TEAM(sum_parts, dim3(1), dim3(THREADS), stream, n > 0 ? spans : 0, part,
                           sum, add);
}

/* ---- sums of columns: by chunks of rows, then over them ---- */

template <class T, class G>
static __global__ void sum_columns(size_t B, int width, G g, T *part)
{
    __shared__ T lane[THREADS / WARP][WARP];
    int c = (int)(blockIdx.y * WARP + threadIdx.x);
    size_t first = (size_t)blockIdx.x * HPS_KERN_CHUNK, last = first + HPS_KERN_CHUNK;
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

/* to (width) (+)= the sums of g(row, column) over the B rows; part: hps_kern_chunks(B) * width. */
template <class T, class G>
static int run_columns(void *stream, size_t B, int width, G g, T *part, T *to, bool add)
{
    size_t chunks = hps_kern_chunks(B);
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

/* ---- sums over equal keys: by spans of the sorted pairs, then over what crosses them ---- */

/* Popular keys have thousands of pairs: one thread for all of them would be the last one at work.
 * Pieces that lie in more than one span, two a span at most: the one that began before it, and the
 * one that goes on behind it. */
template <class G> struct sum_pieces {
    size_t n;
    int dim;
    const int *key;
    G g;                        /* what the pair at k adds to number d */
    float *piece;               /* (spans, 2, dim) */
    float *to;                  /* (.., dim) by key, added to */

    __device__ void operator()(size_t k, int d) const
    {
        int row = key[k];
        size_t span = k / HPS_KERN_SPAN, first = span * HPS_KERN_SPAN, i = k;
        size_t last = first + HPS_KERN_SPAN < n ? first + HPS_KERN_SPAN : n;
        bool begins = k == 0 || key[k - 1] != row;
        float sum = 0;
        if (!begins && k != first) return;
        for (; i < last && key[i] == row; i++)
            sum += g(i, d);
        bool ends = i < last || i == n || key[i] != row;
        if (begins && ends)
            to[(size_t)row * (size_t)dim + (size_t)d] += sum;
        else
            piece[(2 * span + (begins ? 1 : 0)) * (size_t)dim + (size_t)d] = sum;
    }
};

struct join_pieces {
    size_t n;
    int dim;
    const int *key;
    const float *piece;
    float *to;

    /* Does the key of the span's last pair go on behind it, and had it not before the span? */
    __device__ bool leaves(size_t span) const
    {
        size_t first = span * HPS_KERN_SPAN, last = first + HPS_KERN_SPAN;
        return last < n && key[last - 1] == key[last] &&
               (first == 0 || key[first - 1] != key[last - 1]);
    }
    __device__ void operator()(size_t span, int d) const
    {
        size_t next = span + 1;
        if (!leaves(span)) return;
        int row = key[next * HPS_KERN_SPAN];
        float sum = piece[(2 * span + 1) * (size_t)dim + (size_t)d];
        for (; next * HPS_KERN_SPAN < n && key[next * HPS_KERN_SPAN] == row; next++)
            sum += piece[2 * next * (size_t)dim + (size_t)d];
        to[(size_t)row * (size_t)dim + (size_t)d] += sum;
    }
};

/* to[key[k]] += g(k, ..) over the n sorted pairs; piece: hps_kern_pieces(n, dim) floats. */
template <class G>
static int run_keys(void *stream, size_t n, int dim, const int *key, G g, float *piece, float *to)
{
    sum_pieces<G> sum = { n, dim, key, g, piece, to };
    join_pieces join = { n, dim, key, piece, to };
    int error = run_each(stream, n, dim, sum);
    return error ? error : run_each(stream, (n + HPS_KERN_SPAN - 1) / HPS_KERN_SPAN, dim, join);
}

/* Where a bag begins. */
static __device__ __forceinline__ size_t bag_start(struct hps_kern_bags bag, size_t at)
{
    return bag.single ? at : (size_t)bag.offset[at];
}

/* The row of a matrix view. */
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
