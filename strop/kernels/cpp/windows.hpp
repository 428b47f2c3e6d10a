// Sums and maxima over sliding windows, one dimension after the other: k + k operations per result instead of k x k.
//
// The input is seen as [outer][depth][height][width][inner], where width and inner lie densely: inner is 1 for a contiguous tensor
// and the number of channels for a channels-last one. Windows along depth go through a plane of partial results, windows along
// height through a row of them, windows along width read that row shifted. Long windows along width are put together from windows
// of lengths 1, 2, 4, ...: fewer operations, and fewer roundings, than adding element by element.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>
#include "storage.hpp"

struct Axis {
    int64_t size, result, kernel, stride, padding, dilation;
};

struct Windows {
    Axis depth, height, width;
    int64_t outer, channels, inner;                                 // inner > 1: channels lie innermost and `channels` is 1
    int64_t from_outer, from_channel, from_depth, from_height;      // strides of the input, in elements
    int64_t to_outer, to_channel, to_depth, to_height;              // strides of the result
    int64_t divisor;                                                // 0: the number of elements, see include_padding
    int64_t include_padding, threads;
};

struct Sum {
    static constexpr bool counts = true;
    template <class A> static constexpr A neutral() { return A(0); }
    template <class A> static STROP_INLINE A join(A a, A b) { return a + b; }
};

struct Max {
    static constexpr bool counts = false;
    template <class A> static constexpr A neutral() { return -std::numeric_limits<A>::infinity(); }
    // A NaN on either side stays; written so that it becomes one maximum and one blend.
    template <class A> static STROP_INLINE A join(A a, A b) {
        const A larger = b > a ? b : a;
        return b != b ? b : larger;
    }
};

template <int N, class Op, class A> STROP_INLINE A taps(const A* from, int64_t step) {
    if constexpr (N == 1) {
        return from[0];
    } else {
        return Op::join(taps<N / 2, Op>(from, step), taps<N - N / 2, Op>(from + (N / 2) * step, step));
    }
}

// row[i] = join of the given source rows; at most four are read per pass over the row.
template <class Op, class A, class T> void join_rows(A* row, const T* const* sources, int64_t count, int64_t length) {
    if (count == 0) {
        std::fill(row, row + length, Op::template neutral<A>());
        return;
    }
    int64_t done = 0;
    while (done < count) {
        const T *a = sources[done], *b, *c, *d;
        const int64_t left = count - done;
        const bool first = done == 0;
        if (left >= 4) {
            b = sources[done + 1], c = sources[done + 2], d = sources[done + 3], done += 4;
            if (first) {
#pragma omp simd
                for (int64_t i = 0; i < length; i++)
                    row[i] = Op::join(Op::join(widen(a[i]), widen(b[i])), Op::join(widen(c[i]), widen(d[i])));
            } else {
#pragma omp simd
                for (int64_t i = 0; i < length; i++)
                    row[i] = Op::join(row[i], Op::join(Op::join(widen(a[i]), widen(b[i])), Op::join(widen(c[i]), widen(d[i]))));
            }
        } else if (left == 3 && first) {
            b = sources[done + 1], c = sources[done + 2], done += 3;
#pragma omp simd
            for (int64_t i = 0; i < length; i++) row[i] = Op::join(Op::join(widen(a[i]), widen(b[i])), widen(c[i]));
        } else if (left >= 2) {
            b = sources[done + 1], done += 2;
            if (first) {
#pragma omp simd
                for (int64_t i = 0; i < length; i++) row[i] = Op::join(widen(a[i]), widen(b[i]));
            } else {
#pragma omp simd
                for (int64_t i = 0; i < length; i++) row[i] = Op::join(row[i], Op::join(widen(a[i]), widen(b[i])));
            }
        } else {
            done += 1;
            if (first) {
#pragma omp simd
                for (int64_t i = 0; i < length; i++) row[i] = widen(a[i]);
            } else {
#pragma omp simd
                for (int64_t i = 0; i < length; i++) row[i] = Op::join(row[i], widen(a[i]));
            }
        }
    }
}

