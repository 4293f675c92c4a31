#include "plan/simulator/rendezvous.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

/// Identity of a rendezvous: its kind, the ranks, and its position among those of the same ranks.
///
/// The ranks are the sender and the receiver of a message, or the number of a group in GroupNumbers.
using Key = std::tuple<int, int, int, std::int64_t, std::int64_t>;

/// Numbers of groups: those with the same members have one number.
///
/// A group can have very many members, so keys of ops do not contain them.
class GroupNumbers {
  public:
    /// Returns the number of each group of the program.
    std::vector<int> of(const Program& program) {
        std::vector<int> numbers;
        for (const auto& group : program.groups) {
            const int next = static_cast<int>(known_.size());
            numbers.push_back(known_.try_emplace(group.members, next).first->second);
        }
        return numbers;
    }

  private:
    std::map<std::vector<int>, int> known_;
};

enum Kind { collective, message, step_end, unit_clip };

class Finder {
  public:
    Finder(const Program& program, GroupNumbers& numbers)
        : program_{program}, numbers_{numbers.of(program)} {}

    /// Returns the key of the next op in list order; false in the second value if the op meets no rank.
    std::pair<Key, bool> next(const Op& op) {
        if (op.kind == OpKind::step_end) {
            return {numbered({step_end, 0, 0, 0, 0}), true};
        }
        if (op.kind == OpKind::unit_clip && op.group >= 0) {
            return {numbered({unit_clip, numbers_.at(op.group), 0, 0, 0}), true};
        }
        if (!schedule::is_collective(op.kind) || op.group < 0) {
            return {{}, false};
        }
        if (!schedule::is_message(op.kind)) {
            return {numbered({collective, numbers_.at(op.group), 0, op.lane < 0 ? 0 : lane_kind(op), 0}),
                    true};
        }
        const int peer = program_.groups.at(op.group).members.at(op.peer);
        const bool sends = op.kind == OpKind::send;
        const int sender = sends ? program_.rank : peer;
        const int receiver = sends ? peer : program_.rank;
        return {numbered({message, sender, receiver, op.tag, 0}), true};
    }

  private:
    /// Distinguishes lanes with the same group.
    std::int64_t lane_kind(const Op& op) const {
        const auto& lane = program_.lanes.at(op.lane);
        return 4 * static_cast<int>(lane.direction) + 2 * (lane.serves_updates ? 1 : 0) +
               (lane.serves_control ? 1 : 0);
    }

    Key numbered(Key key) {
        const auto position = seen_[key]++;
        std::get<4>(key) = position;
        return key;
    }

    const Program& program_;
    std::vector<int> numbers_;  ///< by group of the program
    std::map<Key, std::int64_t> seen_;
};

}  // namespace

RendezvousTable::RendezvousTable(std::span<const Program* const> programs) {
    std::map<Key, int> known;
    GroupNumbers numbers;
    for (const auto* program : programs) {
        Finder finder{*program, numbers};
        auto& of_program = rendezvous_.emplace_back();
        for (const auto& op : program->ops) {
            auto [key, takes_part] = finder.next(op);
            int rendezvous = -1;
            if (takes_part) {
                rendezvous = known.try_emplace(std::move(key), count()).first->second;
                if (rendezvous == count()) {
                    sizes_.push_back(0);
                }
                ++sizes_[static_cast<std::size_t>(rendezvous)];
            }
            of_program.push_back(rendezvous);
        }
    }
    for (auto& of_program : rendezvous_) {
        for (auto& rendezvous : of_program) {
            rendezvous = rendezvous >= 0 && size(rendezvous) < 2 ? -1 : rendezvous;
        }
    }
}

}  // namespace ziggurat::plan
