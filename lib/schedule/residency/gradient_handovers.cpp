#include "schedule/residency/gradient_handovers.hpp"

#include <map>
#include <utility>

namespace ziggurat::schedule {
namespace {

using spec::Tier;

ByteRangeSet common(const ByteRangeSet& a, const ByteRangeSet& b) {
    return a.without(a.without(b));
}

/// Residencies of the gradients of one unit, and the part of its buffer that is on NVMe.
class OfUnit {
  public:
    OfUnit(const Program& program,
           Residencies& found,
           const PlacedPart& on_disk,
           std::vector<std::size_t> residencies)
        : program_{program}, found_{found}, on_disk_{on_disk}, residencies_{std::move(residencies)} {}

    void hand_over(std::vector<GradientHandover>& handovers) {
        for (std::size_t i = 0; i < residencies_.size(); ++i) {
            auto& user = found_.residencies[residencies_[i]];
            const auto needed = user.fetched.within(on_disk_.begin, on_disk_.end);
            const auto& first = program_.ops[user.first_op];
            if (needed.empty() || user.tier != Tier::host || first.kind != OpKind::update ||
                first.predicate) {
                continue;
            }
            for (std::size_t j = i; j-- > 0;) {
                const auto& writer = found_.residencies[residencies_[j]];
                if (!writer.written.overlaps(needed)) {
                    continue;
                }
                if (writer.tier == Tier::device && needed.without(writer.written).empty()) {
                    handovers.push_back({residencies_[j], residencies_[i], needed});
                    user.fetched = user.fetched.without(needed);
                }
                break;
            }
        }
    }

    /// Removes from each residency the bytes on NVMe that are overwritten before they are fetched.
    void drop_unread() {
        const auto count = residencies_.size();
        std::vector<ByteRangeSet> unread(count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto written = at(i).written.within(on_disk_.begin, on_disk_.end);
            auto pending = written;
            ByteRangeSet read;
            for (std::size_t step = 1; step <= count; ++step) {
                const auto& next = at((i + step) % count);
                read.add(common(next.fetched, pending));
                pending = pending.without(next.written);
            }
            unread[i] = written.without(read.in_pages(on_disk_.end));
        }
        for (std::size_t i = 0; i < count; ++i) {
            at(i).written = at(i).written.without(unread[i]);
        }
    }

  private:
    Residency& at(std::size_t i) { return found_.residencies[residencies_[i]]; }

    const Program& program_;
    Residencies& found_;
    PlacedPart on_disk_;
    std::vector<std::size_t> residencies_;  ///< by first op
};

}  // namespace

std::vector<GradientHandover> hand_over_gradients(const Program& program, Residencies& found) {
    std::map<int, std::vector<std::size_t>> by_home;
    for (std::size_t v = 0; v < found.residencies.size(); ++v) {
        const int home = found.residencies[v].home;
        if (program.buffers[home].state == StateKind::gradients) {
            by_home[home].push_back(v);
        }
    }
    std::vector<GradientHandover> handovers;
    for (const auto& [home, residencies] : by_home) {
        for (const auto& part : found.parts[home]) {
            if (part.tier == Tier::nvme) {
                OfUnit of_unit{program, found, part, residencies};
                of_unit.hand_over(handovers);
                of_unit.drop_unread();
            }
        }
    }
    return handovers;
}

}  // namespace ziggurat::schedule
