#include "comm/throw_on_all_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "base/error.hpp"
#include "base/stop_check.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"

namespace ziggurat::comm {

void throw_on_all_ranks(const Context& group, const std::string& what, const std::function<void()>& work) {
    int code = 0;
    std::string problem;
    try {
        work();
    } catch (const Error& error) {
        code = error.exit_code();
        problem = error.what();
    } catch (const Stopped& stopped) {
        code = exit_code_run_again;  // above those of errors, which the next start finds again
        problem = stopped.what();
    } catch (const std::exception& error) {
        code = static_cast<int>(ErrorKind::resource);
        problem = fmt::format("{} ({}).", what, error.what());
    }
    std::array<std::int64_t, 1> worst{code};
    all_reduce_max(group, worst);
    if (worst[0] == 0) {
        return;
    }
    if (worst[0] == exit_code_run_again) {
        throw Stopped{first_text(group, code == exit_code_run_again ? problem : ""), true};
    }
    const auto mine = code == 0 ? ""
                      : group.size() == 1
                          ? problem
                          : fmt::format("rank {} ({}): {}", group.rank(), machine_name(), problem);
    throw Error{static_cast<ErrorKind>(worst[0]), first_text(group, mine)};
}

void stop_on_all_ranks(const Context& group, const std::function<void()>& work) {
    std::string stopped;
    try {
        work();
    } catch (const Stopped& stop) {
        stopped = stop.what();
    }
    if (is_stopped_on_any(group, stopped)) {
        throw Stopped{stopped, true};
    }
}

bool is_stopped_on_any(const Context& group, std::string& stopped) {
    std::array<std::int64_t, 1> is_stopped{stopped.empty() ? 0 : 1};
    all_reduce_max(group, is_stopped);
    if (is_stopped[0] == 0) {
        return false;
    }
    stopped = first_text(group, stopped);
    return true;
}

}  // namespace ziggurat::comm
