#include "schedule/residency/bridged_residencies.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "schedule/rotated_program.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// A merged residency's buffer is larger than those of its parts by at most 1/n of the largest.
constexpr std::int64_t part_of_growth = 16;

std::int64_t bytes_of(const ByteRangeSet& ranges) {
    std::int64_t sum = 0;
    for (const auto& range : ranges.moved(0)) {
        sum += range.bytes;
    }
    return sum;
}

/// Returns the bytes that all links together move for these ranges: those on NVMe also pass the host.
std::int64_t bytes_over_links(const ByteRangeSet& ranges, const std::vector<PlacedPart>& parts) {
    std::int64_t sum = 0;
    for (const auto& part : parts) {
        const int links = part.tier == Tier::nvme ? 2 : part.tier == Tier::host ? 1 : 0;
        sum += links * bytes_of(ranges.within(part.begin, part.end));
    }
    return sum;
}

/// Residencies of one home, in the order of their first ops.
class OfHome {
  public:
    OfHome(const Program& program, const Residencies& found, int home, std::vector<std::size_t> residencies)
        : program_{program}, found_{found}, home_{home}, residencies_{std::move(residencies)} {}

    /// Returns, for each residency, the position of the one until which it may stay; -1 without one.
    std::vector<int> successors() {
        const auto count = residencies_.size();
        std::vector<int> next(count, -1);
        for (std::size_t i = 0; i < count; ++i) {
            chain_.push_back({.first_op = at(i).first_op, .changed = at(i).written, .number = i});
        }
        for (std::size_t i = 0; i < count; ++i) {
            const auto follower = next_user(i);
            if (follower < count && can_stay(i, follower)) {
                next[i] = static_cast<int>(follower);
                const auto changed = chain_[follower].changed;
                chain_[follower] = chain_[i];
                chain_[follower].changed.add(changed);
            }
        }
        return next;
    }

  private:
    /// Residencies that may all become one, up to one of them.
    struct Chain {
        int first_op = -1;
        ByteRangeSet changed;
        std::size_t number = 0;  ///< position of the first one
    };

    const Residency& at(std::size_t i) const { return found_.residencies[residencies_[i]]; }

    std::size_t next_user(std::size_t i) const {
        auto next = i + 1;
        while (next < residencies_.size() && !at(next).all.overlaps(at(i).all)) {
            ++next;
        }
        return next;
    }

    /// True if the residencies are on the device, one after the other, and have about the same buffer.
    ///
    /// Both begin at the same byte: blocks of collectives have equal offsets in the buffers of all ranks,
    /// which may merge different residencies.
    static bool can_share_buffer(const Residency& from, const Residency& to) {
        const auto size = [](const ByteRangeSet& ranges) { return ranges.end() - ranges.begin(); };
        auto both = from.all;
        both.add(to.all);
        const auto larger = std::max(size(from.all), size(to.all));
        return from.tier == Tier::device && to.tier == Tier::device && to.first_op > from.last_op &&
               from.all.begin() == to.all.begin() && size(both) - larger <= larger / part_of_growth;
    }

    bool run_together(const Residency& from, const Residency& to) const {
        return have_equal_steps(program_, program_.ops[from.first_op], program_.ops[to.first_op]) &&
               have_equal_steps(program_, program_.ops[from.first_op], program_.ops[to.last_op]);
    }

    bool can_stay(std::size_t i, std::size_t next) const {
        const auto& to = at(next);
        const auto& chain = chain_[i];
        if (!can_share_buffer(at(i), to) || !run_together(at(i), to)) {
            return false;
        }
        // Bytes that only later residencies read come to the device with the first one.
        for (std::size_t other = 0; other < residencies_.size(); ++other) {
            const bool is_between = other != next && chain_[other].number != chain.number &&
                                    at(other).last_op >= chain.first_op && at(other).first_op <= to.last_op;
            if (is_between && (at(other).all.overlaps(to.all) || at(other).all.overlaps(at(i).all) ||
                               at(other).all.overlaps(chain.changed))) {
                return false;
            }
        }
        return !is_used_at_home(found_.in_place, chain.first_op, to.last_op, at(i).all) &&
               !is_used_at_home(found_.in_place, chain.first_op, to.last_op, to.all) &&
               !is_used_at_home(found_.read_in_place, chain.first_op, to.last_op, chain.changed);
    }

    bool is_used_at_home(const std::map<int, std::vector<HomeChange>>& uses,
                         int first_op,
                         int last_op,
                         const ByteRangeSet& bytes) const {
        const auto known = uses.find(home_);
        return known != uses.end() && std::ranges::any_of(known->second, [&](const HomeChange& use) {
                   return use.last_op >= first_op && use.last_op <= last_op && use.written.overlaps(bytes);
               });
    }

    const Program& program_;
    const Residencies& found_;
    int home_;
    std::vector<std::size_t> residencies_;
    std::vector<Chain> chain_;  ///< by position
};

std::map<int, std::vector<std::size_t>> by_home(const Residencies& found) {
    std::map<int, std::vector<std::size_t>> homes;
    for (std::size_t v = 0; v < found.residencies.size(); ++v) {
        homes[found.residencies[v].home].push_back(v);
    }
    return homes;
}

/// Returns, for each residency, the one until which it may stay; the number of residencies without one.
std::vector<std::size_t> all_successors(const Program& program, const Residencies& found) {
    std::vector<std::size_t> next(found.residencies.size(), found.residencies.size());
    for (const auto& [home, residencies] : by_home(found)) {
        const auto of_home = OfHome{program, found, home, residencies}.successors();
        for (std::size_t i = 0; i < of_home.size(); ++i) {
            if (of_home[i] >= 0) {
                next[residencies[i]] = residencies[of_home[i]];
            }
        }
    }
    return next;
}

}  // namespace

std::vector<DeviceResidency> device_residencies(const Program& program, const Residencies& found) {
    std::vector<DeviceResidency> made;
    const auto next = all_successors(program, found);
    for (std::size_t v = 0; v < found.residencies.size(); ++v) {
        const auto& residency = found.residencies[v];
        if (residency.tier == Tier::device && program.buffers[residency.home].state != StateKind::none) {
            const auto& parts = found.parts[residency.home];
            made.push_back({.residency = static_cast<int>(v),
                            .home = residency.home,
                            .fetched = bytes_over_links(residency.fetched, parts),
                            .written = bytes_over_links(residency.written, parts),
                            .next = next[v] < next.size() ? static_cast<int>(next[v]) : -1});
        }
    }
    return made;
}

void merge_residencies(const Program& program, Residencies& found, const std::vector<bool>& stays) {
    const auto next = all_successors(program, found);
    std::vector<std::size_t> first(found.residencies.size());
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t v = 0; v < first.size(); ++v) {
        if (v >= stays.size() || !stays[v]) {
            continue;
        }
        auto& into = found.residencies[first[v]];
        auto& other = found.residencies[next[v]];
        into.last_op = std::max(into.last_op, other.last_op);
        into.last_write = std::max(into.last_write, other.last_write);
        into.operands.insert(into.operands.end(), other.operands.begin(), other.operands.end());
        into.fetched.add(other.fetched.without(into.all));
        into.written.add(other.written);
        into.all.add(other.all);
        other.operands.clear();
        first[next[v]] = first[v];
    }
    std::erase_if(found.residencies, [](const Residency& residency) { return residency.operands.empty(); });
}

}  // namespace ziggurat::schedule
