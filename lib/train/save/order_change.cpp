#include "train/save/order_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text/units.hpp"
#include "data/order/order_overlap.hpp"
#include "data/order/order_weights.hpp"
#include "data/order/sample_order.hpp"

namespace ziggurat::train {
namespace {

using Record = data::DataOrderState;

/// Tolerance: shares that differ by less are equal.
constexpr double share_tolerance = 1e-9;
constexpr std::size_t max_parts = 6;

std::string joined(std::vector<std::string> parts) {
    if (parts.size() > max_parts) {
        const auto unreported = parts.size() - max_parts;
        parts.resize(max_parts);
        parts.push_back(fmt::format("{} more", unreported));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// Comparison of two sample orders, source by source.
class OrderDiff {
  public:
    OrderDiff(const SavedOrder& before, const CurrentOrder& now, const SourceMatch& match)
        : before_{before},
          now_{now},
          match_{match},
          order_{before.order},
          counts_(before.order.sources.size()),
          places_{order_.positions(before.next_sample)},
          shares_before_{data::shares_at(before.order, before.next_sample)},
          shares_now_{data::shares_at(now.order, before.next_sample)} {
        order_.count(before.next_sample, counts_);
    }

    bool is_none() const {
        const auto& was = before_.order;
        const auto& is = now_.order;
        bool is_same = match_.gone.empty() && was.seq == is.seq && was.is_shuffled == is.is_shuffled &&
                       (was.seed == is.seed || !is.is_shuffled);
        for (std::size_t s = 0; s < is.sources.size(); ++s) {
            const auto& present = match_.sources[s];
            is_same = is_same && present.is_same && present.before == static_cast<int>(s) &&
                      was.sources[s].trained == is.sources[s].trained &&
                      was.sources[s].is_packed == is.sources[s].is_packed &&
                      std::abs(shares_before_[s] - shares_now_[s]) < share_tolerance;
        }
        return is_same && !has_other_changes();
    }

    /// Returns true if weights of later samples differ, for the same sources.
    bool has_other_changes() const {
        auto samples = data::change_samples(before_.order);
        for (const auto sample : data::change_samples(now_.order)) {
            samples.push_back(sample);
        }
        return std::ranges::any_of(samples, [&](std::int64_t sample) {
            if (sample <= before_.next_sample) {
                return false;
            }
            const auto before = data::shares_at(before_.order, sample);
            const auto now = data::shares_at(now_.order, sample);
            for (std::size_t s = 0; s < now.size(); ++s) {
                if (match_.sources[s].before != SourceMatch::none &&
                    std::abs(before[before_of(s)] - now[s]) >= share_tolerance) {
                    return true;
                }
            }
            return false;
        });
    }

    /// Returns the order from the next sample on; each source continues at its position.
    Record next() const {
        Record next = now_.order;
        data::begin_at(next, before_.next_sample);
        std::uint32_t unused = 0;  // first random stream that no source has used for shuffling
        for (const auto& source : before_.order.sources) {
            unused = std::max(unused, source.stream + 1);
        }
        for (std::size_t s = 0; s < next.sources.size(); ++s) {
            const bool goes_on = continues(s);
            next.sources[s].stream = goes_on ? before_.order.sources[before_of(s)].stream : unused++;
            next.sources[s].earlier =
                goes_on ? before_.order.sources[before_of(s)].earlier + counts_[before_of(s)] : 0;
            next.sources[s].begin = goes_on ? position_in(s) : data::SourcePosition{};
        }
        return next;
    }

    /// Describes changed shares of sources, and sources that are new or removed.
    std::vector<std::string> shares() const {
        std::vector<std::string> reported;
        for (std::size_t s = 0; s < now_.sources.size(); ++s) {
            const double share = 100 * shares_now_[s];
            if (match_.sources[s].before == SourceMatch::none) {
                reported.push_back(fmt::format("'{}' is new with {:.3g} %", now_.sources[s].name(), share));
                continue;
            }
            const double share_before = 100 * shares_before_[before_of(s)];
            if (std::abs(share - share_before) >= 100 * share_tolerance) {
                reported.push_back(fmt::format(
                    "'{}' gives {:.3g} % instead of {:.3g} %{}", now_.sources[s].name(), share, share_before,
                    continues(s) ? ", from " + position_of(before_of(s)) + " on" : ""));
            }
        }
        for (const int gone : match_.gone) {
            const std::size_t b = gone;
            reported.push_back(fmt::format("'{}', which gave {:.3g} %, is removed after {}",
                                           before_.sources[b].name(), 100 * shares_before_[b],
                                           position_of(b)));
        }
        return reported;
    }

    /// Describes changed keys that cut the same tokens into different sequences.
    std::vector<std::string> causes() const {
        std::vector<std::string> keys;
        const auto& was = before_.order;
        const auto& is = now_.order;
        if (was.seq != is.seq) {
            keys.push_back(fmt::format("data.seq is {} instead of {}", is.seq, was.seq));
        }
        if (was.is_shuffled != is.is_shuffled) {
            keys.push_back(fmt::format("data.shuffle is {}", is.is_shuffled));
        } else if (is.is_shuffled && was.seed != is.seed) {
            keys.push_back(fmt::format("run.seed is {} instead of {}", is.seed, was.seed));
        }
        if (has_other_part()) {
            keys.emplace_back("data.held_out keeps another part");
        }
        if (was.seq == is.seq && has_other_packing()) {
            keys.emplace_back("samples are packed differently (data.packing, data.long_samples)");
        }
        return keys;
    }

    /// Describes tokens that are read twice in the current epochs.
    std::vector<std::string> repeats(const data::TrainingOrder& after) const {
        std::vector<std::string> reported;
        for (std::size_t s = 0; s < now_.sources.size(); ++s) {
            if (!match_.sources[s].is_same) {
                continue;
            }
            const auto b = before_of(s);
            if (is_repacked(s)) {
                reported.push_back(fmt::format(
                    "'{}' continues at {:.3g} % of its epoch {}, so some of its samples are read a second "
                    "time in this epoch, and about the same number are skipped",
                    now_.sources[s].name(),
                    100 * static_cast<double>(places_[b].tokens) /
                        static_cast<double>(before_.order.sources[b].trained),
                    places_[b].epoch + 1));
                continue;
            }
            const auto repeated =
                data::repeated_tokens(order_, static_cast<int>(b), places_[b], after, static_cast<int>(s));
            if (repeated.tokens > 0) {
                reported.push_back(
                    fmt::format("{}{} tokens of '{}' are read a second time in its epoch {}, and about "
                                "the same number are skipped",
                                repeated.is_exact ? "" : "about ", format_grouped(repeated.tokens),
                                now_.sources[s].name(), places_[b].epoch + 1));
            }
        }
        return reported;
    }

    /// Describes tokens that move between training and validation.
    std::vector<std::string> held_out() const {
        std::vector<std::string> reported;
        for (std::size_t s = 0; s < now_.sources.size(); ++s) {
            if (!continues(s) || is_packed(s)) {
                continue;
            }
            const auto& was = before_.order.sources[before_of(s)];
            const auto& is = now_.order.sources[s];
            const auto& name = now_.sources[s].name();
            const auto trained_now = std::min(is.trained, was.tokens) - was.trained;
            const auto held_now = std::min(is.tokens, was.trained) - is.trained;
            if (trained_now > 0) {
                reported.push_back(
                    fmt::format("{} tokens of '{}' that were held out are trained on from here",
                                format_grouped(trained_now), name));
            } else if (held_now > 0) {
                reported.push_back(
                    fmt::format("{} tokens of '{}' that were training data are held out from here on, so "
                                "the model may be validated with data that it was trained on",
                                format_grouped(held_now), name));
            }
        }
        return reported;
    }

  private:
    std::size_t before_of(std::size_t source) const { return match_.sources[source].before; }

    /// Returns true if the source continues at the position of a source of the checkpoint.
    bool continues(std::size_t source) const {
        const auto& [before, is_same] = match_.sources[source];
        return before != SourceMatch::none &&
               (is_same || goes_on_in_place(before_.sources[before_of(source)], now_.sources[source]));
    }

    /// Returns true if the samples of the source are packed, before or now.
    bool is_packed(std::size_t source) const {
        return now_.order.sources[source].is_packed || before_.order.sources[before_of(source)].is_packed;
    }

    /// Returns true if the source has the same samples in other sequences.
    bool is_repacked(std::size_t source) const {
        const auto& was = before_.order.sources[before_of(source)];
        const auto& is = now_.order.sources[source];
        return is_packed(source) && (was.is_packed != is.is_packed || was.trained != is.trained ||
                                     before_.order.seq != now_.order.seq);
    }

    bool has_other_packing() const {
        for (std::size_t s = 0; s < now_.sources.size(); ++s) {
            if (match_.sources[s].is_same && is_repacked(s)) {
                return true;
            }
        }
        return false;
    }

    /// Returns the position at which a source continues; if it is repacked, at the same share of its epoch.
    data::SourcePosition position_in(std::size_t source) const {
        auto position = places_[before_of(source)];
        if (is_repacked(source)) {
            const auto share = static_cast<double>(position.tokens) /
                               static_cast<double>(before_.order.sources[before_of(source)].trained);
            position.tokens =
                static_cast<std::int64_t>(share * static_cast<double>(now_.order.sources[source].trained));
        }
        return position;
    }

    bool has_other_part() const {
        for (std::size_t s = 0; s < now_.sources.size(); ++s) {
            if (match_.sources[s].is_same && !is_packed(s) &&
                now_.order.sources[s].trained != before_.order.sources[before_of(s)].trained) {
                return true;
            }
        }
        return false;
    }

    std::string position_of(std::size_t b) const {
        const auto& position = places_[b];
        return fmt::format("epoch {:.4g}", static_cast<double>(position.epoch) +
                                               static_cast<double>(position.tokens) /
                                                   static_cast<double>(before_.order.sources[b].trained));
    }

    const SavedOrder& before_;
    const CurrentOrder& now_;
    const SourceMatch& match_;
    data::TrainingOrder order_;
    std::vector<std::int64_t> counts_;  ///< samples of each source in the checkpoint's order
    std::vector<data::SourcePosition> places_;
    std::vector<double> shares_before_, shares_now_;  ///< of the next sample, by source
};

void report_names(const SavedOrder& before,
                  const CurrentOrder& now,
                  const SourceMatch& match,
                  DataVerdict& verdict) {
    std::vector<std::string> reported;
    for (std::size_t s = 0; s < now.sources.size(); ++s) {
        const auto& [index, is_same] = match.sources[s];
        if (is_same && now.sources[s].name() != before.sources[index].name() &&
            !now.sources[s].files.empty()) {
            reported.push_back(fmt::format("'{}' has the bytes of '{}'", now.sources[s].name(),
                                           before.sources[index].name()));
        }
    }
    if (!reported.empty()) {
        verdict.notes.push_back(
            fmt::format("data.train uses new names for the same data: {}", joined(reported)));
    }
}

}  // namespace

bool goes_on_in_place(const KnownSource& before, const KnownSource& now) {
    return before.name() == now.name();
}

void report_order_change(const SavedOrder& before,
                         const CurrentOrder& now,
                         const SourceMatch& match,
                         DataVerdict& verdict) {
    report_names(before, now, match, verdict);
    const OrderDiff change{before, now, match};
    if (change.is_none()) {
        verdict.order = before.order;
        return;
    }
    verdict.order = change.next();
    const auto step = format_grouped(before.step + 1);
    if (const auto shares = change.shares(); !shares.empty()) {
        verdict.warnings.push_back(
            fmt::format("data.train: the mix of sources changes from step {} on: {}", step, joined(shares)));
    } else if (match.has_moved()) {
        verdict.notes.emplace_back(
            "data.train lists its sources in another order: each keeps its share and continues at its "
            "position");
    }
    if (change.has_other_changes()) {
        verdict.warnings.push_back(fmt::format(
            "data.train: after step {}, weights change at other samples or to other shares than in the run "
            "of the checkpoint: the following samples have another order",
            format_grouped(before.step)));
    }
    if (const auto causes = change.causes(); !causes.empty()) {
        const auto repeats = change.repeats(data::TrainingOrder{verdict.order});
        verdict.warnings.push_back(fmt::format(
            "{}: sequences differ from step {} on; {}", fmt::join(causes, ", "), step,
            repeats.empty() ? "none of their tokens is read a second time in its epoch, or skipped"
                            : joined(repeats)));
    }
    if (const auto held_out = change.held_out(); !held_out.empty()) {
        verdict.warnings.push_back(fmt::format(
            "data.held_out: {}. Validation losses before and after are not comparable.", joined(held_out)));
    }
}

}  // namespace ziggurat::train
