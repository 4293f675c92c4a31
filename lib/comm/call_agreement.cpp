#include "comm/call_agreement.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/check_mpi.hpp"

namespace ziggurat::comm {
namespace {

/// Returns a hash (FNV-1a) of all properties that must be equal on all members.
std::uint64_t fingerprint(const CollectiveCall& call) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto mix = [&hash](std::int64_t word) {
        for (int byte = 0; byte < 8; ++byte) {
            hash = (hash ^ (static_cast<std::uint64_t>(word) >> (8 * byte) & 0xffu)) * 0x100000001b3u;
        }
    };
    mix(static_cast<std::int64_t>(call.kind));
    mix(static_cast<std::int64_t>(call.type));
    mix(call.sum_group);
    mix(call.peer);
    if (!has_output_blocks(call.kind)) {
        for (const auto& block : call.blocks) {
            mix(block.offset_bytes);
            mix(block.bytes);
        }
    }
    return hash;
}

}  // namespace

void check_agreement(const Communicator& group, const CollectiveCall& call, int number) {
    const std::uint64_t mine = fingerprint(call);
    std::array<std::uint64_t, 2> extremes{mine, ~mine};
    ZG_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MAX, group.native()));
    bool is_agreed = extremes[0] == ~extremes[1];
    if (is_agreed && has_output_blocks(call.kind)) {
        std::vector<std::int64_t> sends;
        for (const auto& block : call.blocks) {
            sends.push_back(block.bytes);
        }
        std::vector<std::int64_t> comes(sends.size());
        ZG_MPI(MPI_Alltoall(sends.data(), 1, MPI_INT64_T, comes.data(), 1, MPI_INT64_T, group.native()));
        int differs = 0;
        for (std::size_t m = 0; m < comes.size(); ++m) {
            differs = comes[m] == call.output_blocks[m].bytes ? differs : 1;
        }
        ZG_MPI(MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, group.native()));
        is_agreed = differs == 0;
    }
    if (!is_agreed) {
        throw Error{ErrorKind::internal, "the members of a group of " + std::to_string(group.size()) +
                                             " ranks disagree about its call number " +
                                             std::to_string(number) + " (here: '" + call.label + "', " +
                                             name_of(call.kind) +
                                             "). A bug in ziggurat: please report it with the deck."};
    }
}

}  // namespace ziggurat::comm