// Windows of `kernel` places along a row, a power of two at a time; `row` is used up.
template <class Op, class A> void join_long(A* row, A* result, int64_t kernel, int64_t step, int64_t length) {
    int64_t place = 0, span = 1, have = length + (kernel - 1) * step;
    bool first = true;
    for (int64_t left = kernel; left > 0; left >>= 1) {
        if (left & 1) {
            const A* from = row + place * step;
            if (first) {
                std::copy(from, from + length, result);
            } else {
#pragma omp simd
                for (int64_t i = 0; i < length; i++) result[i] = Op::join(result[i], from[i]);
            }
            first = false;
            place += span;
        }
        if (left > 1) {
            have -= span * step;
            const int64_t ahead = span * step;
            // Reading ahead of what is written: every element is read before it changes, in any vector length.
#pragma GCC ivdep
            for (int64_t i = 0; i < have; i++) row[i] = Op::join(row[i], row[i + ahead]);
            span *= 2;
        }
    }
}

STROP_INLINE int64_t counted(const Axis& axis, int64_t at, bool include_padding) {
    const int64_t start = at * axis.stride - axis.padding;
    if (include_padding) return std::min(start + axis.kernel, axis.size + axis.padding) - start;
    return std::min(start + axis.kernel, axis.size) - std::max<int64_t>(start, 0);
}

STROP_INLINE bool power_of_two(int64_t value) { return (value & (value - 1)) == 0; }

// value / by with one correction step (Markstein): as accurate as a division, a quarter of its cost; infinities stay.
template <class A> STROP_INLINE A divide(A value, A by, A reciprocal) {
    const A quotient = value * reciprocal;
    const A rest = __builtin_fma(-quotient, by, value);
    const A better = __builtin_fma(rest, reciprocal, quotient);
    return rest == rest ? better : quotient;
}
template <> STROP_INLINE float divide<float>(float value, float by, float reciprocal) {
    const float quotient = value * reciprocal;
    const float rest = __builtin_fmaf(-quotient, by, value);
    const float better = __builtin_fmaf(rest, reciprocal, quotient);
    return rest == rest ? better : quotient;
}

