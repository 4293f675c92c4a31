/// Software prefetch of memory.
#pragma once

namespace ziggurat::kernels {

enum class Access { read, write };

/// Prefetches the cache lines of `count` elements from `first`, which is aligned to a line.
///
/// The address may be outside of mapped memory.
template <Access access = Access::read, class T>
[[gnu::always_inline]] inline void prefetch(const T* first, int count) {
    for (int i = 0; i < count; i += static_cast<int>(64 / sizeof(T))) {
        __builtin_prefetch(first + i, access == Access::write ? 1 : 0);
    }
}

}  // namespace ziggurat::kernels
