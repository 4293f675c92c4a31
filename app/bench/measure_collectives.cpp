#include "app/bench/measure_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "app/bench/timed_rounds.hpp"
#include "base/round_up.hpp"
#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/control.hpp"
#include "comm/sample_group.hpp"
#include "deck/values/quantities.hpp"
#include "kernels/elementwise.hpp"

namespace ziggurat::app {
namespace {

using comm::CollectiveKind;
using schedule::OpKind;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t all_sizes[] = {1024,         4096,         16 << 10,      64 << 10,     256 << 10,
                                      1 * mebibyte, 4 * mebibyte, 16 * mebibyte, 64 * mebibyte};
constexpr std::int64_t brief_sizes[] = {1024, 16 << 10, 256 << 10};
constexpr std::array all_kinds{OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce, OpKind::send};
constexpr std::int64_t block_alignment = 64;
constexpr std::int64_t max_slots = 16;

/// Returns equal blocks of a vector; the last ones are shorter, or empty.
std::vector<comm::Block> blocks_of(std::int64_t bytes, int members) {
    const auto each = round_up(divide_up(bytes, std::int64_t{members}), block_alignment);
    std::vector<comm::Block> blocks;
    for (int member = 0; member < members; ++member) {
        const auto begin = std::min(bytes, member * each);
        blocks.push_back({begin, std::min(each, bytes - begin)});
    }
    return blocks;
}

/// Group of ranks whose calls are timed.
class TimedGroup {
  public:
    /// Collective: over the ranks
    TimedGroup(BenchRanks& ranks, LinkGroups groups, std::int64_t max_bytes)
        : ranks_{ranks},
          nodes_{ranks.nodes()},
          members_{
              ranks.world().group().split(groups == LinkGroups::of_node ? nodes_.node : nodes_.rank_in_node)},
          group_{ranks.world(),
                 members_,
                 *ranks.devices().device,
                 ranks.launch().parallel.transport,
                 ranks.launch().parallel.threads,
                 max_bytes} {
        const auto stream = ranks.devices().device->make_stream();
        kernels::fill_zero<float>(stream, kernels::VectorAddress<float>::at(
                                              group_.input(0), {2 * max_bytes / 4}));  // touches its pages
        stream.finish();
    }

    int size() const noexcept { return members_.size(); }

    /// Returns the seconds of one call on the slowest rank; of a message, half of a round trip.
    ///
    /// Collective: over the ranks
    double seconds(OpKind kind, std::int64_t bytes, const RoundLimits& limits) {
        if (kind == OpKind::send) {
            return message_seconds(bytes, limits);
        }
        std::vector<int> calls;
        for (std::int64_t slot = 0; slot < slots(bytes); ++slot) {
            calls.push_back(group_.calls().prepare(collective(kind, bytes, slot * bytes)));
        }
        std::size_t next = 0;
        return time(
            [&] {
                group_.run(calls[next]);
                next = (next + 1) % calls.size();
            },
            limits);
    }

  private:
    /// Returns the number of vectors that calls use in turn.
    ///
    /// In a step each vector is another one, so a vector that is used again at once would be in a cache.
    std::int64_t slots(std::int64_t bytes) const {
        return std::clamp(group_.max_bytes() / bytes, std::int64_t{1}, max_slots);
    }

    /// \param offset  of the vectors in their half of the memory
    comm::CollectiveCall collective(OpKind kind, std::int64_t bytes, std::int64_t offset) const {
        comm::CollectiveCall call{.type = spec::DType::f32,
                                  .input = group_.input(offset),
                                  .output = group_.output(offset),
                                  .blocks = blocks_of(bytes, size()),
                                  .label = "a timed collective"};
        const auto mine = call.blocks[static_cast<std::size_t>(members_.rank())].offset_bytes;
        if (kind == OpKind::all_gather) {
            call.kind = CollectiveKind::all_gather;
            call.input = call.output;  // in place, as parameters are gathered
            call.input_offset_bytes = mine;
        } else {
            call.kind =
                kind == OpKind::all_reduce ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
        }
        return call;
    }

