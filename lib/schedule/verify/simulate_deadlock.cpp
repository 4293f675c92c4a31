/// Diagnosis of deadlocks: the chain of lanes that wait for each other.
#include <algorithm>

#include "schedule/verify/simulate_lanes.hpp"

namespace ziggurat::schedule::simulation {

std::pair<int, std::string> Simulation::holdup(int index) {
    auto& lane = lane_at(index);
    const auto& op = op_of(lane);
    const auto lane_of = [&](int rank, const auto& wanted) {
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            if (lanes_[l].rank == rank && wanted(lanes_[l])) {
                return static_cast<int>(l);
            }
        }
        return -1;
    };
    if (lane.phase == LaneState::Phase::blocked) {
        const int wanted = missing(lane);
        return {lane_of(lane.rank,
                        [&](const LaneState& l) {
                            return std::find(l.ops.begin(), l.ops.end(), wanted) != l.ops.end();
                        }),
                "waits for op " + std::to_string(wanted)};
    }
    const auto& group = group_of(lane.rank, op);
    const auto same_group = [&](const LaneState& l) {
        const auto& program = programs_[l.rank];
        return std::any_of(l.ops.begin(), l.ops.end(), [&](int o) {
            const auto& candidate = program.ops[o];
            return candidate.group >= 0 && candidate.kind == op.kind &&
                   group_of(l.rank, candidate).members == group.members;
        });
    };
    if (is_message(op.kind)) {
        const int peer = group.members.at(op.peer);
        const auto wanted = op.kind == OpKind::send ? OpKind::receive : OpKind::send;
        const int other = lane_of(peer, [&](const LaneState& l) {
            return std::any_of(l.ops.begin(), l.ops.end(), [&](int o) {
                const auto& candidate = programs_[peer].ops[o];
                return candidate.kind == wanted && candidate.tag == op.tag &&
                       group_of(peer, candidate).members[candidate.peer] == lane.rank;
            });
        });
        return {other,
                "waits for rank " + std::to_string(peer) + (other < 0 ? ", which has no op for it" : "")};
    }
    const auto& collective = collectives_[{group.name, group.members}];
    for (std::size_t m = 0; m < group.members.size(); ++m) {
        if (collective.lanes[m] < 0) {
            return {lane_of(group.members[m], same_group),
                    "waits in group '" + group.name + "' for rank " + std::to_string(group.members[m])};
        }
    }
    return {-1, "waits"};
}

void Simulation::look_for_what_is_left() {
    const auto is_stuck = [](const LaneState& lane) { return lane.phase != LaneState::Phase::ended; };
    const auto stuck = std::find_if(lanes_.begin(), lanes_.end(), is_stuck);
    if (stuck != lanes_.end()) {
        // Follows each lane to the lane that it waits for, until a lane repeats.
        std::vector<int> chain{static_cast<int>(stuck - lanes_.begin())};
        std::vector<std::string> words;
        for (bool circle = false; !circle;) {
            const auto [next, reason] = holdup(chain.back());
            words.push_back(name(lane_at(chain.back())) + " " + reason);
            if (next < 0 || lane_at(next).phase == LaneState::Phase::ended) {
                break;
            }
            const auto before = std::find(chain.begin(), chain.end(), next);
            circle = before != chain.end();
            if (circle) {
                words.erase(words.begin(), words.begin() + (before - chain.begin()));
            }
            chain.push_back(next);
        }
        std::string text = "deadlock:";
        for (const auto& word : words) {
            text += "\n    " + word;
        }
        note({FindingKind::deadlock, lane_at(chain.back()).rank,
              lane_at(chain.back()).phase == LaneState::Phase::ended ? OpId{} : lane_at(chain.back()).op(),
              text});
        return;
    }
    for (const auto& [key, queue] : sends_) {
        if (!queue.empty()) {
            const auto& letter = letters_[-1 - queue.front()];
            note({FindingKind::unmatched_message, letter.rank, letter.op,
                  "rank " + std::to_string(letter.rank) + " sends op " + std::to_string(letter.op) +
                      " to rank " + std::to_string(std::get<1>(key)) + ", which never receives it"});
        }
    }
}

}  // namespace ziggurat::schedule::simulation
