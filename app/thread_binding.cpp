#include "app/thread_binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ziggurat::app {
namespace {

/// What binds threads, where OMP_PROC_BIND does not say false.
constexpr std::array<const char*, 3> names{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};

/// `NAME=value` of the environment that the program was started with, or null; by name, as in `names`.
std::array<char*, names.size()> set_aside{};

/// The number of the name that `variable` has; names.size() for another one.
std::size_t number_of(const char* variable) noexcept {
    std::size_t number = 0;
    for (const char* name : names) {
        const std::size_t length = std::strlen(name);
        if (std::strncmp(variable, name, length) == 0 && variable[length] == '=') {
            break;
        }
        ++number;
    }
    return number;
}

/// Before any library of the process starts, so nothing here asks more of one than to look at text.
void set_binding_aside(int /*argc*/, char** /*argv*/, char** environment) noexcept {
    for (char** variable = environment; *variable != nullptr; ++variable) {
        if (strcasecmp(*variable, "OMP_PROC_BIND=false") == 0) {
            return;
        }
    }
    char** kept = environment;
    for (char** variable = environment; *variable != nullptr; ++variable) {
        if (const std::size_t number = number_of(*variable); number < names.size()) {
            set_aside[number] = *variable;
        } else {
            *kept++ = *variable;
        }
    }
    *kept = nullptr;
}

/// The loader calls what this section lists before it starts the libraries, of which one is OpenMP's.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)(int, char**, char**) = set_binding_aside;

}  // namespace

std::vector<std::string> binding_set_aside() {
    std::vector<std::string> all;
    for (const char* variable : set_aside) {
        if (variable != nullptr) {
            all.emplace_back(variable);
        }
    }
    return all;
}

void put_binding_back() {
    for (char* variable : set_aside) {
        if (variable != nullptr) {
            ::putenv(variable);
        }
    }
}

std::string binding_note() {
    const auto all = binding_set_aside();
    return all.empty()
               ? ""
               : fmt::format(
                     "{} {} set aside: OpenMP would bind all of a rank to one core before it knows of other "
                     "ranks; threads have the cores that the launcher gives",
                     fmt::join(all, " and "), all.size() == 1 ? "is" : "are");
}

}  // namespace ziggurat::app