    /// Times messages between pairs of neighbours. A last rank without a neighbour only waits.
    double message_seconds(std::int64_t bytes, const RoundLimits& limits) {
        const int peer = members_.rank() ^ 1;
        if (peer >= size()) {
            return time([] {}, limits);
        }
        const auto message = [&](CollectiveKind kind, std::int64_t offset, int tag) {
            return group_.calls().prepare({.kind = kind,
                                           .input = group_.input(offset),
                                           .output = group_.output(offset),
                                           .blocks = {{0, bytes}},
                                           .peer = peer,
                                           .tag = tag,
                                           .label = "a timed message"});
        };
        const bool begins = members_.rank() < peer;
        std::vector<std::array<int, 2>> round_trips;  // there and back
        for (std::int64_t slot = 0; slot < slots(bytes); ++slot) {
            const auto offset = slot * bytes;
            const int there =
                message(begins ? CollectiveKind::send : CollectiveKind::receive, offset, next_tag_++);
            const int back =
                message(begins ? CollectiveKind::receive : CollectiveKind::send, offset, next_tag_++);
            round_trips.push_back({there, back});
        }
        std::size_t next = 0;
        return time(
                   [&] {
                       for (const int call : round_trips[next]) {
                           group_.run(call);
                       }
                       next = (next + 1) % round_trips.size();
                   },
                   limits) /
               2;
    }

    template <class Work>
    double time(const Work& work, const RoundLimits& limits) {
        const auto nothing = [] {};
        comm::barrier(ranks_.world());
        work();
        // All ranks do the same number of calls, by the time of the slowest rank.
        const double first = ranks_.slowest({Rounds{1, 1}.time(work, nothing)}).front();
        return ranks_.slowest({Rounds::of(first, limits).time(work, nothing)}).front();
    }

    BenchRanks& ranks_;
    const comm::NodeTopology& nodes_;
    comm::Communicator members_;
    comm::SampleGroup group_;
    int next_tag_ = 0;
};

}  // namespace

std::vector<TimedCall> measure_collectives(BenchRanks& ranks, LinkGroups groups, bool is_brief) {
    using Sizes = std::span<const std::int64_t>;
    const auto sizes = is_brief ? Sizes{brief_sizes} : Sizes{all_sizes};
    const RoundLimits limits = is_brief ? RoundLimits{.round_s = 2e-4, .total_s = 2e-3}
                                        : RoundLimits{.round_s = 2e-3, .total_s = 0.15, .max_rounds = 25};
    ranks.begin(groups == LinkGroups::of_node ? "measures collectives" : "measures collectives between nodes",
                "calls", std::ssize(sizes) * std::ssize(all_kinds));
    std::vector<TimedCall> calls;
    TimedGroup group{ranks, groups, sizes.back()};
    const int nodes = groups == LinkGroups::of_node ? 1 : group.size();
    const plan::GroupShape shape{group.size(), nodes, groups == LinkGroups::of_node ? group.size() : 1};
    for (const auto kind : all_kinds) {
        for (const auto bytes : sizes) {
            const double seconds = group.seconds(kind, bytes, limits);
            calls.push_back({kind, bytes,
                             kind == OpKind::send ? plan::message_sample(bytes, seconds)
                                                  : plan::collective_sample(kind, bytes, shape, seconds)});
            ranks.advance();
        }
    }
    ranks.end();
    return calls;
}

std::string calls_table(const std::vector<TimedCall>& calls, const spec::LinkRate& fitted) {
    auto text = fmt::format("{:<16} {:>9} {:>12} {:>12} {:>8}\n", "call", "bytes", "measured us", "fitted us",
                            "error");
    for (const auto& call : calls) {
        const double seconds = plan::fitted_seconds(call.sample, fitted);
        text += fmt::format("  {:<14} {:>9} {:>12.1f} {:>12.1f} {:>+7.0f}%\n",
                            call.kind == OpKind::send ? "message" : to_string(call.kind),
                            deck::write_bytes(call.bytes), call.sample.seconds * 1e6, seconds * 1e6,
                            100 * (seconds / call.sample.seconds - 1));
    }
    return text;
}

}  // namespace ziggurat::app
