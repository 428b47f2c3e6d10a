// How elements lie in memory, and the type in which they are computed with: bfloat16 is widened on load and rounded to nearest
// even on store, as torch does.
#pragma once
#include <cstdint>
#include <cstring>

#define STROP_INLINE inline __attribute__((always_inline))

struct bfloat16 {
    uint16_t bits;
};

template <class To, class From> STROP_INLINE To bit_cast(From value) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    std::memcpy(&result, &value, sizeof(To));
    return result;
}

template <class T> struct Compute { using type = T; };
template <> struct Compute<bfloat16> { using type = float; };
template <class T> using compute_t = typename Compute<T>::type;

template <class T> STROP_INLINE compute_t<T> widen(T value) { return value; }
STROP_INLINE float widen(bfloat16 value) { return bit_cast<float>(uint32_t(value.bits) << 16); }

template <class T> STROP_INLINE T narrow(compute_t<T> value) { return value; }
template <> STROP_INLINE bfloat16 narrow<bfloat16>(float value) {
    const uint32_t bits = bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = 0x7fc0u;
    return bfloat16{uint16_t(value == value ? rounded : quiet)};
}
