/// Asks for memory ahead of its use.
#pragma once

namespace ziggurat::kernels {

enum class Access { read, write };

/// The lines of `count` elements that begin on a line; it may name memory that does not exist.
template <Access access = Access::read, class T>
[[gnu::always_inline]] inline void prefetch(const T* first, int count) {
    for (int i = 0; i < count; i += static_cast<int>(64 / sizeof(T))) {
        __builtin_prefetch(first + i, access == Access::write ? 1 : 0);
    }
}

}  // namespace ziggurat::kernels
