#include "train/account/resident_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace ziggurat::train {

ResidentMemory::ResidentMemory()
    : statm_{::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)}, page_bytes_{::sysconf(_SC_PAGESIZE)} {}

std::int64_t ResidentMemory::own_bytes() const noexcept {
    // "size resident shared ...", in pages; shared counts files and shared memory.
    std::array<char, 256> text{};
    const ssize_t length = statm_.get() < 0 ? 0 : ::pread(statm_.get(), text.data(), text.size(), 0);
    std::array<std::int64_t, 3> pages{};
    const char* at = text.data();
    const char* const end = text.data() + (length > 0 ? length : 0);
    for (auto& number : pages) {
        while (at < end && *at == ' ') {
            ++at;
        }
        const auto [next, problem] = std::from_chars(at, end, number);
        if (problem != std::errc{}) {
            return 0;
        }
        at = next;
    }
    return (pages[1] - pages[2]) * page_bytes_;
}

std::int64_t ResidentMemory::own_peak_bytes() const {
    std::ifstream status{"/proc/self/status"};
    std::int64_t kibibytes = 0;
    for (std::string line; std::getline(status, line);) {
        std::istringstream words{line};
        std::string name;
        std::int64_t count = 0;
        words >> name >> count;
        kibibytes += name == "VmHWM:" ? count : name == "RssFile:" || name == "RssShmem:" ? -count : 0;
    }
    return 1024 * kibibytes;
}

}  // namespace ziggurat::train
