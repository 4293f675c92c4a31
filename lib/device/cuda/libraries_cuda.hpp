/// Libraries: what libraries keep for one GPU, once for all of its streams.
#pragma once

#include <map>
#include <memory>
#include <typeindex>

namespace ziggurat::device::cuda {

/// Makes GPU `device` that of the calling thread.
void use_device(int device);
/// The same for destructors: false if the GPU cannot be used.
bool try_device(int device) noexcept;

/// Objects by type, each made when somebody asks for it first. One thread calls.
class Libraries {
  public:
    explicit Libraries(int device) noexcept : device_{device} {}

    /// The object of that type, made while the GPU is that of the calling thread. It may outlive this.
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
