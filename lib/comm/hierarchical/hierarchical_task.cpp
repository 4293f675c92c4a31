#include "comm/hierarchical/hierarchical_task.hpp"

#include <algorithm>
#include <array>

#include "comm/call_shape.hpp"
#include "comm/check_mpi.hpp"
#include "comm/in_pieces.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::int64_t copied_at_once = 256 * 1024;

/// Part of a vector of this member that neighbours read, relative to the origin of the call's offsets.
struct Shown {
    const std::byte* vector = nullptr;
    Block part;
};

Shown shown_input(const CollectiveCall& call, int rank) {
    const std::byte* in = call.input + call.input_offset_bytes;
    if (row_of(call.kind).reads != BlockUse::of_peer) {
        return {in, part_read_by_others(call, rank)};
    }
    const Block& block = call.blocks.front();
    return rank == call.peer ? Shown{in + block.offset_bytes, {0, block.bytes}} : Shown{};
}

Shown shown_output(const CollectiveCall& call, int rank) {
    // Neighbours read an output if it has the blocks of all members, or the only block.
    const BlockUse writes = row_of(call.kind).writes;
    const bool is_read = writes == BlockUse::all || (writes == BlockUse::of_others && rank != call.peer);
    return is_read ? Shown{call.output + call.output_offset_bytes, hull(call.blocks)} : Shown{};
}

}  // namespace

std::optional<NeighbourVectors> show_vectors(const CollectiveCall& call,
                                             const Communicator& group,
                                             const std::vector<int>& node_of,
                                             const SharedChannel& neighbours) {
    struct Card {
        std::int64_t is_shared = 1;
        std::array<std::int64_t, 2> arenas{-1, -1};  // of input and output; -1: not read
        std::array<std::int64_t, 2> offsets{};
    };
    static_assert(sizeof(Card) == 5 * sizeof(std::int64_t));
    Card mine;
    const Shown shown[] = {shown_input(call, group.rank()), shown_output(call, group.rank())};
    for (std::size_t i = 0; i < 2 && neighbours.size() > 1; ++i) {
        const auto& [vector, part] = shown[i];
        if (part.bytes > 0) {
            const ArenaAddress arena_address =
                neighbours.arena_address_of(vector + part.offset_bytes, part.bytes);
            mine.is_shared = arena_address.is_shared() ? mine.is_shared : 0;
            mine.arenas[i] = arena_address.arena;
            mine.offsets[i] = arena_address.offset_bytes - part.offset_bytes;
        }
    }
    std::vector<Card> cards(group.size());
    ZG_MPI(MPI_Allgather(&mine, 5, MPI_INT64_T, cards.data(), 5, MPI_INT64_T, group.native()));
    std::vector<std::int64_t> offsets(cards.size());
    std::vector<std::int64_t> offsets_for_me(cards.size());
    if (has_output_blocks(call.kind)) {
        std::ranges::transform(call.blocks, offsets.begin(), &Block::offset_bytes);
        ZG_MPI(MPI_Alltoall(offsets.data(), 1, MPI_INT64_T, offsets_for_me.data(), 1, MPI_INT64_T,
                            group.native()));
    }
    if (!std::ranges::all_of(cards, [](const Card& card) { return card.is_shared != 0; })) {
        return std::nullopt;
    }
    NeighbourVectors vectors;
    int arena_address = 0;
    for (std::size_t m = 0; m < cards.size(); ++m) {
        if (node_of[m] != node_of[group.rank()]) {
            continue;
        }
        const auto address = [&](std::size_t i) {
            const ArenaAddress at{static_cast<std::int32_t>(cards[m].arenas[i]), cards[m].offsets[i]};
            return at.is_shared() ? neighbours.address(arena_address, at) : nullptr;
        };
        const bool is_mine = static_cast<int>(m) == group.rank();
        vectors.inputs.push_back(is_mine ? shown[0].vector : address(0));
        vectors.outputs.push_back(is_mine ? call.output + call.output_offset_bytes : address(1));
        vectors.offsets_for_me.push_back(offsets_for_me[m]);
        ++arena_address;
    }
    return vectors;
}

void copy_with(int threads, std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) {
    in_pieces(threads, bytes, copied_at_once, [&](std::int64_t begin, std::int64_t end) {
        copy_shared(to + begin, from + begin, end - begin, stores);
    });
}

}  // namespace ziggurat::comm
