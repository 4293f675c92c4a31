/// Sole ownership of a handle of a C library.
#pragma once

#include <utility>

namespace ziggurat {

/// Owns one handle and closes it exactly once.
///
/// `Traits` defines the type of the handle and how to close it:
///
///     struct MpiCommTraits {
///         using Handle = MPI_Comm;
///         static Handle null() noexcept;
///         static void close(Handle) noexcept;   // must not throw: it runs in destructors
///     };
///
/// Moving leaves the source empty; assigning closes the previous handle.
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

    /// Releases the handle without closing it.
    [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Traits::null()); }

    void swap(UniqueHandle& other) noexcept { std::swap(handle_, other.handle_); }

  private:
    Handle handle_ = Traits::null();
};

}  // namespace ziggurat
