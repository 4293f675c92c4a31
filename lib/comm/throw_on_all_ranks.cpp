#include "comm/throw_on_all_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "base/error.hpp"
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
    } catch (const std::exception& error) {
        code = static_cast<int>(ErrorKind::resource);
        problem = fmt::format("{} ({}).", what, error.what());
    }
    std::array<std::int64_t, 1> worst{code};
    all_reduce_max(group, worst);
    if (worst[0] == 0) {
        return;
    }
    const auto mine = code == 0 ? ""
                      : group.size() == 1
                          ? problem
                          : fmt::format("rank {} ({}): {}", group.rank(), machine_name(), problem);
    throw Error{static_cast<ErrorKind>(worst[0]), first_text(group, mine)};
}

}  // namespace ziggurat::comm
