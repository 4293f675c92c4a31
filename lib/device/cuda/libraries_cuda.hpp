/// Libraries: handles of CUDA libraries of one GPU, shared by its streams.
#pragma once

#include <map>
#include <memory>
#include <typeindex>

namespace ziggurat::device::cuda {

/// Makes GPU `device` the current GPU of the calling thread.
void use_device(int device);
/// Variant of use_device() for destructors. Returns false if the GPU cannot be used.
bool try_device(int device) noexcept;

/// Objects by type, each created on first use. Used by one thread.
class Libraries {
  public:
    explicit Libraries(int device) noexcept : device_{device} {}

    /// Returns the object of that type; creates it with the GPU as the current one.
    ///
    /// It may outlive this object.
    template <class Library>
    std::shared_ptr<Library> get() {
        auto& made = made_[std::type_index{typeid(Library)}];
        if (made == nullptr) {
            use_device(device_);
            made = std::make_shared<Library>();
        }
        return std::static_pointer_cast<Library>(made);
    }

  private:
    int device_;
    std::map<std::type_index, std::shared_ptr<void>> made_;
};

}  // namespace ziggurat::device::cuda
