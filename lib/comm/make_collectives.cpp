#include "comm/make_collectives.hpp"

#include <utility>

#include "comm/mpi_collectives.hpp"
#include "comm/shared_collectives.hpp"

namespace ziggurat::comm {

std::unique_ptr<Collectives> make_collectives(const Communicator& group,
                                              NodeMemory& node,
                                              const std::string& name) {
    if (node.is_on_this_node(group)) {
        if (auto seats = node.make_seats(group)) {
            return std::make_unique<SharedCollectives>(group, node, std::move(*seats), name);
        }
    }
    return std::make_unique<MpiCollectives>(group);
}

}  // namespace ziggurat::comm
