#include "data/sigbus_handler.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.hpp"

namespace ziggurat::data {
namespace {

constexpr std::size_t max_mappings = 4096;
constexpr std::size_t longest_path = 400;

/// A mapping that the signal handler reads. The handler must not lock or allocate.
struct Mapping {
    std::atomic<std::uintptr_t> begin{0};  ///< 0: free; 1: being filled
    std::uintptr_t end = 0;
    std::array<char, longest_path + 1> path{};
};

std::array<Mapping, max_mappings> mappings;
struct sigaction handled_before {};

void write_stderr(std::string_view text) {
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

extern "C" void name_lost_page(int number, siginfo_t* info, void*) {
    if (info->si_code <= 0) {  // another process has sent the signal
        sigaction(number, &handled_before, nullptr);
        ::raise(number);
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (const auto& mapping : mappings) {
        const auto begin = mapping.begin.load(std::memory_order_acquire);
        if (begin > 1 && begin <= address && address < mapping.end) {
            write_stderr("ziggurat: error: cannot read '");
            write_stderr(mapping.path.data());
            write_stderr(
                "' (it was truncated while it was in use, or its disk failed). Restore it, then start "
                "the job again.\n");
            ::_exit(static_cast<int>(ErrorKind::resource));
        }
    }
    // Not a registered mapping: the previous handler gets the repeated fault.
    sigaction(number, &handled_before, nullptr);
}

void handle_lost_pages() noexcept {
    static const bool is_handled = [] {
        struct sigaction action {};
        action.sa_sigaction = name_lost_page;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGBUS, &action, &handled_before) == 0;
    }();
    static_cast<void>(is_handled);
}

}  // namespace

void name_lost_pages_of(std::span<const std::byte> pages, const std::string& path) noexcept {
    handle_lost_pages();
    const auto begin = reinterpret_cast<std::uintptr_t>(pages.data());
    for (auto& mapping : mappings) {
        std::uintptr_t none = 0;
        if (mapping.begin.compare_exchange_strong(none, 1)) {
            const auto length = std::min(path.size(), longest_path);
            std::memcpy(mapping.path.data(), path.data(), length);
            mapping.path[length] = '\0';
            mapping.end = begin + pages.size();
            mapping.begin.store(begin, std::memory_order_release);
            return;
        }
    }
}

void unregister_mapping(std::span<const std::byte> pages) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(pages.data());
    for (auto& mapping : mappings) {
        if (mapping.begin.load() == begin) {
            mapping.begin.store(0);
            return;
        }
    }
}

}  // namespace ziggurat::data
