#include "train/step/same_program.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"

namespace ziggurat::train {

void expect_same_program(const std::string& version, const comm::Context& world) {
    const auto first = comm::broadcast(world, version);
    const auto mine = version == first ? ""
                                       : fmt::format("rank {} on {} runs '{}'", world.rank(),
                                                     printable(comm::machine_name()), printable(version));
    const auto other = comm::first_text(world, mine);
    if (!other.empty()) {
        throw Error{
            ErrorKind::resource,
            fmt::format(
                "not all ranks run the same program ({}, rank 0 '{}'). Build it once and start the same "
                "build on all nodes.",
                other, printable(first))};
    }
}

}  // namespace ziggurat::train
