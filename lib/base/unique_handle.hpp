/// Sole ownership of a C library's handle.
#pragma once

#include <utility>

namespace ziggurat {

/// Owns one handle and closes it exactly once.
///
/// `Traits` says what the handle is and how it dies:
///
///     struct MpiCommTraits {
///         using Handle = MPI_Comm;
///         static Handle null() noexcept;
///         static void close(Handle) noexcept;   // must not throw: it runs in destructors
///     };
///
/// Moving leaves the source empty; assigning closes what was held before.
template <class Traits>
class UniqueHandle {
  public:
    using Handle = typename Traits::Handle;

    UniqueHandle() noexcept = default;
    explicit UniqueHandle(Handle handle) noexcept : handle_{handle} {}
    UniqueHandle(UniqueHandle&& other) noexcept : handle_{other.release()} {}
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        UniqueHandle{std::move(other)}.swap(*this);
        return *this;
    }
    ~UniqueHandle() {
        if (*this) {
            Traits::close(handle_);
        }
    }

    Handle get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != Traits::null(); }

    /// Gives the handle up without closing it.
    [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Traits::null()); }

    void swap(UniqueHandle& other) noexcept { std::swap(handle_, other.handle_); }

  private:
    Handle handle_ = Traits::null();
};

}  // namespace ziggurat
