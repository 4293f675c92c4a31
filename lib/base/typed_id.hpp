/// Typed indices, and vectors that take only their own kind of index.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

namespace ziggurat {

/// Index into one kind of list; -1: none. It converts from and to int, but not to another kind of id.
///
/// \tparam Kind  a tag that makes the types different: `using UnitId = TypedId<struct UnitIdKind>`
template <class Kind>
class TypedId {
  public:
    constexpr TypedId() = default;
    constexpr TypedId(int index) noexcept : index_{index} {}
    /// The compiler rejects an id of another kind, also in a cast.
    template <class Other>
    TypedId(TypedId<Other>) = delete;

    constexpr operator int() const noexcept { return index_; }

    constexpr TypedId& operator++() noexcept {
        ++index_;
        return *this;
    }
    constexpr TypedId& operator--() noexcept {
        --index_;
        return *this;
    }

    template <class Other>
    requires(!std::same_as<Kind, Other>) friend bool operator==(TypedId, TypedId<Other>) = delete;

  private:
    int index_ = -1;
};

/// std::vector whose elements are selected by a TypedId, or by an integer that the caller counts.
template <class Id, class T>
class IndexedVector : public std::vector<T> {
    using Base = std::vector<T>;

  public:
    using Base::Base;
    IndexedVector() = default;
    IndexedVector(Base elements) : Base{std::move(elements)} {}

    /// \pre the vector has that element
    typename Base::reference operator[](Id id) { return Base::operator[](position(id)); }
    typename Base::const_reference operator[](Id id) const { return Base::operator[](position(id)); }
    typename Base::reference operator[](std::integral auto index) {
        return Base::operator[](position(index));
    }
    typename Base::const_reference operator[](std::integral auto index) const {
        return Base::operator[](position(index));
    }
    /// \throws std::out_of_range
    typename Base::reference at(Id id) { return Base::at(position(id)); }
    typename Base::const_reference at(Id id) const { return Base::at(position(id)); }
    typename Base::reference at(std::integral auto index) { return Base::at(position(index)); }
    typename Base::const_reference at(std::integral auto index) const { return Base::at(position(index)); }

    /// Returns the id after that of the last element.
    Id end_id() const noexcept { return static_cast<int>(Base::size()); }

  private:
    static constexpr std::size_t position(auto index) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(index));
    }
};

}  // namespace ziggurat
