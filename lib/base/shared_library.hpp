/// SharedLibrary: a library of the system that is loaded at run time instead of linked.
#pragma once

#include <string>

namespace ziggurat {

/// Library that stays loaded until the process ends.
class SharedLibrary {
  public:
    /// \param file    name that the loader searches for, such as "libnccl.so.2"
    /// \param remedy  last sentence of an error message
    /// Errors: Error{resource} with the reason of the loader if it cannot be opened
    SharedLibrary(std::string file, std::string remedy);

    /// Sets `function` to the function of that name.
    ///
    /// Errors: Error{resource} if the library has no such function
    template <class Function>
    void find(const char* name, Function*& function) const {
        function = reinterpret_cast<Function*>(address_of(name));
    }

  private:
    void* address_of(const char* name) const;

    std::string file_, remedy_;
    void* handle_;
};

}  // namespace ziggurat
