// Elementary functions without branches and tables, so that a compiler turns a loop over them into vector code.
//
// float: polynomials fitted for this file (weighted least squares, Lawson's iteration towards the smallest largest relative
// error) on the stated intervals; tests hold each function to its bound against float64. double: the standard library.
// Infinities, NaN and denormal results behave as in the standard library unless stated.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include "storage.hpp"

STROP_INLINE float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
STROP_INLINE double fma_(double a, double b, double c) { return __builtin_fma(a, b, c); }
STROP_INLINE float power_of_two_(int32_t n) { return bit_cast<float>((n + 127) << 23); }

// 2^n * (1 + r + r^2 P(r)) with x = n ln 2 + r, |r| <= ln 2 / 2; the scale goes in two steps, so that denormals come out right.
STROP_INLINE float exp_(float x) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    const float n = __builtin_rintf(x * 1.44269504f);
    // ln 2 as a number with nine trailing zero bits and the rest of it.
    float r = fma_(n, -0.693145751953125f, x);
    r = fma_(n, -1.428606820309417e-06f, r);
    float p = 0.00019790341320913285f;
    p = fma_(p, r, 0.001394465914927423f);
    p = fma_(p, r, 0.008333496749401093f);
    p = fma_(p, r, 0.04166629537940025f);
    p = fma_(p, r, 0.1666666567325592f);
    p = fma_(p, r, 0.5f);
    p = 1.0f + fma_(p, r * r, r);
    const int32_t whole = int32_t(n), half = whole >> 1;
    return p * power_of_two_(half) * power_of_two_(whole - half);
}
STROP_INLINE double exp_(double x) { return std::exp(x); }

// ln m + e ln 2 with x = m 2^e, m in [sqrt 1/2, sqrt 2); ln m = 2 z + z^3 Q(z^2) with z = (m - 1) / (m + 1).
STROP_INLINE float log_(float x) {
    const bool small = x < 1.17549435e-38f;
    const float y = small ? x * 16777216.0f : x;
    const int32_t bits = bit_cast<int32_t>(y), shifted = bits - 0x3f3504f3;
    const int32_t exponent = shifted >> 23;
    const float m = bit_cast<float>(bits - exponent * 8388608), f = m - 1.0f;
    const float e = float(exponent) - (small ? 24.0f : 0.0f);
    const float z = f / (2.0f + f), w = z * z;
    float q = 0.2358357161283493f;
    q = fma_(q, w, 0.28537243604660034f);
    q = fma_(q, w, 0.4000033736228943f);
    q = fma_(q, w, 0.6666666269302368f);
    // f - f z + z^3 Q = 2 z + z^3 Q, with f exact.
    const float low = fma_(e, 1.428606820309417e-06f, z * fma_(w, q, -f));
    float result = fma_(e, 0.693145751953125f, f + low);
    result = x == std::numeric_limits<float>::infinity() ? x : result;
    result = x == 0.0f ? -std::numeric_limits<float>::infinity() : result;
    return x >= 0.0f ? result : std::numeric_limits<float>::quiet_NaN();
}
STROP_INLINE double log_(double x) { return std::log(x); }

// ln(1 + x): what is lost in 1 + x is put back to first order.
STROP_INLINE float log1p_(float x) {
    const float y = 1.0f + x;
    const float lost = x - (y - 1.0f);
    const float result = log_(y) + (y > 0.0f ? lost / y : 0.0f);
    const float infinity = std::numeric_limits<float>::infinity();
    const float finite = y < infinity ? result : y;
    // Below half an ulp of one the sum is one, and x itself is the answer to first order.
    return y == 1.0f ? x : (x == x ? finite : x);
}
STROP_INLINE double log1p_(double x) { return std::log1p(x); }

// ln(1 + y) for y in [0, 1]: z = y / (2 + y) loses nothing, and 2 z + z^3 Q(z^2) is fitted up to z = 1/3.
STROP_INLINE float log1p_unit_(float y) {
    const float z = y / (2.0f + y), w = z * z;
    float q = 0.24289557337760925f;
    q = fma_(q, w, 0.21430741250514984f);
    q = fma_(q, w, 0.2861659526824951f);
    q = fma_(q, w, 0.39998888969421387f);
    q = fma_(q, w, 0.6666667461395264f);
    return fma_(q * w, z, 2.0f * z);
}
STROP_INLINE double log1p_unit_(double y) { return std::log1p(y); }

