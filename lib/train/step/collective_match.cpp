#include "train/step/collective_match.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ziggurat::train {
namespace {

using schedule::OpKind;

/// Source: Fowler, Noll, Vo, FNV-1a with 64 bits (isthe.com/chongo/tech/comp/fnv)
class Key {
  public:
    void add(std::uint64_t word) noexcept {
        for (int byte = 0; byte < 8; ++byte) {
            value_ = (value_ ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3;
        }
    }
    void add(const std::string& text) noexcept {
        for (const char letter : text) {
            add(static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
        }
    }
    std::uint64_t value() const noexcept { return value_ == 0 ? 1 : value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

enum class CallKind : std::uint64_t { step_end, group, message };

}  // namespace

std::vector<std::uint64_t> collective_keys(const schedule::Program& program) {
    std::vector<std::uint64_t> keys;
    keys.reserve(program.ops.size());
    std::map<std::tuple<int, int, int, int>, std::uint64_t> seen;  // calls so far
    for (const auto& op : program.ops) {
        Key key;
        if (op.kind == OpKind::step_end) {
            key.add(static_cast<std::uint64_t>(CallKind::step_end));
            for (const int member : op.group < 0 ? std::vector<int>{} : program.groups[op.group].members) {
                key.add(static_cast<std::uint64_t>(member));
            }
            keys.push_back(key.value());
            continue;
        }
        if (op.group < 0) {
            keys.push_back(0);
            continue;
        }
        const auto& group = program.groups[op.group];
        const bool is_message = op.kind == OpKind::send || op.kind == OpKind::receive;
        const int sender = op.kind == OpKind::send ? group.my_index : op.peer;
        const int receiver = op.kind == OpKind::send ? op.peer : group.my_index;
        const auto position =
            is_message ? std::tuple{op.group, sender, receiver, op.tag} : std::tuple{op.group, -1, -1, -1};
        key.add(static_cast<std::uint64_t>(is_message ? CallKind::message : CallKind::group));
        key.add(group.name);
        for (const int member : group.members) {
            key.add(static_cast<std::uint64_t>(member));
        }
        if (is_message) {
            for (const int word : {sender, receiver, op.tag}) {
                key.add(static_cast<std::uint64_t>(word));
            }
        }
        key.add(seen[position]++);
        keys.push_back(key.value());
    }
    return keys;
}

CollectiveMatch::CollectiveMatch(const std::vector<std::vector<std::uint64_t>>& keys) {
    std::map<std::uint64_t, std::vector<Member>> members_of;
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        collective_of_.emplace_back(keys[rank].size(), -1);
        for (std::size_t op = 0; op < keys[rank].size(); ++op) {
            if (keys[rank][op] != 0) {
                members_of[keys[rank][op]].push_back({static_cast<int>(rank), static_cast<int>(op)});
            }
        }
    }
    for (const auto& [key, members] : members_of) {
        for (const auto& member : members) {
            collective_of_[member.rank][member.op] = static_cast<int>(first_member_.size());
        }
        first_member_.push_back(members_.size());
        members_.insert(members_.end(), members.begin(), members.end());
    }
    first_member_.push_back(members_.size());
}

std::span<const CollectiveMatch::Member> CollectiveMatch::of(int rank, schedule::OpId op) const noexcept {
    const int collective = collective_of_[rank][op];
    if (collective < 0) {
        return {};
    }
    const auto first = first_member_[collective];
    return std::span{members_}.subspan(first, first_member_[collective + 1] - first);
}

}  // namespace ziggurat::train
