#include "app/start/thread_binding.hpp"

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

/// Variables that bind threads, unless OMP_PROC_BIND is false.
constexpr std::array<const char*, 3> names{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};

/// Removed `NAME=value` of the environment, or nullptr; indexed as `names`.
std::array<char*, names.size()> set_aside{};

/// Returns the index in `names` of the name of `variable`; names.size() if it is not in the list.
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

/// Removes the variables from the environment.
///
/// Runs before any library of the process is initialized, so it
/// calls string functions only.
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

/// The loader calls the functions in this section before it initializes libraries such as OpenMP.
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
                     "{} {} ignored: OpenMP would bind all threads of a rank to one core, because it does "
                     "not know of other ranks; threads use the cores that the launcher assigns",
                     fmt::join(all, " and "), all.size() == 1 ? "is" : "are");
}

}  // namespace ziggurat::app
