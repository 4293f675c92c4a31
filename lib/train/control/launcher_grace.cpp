#include "train/control/launcher_grace.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "comm/watch/process_state.hpp"

namespace ziggurat::train {
namespace {

constexpr std::array<std::string_view, 3> launchers{"mpirun", "orterun", "mpiexec"};
constexpr std::array<std::string_view, 1> daemons{"orted"};

/// Variable with the timeout in seconds, by which Open MPI passes its setting to ranks.
constexpr const char* timeout_variable = "OMPI_MCA_odls_base_sigkill_timeout";
constexpr int usual_timeout = 1;

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

int timeout() {
    int seconds = usual_timeout;
    if (const char* set = std::getenv(timeout_variable)) {
        const std::string_view text{set};
        std::from_chars(text.data(), text.data() + text.size(), seconds);
    }
    return std::max(0, seconds);
}

}  // namespace

std::optional<LauncherGrace> find_launcher_end(pid_t sender) {
    if (sender <= 0 || comm::find_launcher() != sender) {
        return std::nullopt;
    }
    std::string name = comm::read_proc_file("/proc/" + std::to_string(sender) + "/comm");
    name.erase(std::min(name.size(), name.find('\n')));
    if (is_one_of(daemons, name)) {
        return LauncherGrace{.name = "mpirun", .seconds_to_kill = static_cast<double>(timeout())};
    }
    if (is_one_of(launchers, name)) {
        return LauncherGrace{.name = name, .pid = sender, .seconds_to_kill = static_cast<double>(timeout())};
    }
    return std::nullopt;
}

std::optional<LauncherGrace> launcher_end_of(const StopSignals& signals) {
    return signals.signal() == SIGTERM ? find_launcher_end(signals.sender()) : std::nullopt;
}

}  // namespace ziggurat::train
