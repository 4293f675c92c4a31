#include "tests/emulated_cuda/settings.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace emulated_cuda {
namespace {

[[noreturn]] void refuse(std::string_view variable, std::string_view value, const char* wanted) {
    std::fprintf(stderr, "%.*s=%.*s: %s\n", static_cast<int>(variable.size()), variable.data(),
                 static_cast<int>(value.size()), value.data(), wanted);
    std::_Exit(70);
}

std::uint64_t number(std::string_view variable, std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        refuse(variable, text, "a whole number is wanted");
    }
    return value;
}

std::uint64_t number_of(const char* variable, std::uint64_t default_value) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? default_value : number(variable, text);
}

Mode mode_of_environment() {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    const std::string_view default_value = "threads";
#else
    const std::string_view default_value = "late";
#endif
    const char* const text = std::getenv("ZIGGURAT_EMULATED_CUDA");
    const auto mode = text == nullptr ? default_value : std::string_view{text};
    if (mode != "late" && mode != "threads") {
        refuse("ZIGGURAT_EMULATED_CUDA", mode, "there are late and threads");
    }
    return mode == "late" ? Mode::late : Mode::threads;
}

int first_of_environment() {
    constexpr const char* variable = "ZIGGURAT_EMULATED_CUDA_FIRST";
    const char* const text = std::getenv(variable);
    if (text == nullptr || std::string_view{text} != "rank") {
        return static_cast<int>(number_of(variable, 0));
    }
    return static_cast<int>(number_of("OMPI_COMM_WORLD_RANK", 0));
}

constexpr std::array<std::string_view, 8> fault_names{"malloc",  "pin",  "copy", "launch",
                                                      "illegal", "lost", "nccl", "nccl_start"};

struct Faults {
    std::array<std::uint64_t, fault_names.size()> at = {};  // 0: never
    std::array<std::uint64_t, fault_names.size()> calls = {};
};

Faults read_faults(std::string_view text) {
    constexpr const char* variable = "ZIGGURAT_EMULATED_CUDA_FAULT";
    Faults faults;
    while (!text.empty()) {
        const auto one = text.substr(0, text.find(','));
        const auto colon = one.find(':');
        std::size_t kind = 0;
        while (kind < fault_names.size() && fault_names[kind] != one.substr(0, colon)) {
            ++kind;
        }
        if (kind == fault_names.size() || colon == std::string_view::npos) {
            refuse(variable, one,
                   "wanted is malloc, pin, copy, launch, illegal, lost, nccl or nccl_start, and :N");
        }
        faults.at[kind] = number(variable, one.substr(colon + 1));
        text.remove_prefix(one.size() == text.size() ? one.size() : one.size() + 1);
    }
    return faults;
}

std::mutex faults_mutex;

Faults& the_faults() {
    static Faults faults = [] {
        const char* const text = std::getenv("ZIGGURAT_EMULATED_CUDA_FAULT");
        return read_faults(text == nullptr ? "" : text);
    }();
    return faults;
}

int& the_driver_version() {
    static int version = static_cast<int>(number_of("ZIGGURAT_EMULATED_CUDA_DRIVER", 13000));
    return version;
}

}  // namespace

const Settings& settings() {
    static const Settings read{
        .mode = mode_of_environment(),
        .seed = number_of("ZIGGURAT_EMULATED_CUDA_SEED", 0),
        .memory = number_of("ZIGGURAT_EMULATED_CUDA_MEMORY", std::uint64_t{1} << 30),
        .devices = static_cast<int>(number_of("ZIGGURAT_EMULATED_CUDA_DEVICES", 1)),
        .first = first_of_environment(),
        .shared_bytes = number_of("ZIGGURAT_EMULATED_CUDA_SHARED", 227 << 10),  // as compute capability 9.0
    };
    return read;
}

bool is_to_fail(Fault fault) {
    const std::lock_guard lock{faults_mutex};
    auto& faults = the_faults();
    const auto kind = static_cast<std::size_t>(fault);
    return ++faults.calls[kind] == faults.at[kind];
}

void set_faults(const std::string& faults) {
    const std::lock_guard lock{faults_mutex};
    the_faults() = read_faults(faults);
}

int driver_version() {
    return the_driver_version();
}

void set_driver_version(int version) {
    the_driver_version() = version;
}

}  // namespace emulated_cuda