// KW and SW are the window and the step along the width; KW = 0: any length, taken from the description.
template <class T, class Op, int KW, int SW> struct WindowKernel {
    using A = compute_t<T>;
    const Windows& w;
    const T* from;
    T* to;
    int64_t line, padded, dense;
    bool uniform;
    std::vector<A> divisors;

    WindowKernel(const Windows& windows, const T* input, T* result) : w(windows), from(input), to(result) {
        line = w.width.size * w.inner;
        const int64_t places = (w.width.result - 1) * w.width.stride + (w.width.kernel - 1) * w.width.dilation + 1;
        padded = std::max(places, w.width.padding + w.width.size) * w.inner;
        dense = ((w.width.result - 1) * w.width.stride + 1) * w.inner;
        uniform = true;
        if (!Op::counts) return;
        for (int64_t i = 0; i < w.width.result; i++) {
            const int64_t count = counted(w.width, i, w.include_padding);
            uniform = uniform && count == counted(w.width, 0, w.include_padding);
            for (int64_t j = 0; j < w.inner; j++) divisors.push_back(A(count));
        }
    }

    void plane(A* scratch, const T* image, int64_t at) const {
        std::vector<const T*> sources;
        for (int64_t k = 0; k < w.depth.kernel; k++) {
            const int64_t place = at * w.depth.stride - w.depth.padding + k * w.depth.dilation;
            if (place >= 0 && place < w.depth.size) sources.push_back(image + place * w.from_depth);
        }
        std::vector<const T*> rows(sources.size());
        for (int64_t h = 0; h < w.height.size; h++) {
            for (size_t i = 0; i < sources.size(); i++) rows[i] = sources[i] + h * w.from_height;
            join_rows<Op, A, T>(scratch + h * line, rows.data(), int64_t(rows.size()), line);
        }
    }

    template <class S> void row(A* buffer, A* sums, const S* image, int64_t step, int64_t at, A others, T* result) const {
        const S* sources[64];
        A* middle = buffer + w.width.padding * w.inner;
        int64_t count = 0;
        bool started = false;
        for (int64_t k = 0; k < w.height.kernel; k++) {
            const int64_t place = at * w.height.stride - w.height.padding + k * w.height.dilation;
            if (place >= 0 && place < w.height.size) sources[count++] = image + place * step;
            if (count == 64 || (k + 1 == w.height.kernel && (count > 0 || !started))) {
                if (!started) {
                    join_rows<Op, A, S>(middle, sources, count, line);
                } else {
                    join_rows<Op, A, S>(sums, sources, count, line);
                    for (int64_t i = 0; i < line; i++) middle[i] = Op::join(middle[i], sums[i]);
                }
                started = true;
                count = 0;
            }
        }
        along(buffer, sums);
        finish(sums, others, result);
    }

    void along(A* buffer, A* sums) const {
        const int64_t step = w.width.dilation * w.inner;
        if constexpr (KW > 0) {
            if (SW == 1) {
                const int64_t length = w.width.result * w.inner;
#pragma omp simd
                for (int64_t i = 0; i < length; i++) sums[i] = taps<KW, Op>(buffer + i, step);
            } else if (w.inner == 1) {
#pragma omp simd
                for (int64_t i = 0; i < w.width.result; i++) sums[i] = taps<KW, Op>(buffer + i * SW, step);
            } else {
                for (int64_t i = 0; i < w.width.result; i++) {
                    const A* source = buffer + i * SW * w.inner;
                    A* result = sums + i * w.inner;
#pragma omp simd
                    for (int64_t j = 0; j < w.inner; j++) result[j] = taps<KW, Op>(source + j, step);
                }
            }
        } else {
            join_long<Op>(buffer, sums, w.width.kernel, step, dense);
            if (w.width.stride > 1)
                for (int64_t i = 1; i < w.width.result; i++)
                    std::copy_n(sums + i * w.width.stride * w.inner, w.inner, sums + i * w.inner);
        }
    }

    void finish(const A* sums, A others, T* result) const {
        const int64_t length = w.width.result * w.inner;
        if (!Op::counts) {
#pragma omp simd
            for (int64_t i = 0; i < length; i++) result[i] = narrow<T>(sums[i]);
        } else if (w.divisor != 0 || uniform) {
            const A by = w.divisor != 0 ? A(w.divisor) : others * divisors[0];
            if (power_of_two(int64_t(by))) {
                const A times = A(1) / by;
#pragma omp simd
                for (int64_t i = 0; i < length; i++) result[i] = narrow<T>(sums[i] * times);
            } else {
                const A reciprocal = A(1) / by;
#pragma omp simd
                for (int64_t i = 0; i < length; i++) result[i] = narrow<T>(divide<A>(sums[i], by, reciprocal));
            }
        } else {
            const A* each = divisors.data();
#pragma omp simd
            for (int64_t i = 0; i < length; i++) result[i] = narrow<T>(sums[i] / (others * each[i]));
        }
    }

    // Results of one depth place from height place `first` up to `last`.
    void rows(std::vector<A>& scratch, int64_t image, int64_t at_depth, int64_t first, int64_t last) const {
        const int64_t batch = image / w.channels, channel = image % w.channels;
        const T* source = from + batch * w.from_outer + channel * w.from_channel;
        T* result = to + batch * w.to_outer + channel * w.to_channel + at_depth * w.to_depth;
        const bool deep = w.depth.kernel > 1 || w.depth.size > 1 || w.depth.padding > 0;
        const int64_t partial = deep ? w.height.size * line : 0;
        const int64_t wide = std::max({padded, dense, line});
        scratch.resize(partial + 2 * wide);
        A *buffer = scratch.data() + partial, *sums = buffer + wide;
        if (deep) plane(scratch.data(), source, at_depth);
        const A depth_count = A(counted(w.depth, at_depth, w.include_padding));
        for (int64_t h = first; h < last; h++) {
            // Long windows use the row up, so its margins are written again.
            if (KW == 0 || h == first) {
                std::fill(buffer, buffer + w.width.padding * w.inner, Op::template neutral<A>());
                std::fill(buffer + w.width.padding * w.inner + line, buffer + wide, Op::template neutral<A>());
            }
            const A others = depth_count * A(counted(w.height, h, w.include_padding));
            if (deep)
                row(buffer, sums, static_cast<const A*>(scratch.data()), line, h, others, result + h * w.to_height);
            else
                row(buffer, sums, source, w.from_height, h, others, result + h * w.to_height);
        }
    }

    void run() const {
        const bool deep = w.depth.kernel > 1 || w.depth.size > 1 || w.depth.padding > 0;
        const int64_t images = w.outer * w.channels;
        const int64_t pieces = deep ? 1 : std::min<int64_t>(w.height.result, images >= 4 * w.threads ? 1 : 4 * w.threads);
        const int64_t tasks = images * w.depth.result * pieces;
#pragma omp parallel num_threads(int(w.threads)) if (w.threads > 1)
        {
            std::vector<A> scratch;
#pragma omp for schedule(static)
            for (int64_t task = 0; task < tasks; task++) {
                const int64_t piece = task % pieces, rest = task / pieces;
                const int64_t first = w.height.result * piece / pieces, last = w.height.result * (piece + 1) / pieces;
                rows(scratch, rest / w.depth.result, rest % w.depth.result, first, last);
            }
        }
    }
};
