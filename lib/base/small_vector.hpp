/// SmallVector: a vector with inline storage, for lists that are nearly always short.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ziggurat {

/// Vector with the used part of std::vector's interface, without allocation for up to `own` elements.
///
/// Elements are copied as bytes. Their addresses are valid until the list grows or is moved.
template <class T, std::size_t own>
class SmallVector {
    static_assert(std::is_trivially_copyable_v<T> && own > 0);

  public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    SmallVector() = default;
    SmallVector(std::initializer_list<T> elements) { append(elements.begin(), elements.end()); }
    template <std::forward_iterator Iterator>
    SmallVector(Iterator first, Iterator last) {
        append(first, last);
    }
    SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
    SmallVector(SmallVector&& other) noexcept
        : size_{std::exchange(other.size_, 0)},
          capacity_{std::exchange(other.capacity_, own)},
          many_{std::move(other.many_)},
          few_{other.few_} {}
    SmallVector& operator=(const SmallVector& other) {
        if (this != &other) {
            size_ = 0;
            append(other.begin(), other.end());
        }
        return *this;
    }
    SmallVector& operator=(SmallVector&& other) noexcept {
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, own);
        many_ = std::move(other.many_);
        few_ = other.few_;
        return *this;
    }
    ~SmallVector() = default;

    T* data() noexcept { return many_ ? many_.get() : few_.data(); }
    const T* data() const noexcept { return many_ ? many_.get() : few_.data(); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }

    /// \pre i < size()
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    /// \throws std::out_of_range
    const T& at(std::size_t i) const {
        if (i >= size_) {
            throw std::out_of_range{"SmallVector::at"};
        }
        return data()[i];
    }
    /// \pre not empty
    T& front() { return data()[0]; }
    const T& front() const { return data()[0]; }
    T& back() { return data()[size_ - 1]; }
    const T& back() const { return data()[size_ - 1]; }

    void push_back(T element) {
        reserve(size_ + 1);
        data()[size_++] = element;
    }
    /// \pre the range is not part of this list
    template <std::forward_iterator Iterator>
    void append(Iterator first, Iterator last) {
        const std::size_t more = std::distance(first, last);
        reserve(size_ + more);
        std::copy(first, last, end());
        size_ += more;
    }
    /// Keeps the first `size` elements.
    /// \pre size <= size()
    void shorten(std::size_t size) noexcept { size_ = size; }
    void clear() noexcept { size_ = 0; }

    friend bool operator==(const SmallVector& a, const SmallVector& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    void reserve(std::size_t needed) {
        if (needed > capacity_) {
            const auto capacity = std::max(needed, 2 * capacity_);
            auto larger = std::make_unique_for_overwrite<T[]>(capacity);
            std::copy(begin(), end(), larger.get());
            many_ = std::move(larger);
            capacity_ = capacity;
        }
    }

    std::size_t size_ = 0;
    std::size_t capacity_ = own;
    std::unique_ptr<T[]> many_;  ///< used instead of `few_` if set
    std::array<T, own> few_{};
};

}  // namespace ziggurat
