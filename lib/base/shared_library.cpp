#include "base/shared_library.hpp"

#include <dlfcn.h>

#include <utility>

#include "base/error.hpp"

namespace ziggurat {

SharedLibrary::SharedLibrary(std::string file, std::string remedy)
    : file_{std::move(file)}, remedy_{std::move(remedy)}, handle_{dlopen(file_.c_str(), RTLD_NOW)} {
    if (handle_ == nullptr) {
        throw Error{ErrorKind::resource, "cannot open " + file_ + " (" + dlerror() + "). " + remedy_};
    }
}

void* SharedLibrary::address_of(const char* name) const {
    void* const address = dlsym(handle_, name);
    if (address == nullptr) {
        throw Error{ErrorKind::resource,
                    file_ + " has no function " + name + ", so it is too old. " + remedy_};
    }
    return address;
}

}  // namespace ziggurat
