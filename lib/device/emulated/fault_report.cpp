#include "device/emulated/fault_report.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "base/error.hpp"

namespace ziggurat::device {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Range of protected addresses. Global, because a signal handler has no other access to it.
struct PublishedRange {
    std::atomic<std::uintptr_t> begin{0};  // 0: free
    std::atomic<std::uintptr_t> end{0};
    std::array<char, 40> purpose{};
};
std::array<PublishedRange, 64> published_ranges;
std::mutex reported_mutex;
struct sigaction action_before {};

void write_stderr(const char* text) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void print_number(std::uintptr_t number) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1;
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number > 0);
    write_stderr(&digits[at]);
}

/// Prints which range was accessed, and restores the previous handler.
///
/// The fault then repeats, and the previous handler gets it.
void on_fault(int, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (const auto& range : published_ranges) {
        if (address >= range.begin.load() && address < range.end.load()) {
            write_stderr("ziggurat: a thread of the host touched byte ");
            print_number(address - range.begin.load());
            write_stderr(" of ");
            write_stderr(range.purpose.data());
            write_stderr(", which is memory of a device\n");
        }
    }
    sigaction(SIGSEGV, &action_before, nullptr);
}

int report_of(std::uintptr_t begin, std::uintptr_t end, const char* purpose) {
    const std::lock_guard lock{reported_mutex};
    static const bool is_set_up = [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        return sigaction(SIGSEGV, &action, &action_before) == 0;
    }();
    for (std::size_t i = 0; is_set_up && i < published_ranges.size(); ++i) {
        auto& range = published_ranges[i];
        if (range.begin == 0) {
            std::strncpy(range.purpose.data(), purpose, range.purpose.size() - 1);
            range.end = end;
            range.begin = begin;
            return static_cast<int>(i);
        }
    }
    return -1;
}

}  // namespace

FaultingRange::FaultingRange(std::int64_t bytes, const char* purpose)
    : reserved_bytes_{static_cast<std::size_t>(bytes) + 2 * huge_page_bytes} {
    reserved_ = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ == MAP_FAILED) {
        throw Error{ErrorKind::resource, "cannot reserve " + std::to_string(bytes) + " addresses for " +
                                             std::string{purpose} + " (" + std::strerror(errno) +
                                             "). Raise the limit of address space (ulimit -v)."};
    }
    const auto start = reinterpret_cast<std::uintptr_t>(reserved_);
    const auto aligned = (start + huge_page_bytes) / huge_page_bytes * huge_page_bytes;
    begin_ = static_cast<std::byte*>(reserved_) + (aligned - start);
    reported_ = report_of(aligned, aligned + static_cast<std::uintptr_t>(bytes), purpose);
}

FaultingRange::~FaultingRange() {
    if (reported_ >= 0) {
        const std::lock_guard lock{reported_mutex};
        auto& range = published_ranges[reported_];
        range.end = 0;
        range.begin = 0;
    }
    munmap(reserved_, reserved_bytes_);
}

}  // namespace ziggurat::device
