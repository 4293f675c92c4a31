#include "schedule/pipeline_order_receives.hpp"

#include <utility>
#include <vector>

namespace ziggurat::schedule {

void post_receives_early(Program& program) {
    std::vector<std::size_t> receives;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (program.ops[i].kind == OpKind::receive) {
            receives.push_back(i);
        }
    }
    std::vector<Op> ordered;
    ordered.reserve(program.ops.size());
    std::size_t next = 0;
    const auto post = [&] {
        if (next < receives.size()) {
            ordered.push_back(std::move(program.ops[receives[next++]]));
        }
    };
    post();
    std::size_t met = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (met < receives.size() && receives[met] == i) {
            ++met;
            post();
        } else {
            ordered.push_back(std::move(program.ops[i]));
        }
    }
    program.ops = std::move(ordered);
}

}  // namespace ziggurat::schedule