// e^x - 1 = p + (2^n - 1) with p as above, for small x; exp elsewhere loses nothing.
STROP_INLINE float expm1_(float x) {
    const float clipped = x > 1.0f ? 1.0f : (x < -1.0f ? -1.0f : x);
    const float n = __builtin_rintf(clipped * 1.44269504f);
    float r = fma_(n, -0.693145751953125f, clipped);
    r = fma_(n, -1.428606820309417e-06f, r);
    float p = 0.00019790341320913285f;
    p = fma_(p, r, 0.001394465914927423f);
    p = fma_(p, r, 0.008333496749401093f);
    p = fma_(p, r, 0.04166629537940025f);
    p = fma_(p, r, 0.1666666567325592f);
    p = fma_(p, r, 0.5f);
    p = fma_(p, r * r, r);
    const float scale = power_of_two_(int32_t(n));
    const float near = fma_(p, scale, scale - 1.0f);
    return __builtin_fabsf(x) <= 1.0f ? near : exp_(x) - 1.0f;
}
STROP_INLINE double expm1_(double x) { return std::expm1(x); }

STROP_INLINE float sigmoid_(float x) { return 1.0f / (1.0f + exp_(-x)); }
STROP_INLINE double sigmoid_(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// x + x^3 P(x^2) below 0.625; above, 1 - 2 / (e^2x + 1).
STROP_INLINE float tanh_(float x) {
    const float size = __builtin_fabsf(x), w = x * x;
    float p = 0.0021262269001454115f;
    p = fma_(p, w, -0.008159554563462734f);
    p = fma_(p, w, 0.021693680435419083f);
    p = fma_(p, w, -0.05394551903009415f);
    p = fma_(p, w, 0.13333196938037872f);
    p = fma_(p, w, -0.3333333134651184f);
    const float small = fma_(p * w, size, size);
    const float large = 1.0f - 2.0f / (exp_(2.0f * size) + 1.0f);
    const float result = __builtin_copysignf(size < 0.625f ? small : large, x);
    return x == x ? result : x;
}
STROP_INLINE double tanh_(double x) { return std::tanh(x); }

// e^(-c x^2) for c >= 0: what rounding x^2 loses is put back to first order, because the tail multiplies it by x^2.
STROP_INLINE float exp_minus_square_(float x, float c) {
    const float square = x * x, lost = fma_(x, x, -square);
    return exp_(-c * square) * (1.0f - c * lost);
}

// erfc(t) for t >= 0, given e^(-t^2): times u P(u) with u = 1 / (1 + 0.4 t), fitted on [0, 10].
STROP_INLINE float erfc_positive_(float t, float bell) {
    const float u = 1.0f / (1.0f + 0.4f * t);
    float p = 0.041253041476011276f;
    p = fma_(p, u, -0.14031924307346344f);
    p = fma_(p, u, 0.083987295627594f);
    p = fma_(p, u, 0.08796432614326477f);
    p = fma_(p, u, 0.07975649833679199f);
    p = fma_(p, u, 0.19339320063591003f);
    p = fma_(p, u, 0.2018875926733017f);
    p = fma_(p, u, 0.2264431118965149f);
    p = fma_(p, u, 0.22563423216342926f);
    return p * u * bell;
}

// x E(x^2) below 0.75, fitted on [0, 1]; above, 1 - erfc.
STROP_INLINE float erf_(float x) {
    const float size = __builtin_fabsf(x), w = x * x;
    float p = 7.853860734030604e-05f;
    p = fma_(p, w, -0.0008010193705558777f);
    p = fma_(p, w, 0.005188327748328447f);
    p = fma_(p, w, -0.026853812858462334f);
    p = fma_(p, w, 0.1128358542919159f);
    p = fma_(p, w, -0.3761262595653534f);
    p = fma_(p, w, 1.1283791065216064f);
    const float result = size < 0.75f ? p * size : 1.0f - erfc_positive_(size, exp_(-w));
    return x == x ? __builtin_copysignf(result, x) : x;
}
STROP_INLINE double erf_(double x) { return std::erf(x); }

// x Phi(x): the smaller of the two tails is computed directly, so nothing cancels for negative x.
STROP_INLINE float gelu_(float x) {
    const float size = __builtin_fabsf(x), clipped = size < 14.0f ? size : 14.0f;
    const float tail = 0.5f * x * erfc_positive_(0.70710678f * clipped, exp_minus_square_(clipped, 0.5f));
    const float result = x < 0.0f ? tail : x - tail;
    // Far out the tail is x * 0, which is NaN for -infinity, as the formula has it.
    const float finite = x < -14.0f ? x * 0.0f : result;
    return x == std::numeric_limits<float>::infinity() ? x : finite;
}
STROP_INLINE double gelu_(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }

// x / 2 (1 + tanh u) = x / (1 + e^-2u): one exponential, and no cancellation for negative x.
STROP_INLINE float gelu_tanh_(float x) {
    const float twice = x * fma_(0.0713548163f, x * x, 1.5957691216f);
    const float result = x / (1.0f + exp_(-twice));
    return x < -14.0f ? x * 0.0f : result;
}
STROP_INLINE double gelu_tanh_(double x) {
    const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    return x < -40.0 ? x * 0.0 : x / (1.0 + std::exp(-2.0 * u));
}

template <class A> STROP_INLINE A silu_(A x) { return x / (A(1) + exp_(-x)); }

template <class A> STROP_INLINE A softplus_(A x, A beta, A threshold) {
    const A scaled = beta * x;
    const A size = scaled < A(0) ? -scaled : scaled;
    const A soft = ((scaled > A(0) ? scaled : A(0)) + log1p_unit_(exp_(-size))) / beta;
    return scaled > threshold ? x : (x == x ? soft : x);
}

// x tanh(ln(1 + e)) with e = e^x is x n / (n + 2) with n = e (e + 2): one exponential.
template <class A> STROP_INLINE A mish_(A x) {
    const A e = exp_(x > A(20) ? A(20) : x), n = e * (e + A(2));
    return x > A(20) ? x : x * (n / (n + A(2)));
}

template <class A> STROP_INLINE A log_sigmoid_(A x) {
    const A size = x < A(0) ? -x : x;
    const A result = (x < A(0) ? x : A(0)) - log1p_unit_(exp_(-size));
    return x == x ? result : x;
}

STROP_INLINE float sqrt_(float x) { return __builtin_sqrtf(x); }
STROP_INLINE double sqrt_(double x) { return __builtin_sqrt(x); }
template <class A> STROP_INLINE A rsqrt_(A x) { return A(1) / sqrt_(x); }
template <class A> STROP_INLINE A reciprocal_(A x) { return A(1) / x; }
template <class A> STROP_INLINE A square_(A x) { return x * x; }
template <class A> STROP_INLINE A cube_(A x) { return x * x * x; }
template <class A> STROP_INLINE A neg_(A x) { return -x; }
STROP_INLINE float abs_(float x) { return __builtin_fabsf(x); }
STROP_INLINE double abs_(double x) { return __builtin_fabs(x); }

// NaN stays in all of these: a comparison with it is false, and then x is kept.
template <class A> STROP_INLINE A relu_(A x) { return x < A(0) ? A(0) : x; }
template <class A> STROP_INLINE A clamp_min_(A x, A low) { return x < low ? low : x; }
template <class A> STROP_INLINE A clamp_max_(A x, A high) { return x > high ? high : x; }
template <class A> STROP_INLINE A maximum_(A a, A b) {
    const A larger = b > a ? b : a;
    return b != b ? b : larger;
}
template <class A> STROP_INLINE A minimum_(A a, A b) {
    const A smaller = b < a ? b : a;
    return b != b ? b : smaller;
}
template <class A> STROP_INLINE A leaky_relu_(A x, A slope) { return x > A(0) ? x : x * slope; }
template <class A> STROP_INLINE A elu_(A x, A negative, A positive, A inner) {
    return x > A(0) ? x * positive : expm1_(x * inner) * negative;
}
template <class A> STROP_INLINE A hardsigmoid_(A x) {
    return clamp_max_(clamp_min_(x + A(3), A(0)), A(6)) * (A(1) / A(6));
}
template <class A> STROP_INLINE A hardswish_(A x) { return x * clamp_max_(clamp_min_(x + A(3), A(0)), A(6)) * (A(1) / A(6)); }
template <class A> STROP_INLINE A where_(A condition, A yes, A no) { return condition != A(0) ? yes : no; }
