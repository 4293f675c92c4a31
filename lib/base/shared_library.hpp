/// SharedLibrary: a library of the system that is opened when the program needs it, and not linked.
#pragma once

#include <string>

namespace ziggurat {

/// Open until the process ends.
class SharedLibrary {
  public:
    /// \param file    name that the loader searches for, such as "libnccl.so.2"
    /// \param remedy  sentence that ends the message of an error
    /// Errors: Error{resource} with the loader's reason if it cannot be opened
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
