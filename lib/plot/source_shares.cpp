#include "plot/source_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/text_width.hpp"

namespace ziggurat::plot {
namespace {

constexpr double rounding = 1e-9;  ///< maximum difference of equal shares, from weights such as 1:2 and 2:4
constexpr int max_label = 48;      ///< columns

double share_of(const std::vector<SourceShare>& shares, const std::string& name) {
    const auto found = std::ranges::find(shares, name, &SourceShare::name);
    return found == shares.end() ? 0 : found->share;
}

bool are_equal(const std::vector<SourceShare>& before, const std::vector<SourceShare>& after) {
    const auto has = [](const std::vector<SourceShare>& others) {
        return [&others](const SourceShare& source) {
            return std::fabs(source.share - share_of(others, source.name)) <= rounding;
        };
    };
    return before.empty() == after.empty() && std::ranges::all_of(before, has(after)) &&
           std::ranges::all_of(after, has(before));
}

std::string percent(double share) {
    return fmt::format("{:.3g}", 100 * share);
}

}  // namespace

bool SourceShares::forget_from(std::int64_t step) {
    bool is_change = false;
    while (!ranges_.empty() && ranges_.back().first >= step) {
        ranges_.pop_back();
        is_change = is_change || !ranges_.empty();
    }
    return is_change;
}

std::optional<std::vector<SourceShare>> SourceShares::add(std::int64_t step,
                                                          std::vector<SourceShare> shares) {
    if (ranges_.empty()) {
        ranges_.push_back({step, std::move(shares)});
        return std::nullopt;
    }
    if (are_equal(ranges_.back().shares, shares)) {
        return std::nullopt;
    }
    ranges_.push_back({step, std::move(shares)});
    return ranges_[ranges_.size() - 2].shares;
}

std::string change_text(const std::vector<SourceShare>& before, const std::vector<SourceShare>& after) {
    if (after.empty()) {
        return "weights: one source from here on";
    }
    std::string text;
    const auto add = [&](const std::string& name, double old, double now) {
        if (std::fabs(now - old) > rounding) {
            text += fmt::format("{}{} {} to {} %", text.empty() ? "weights: " : ", ", name, percent(old),
                                percent(now));
        }
    };
    for (const auto& source : after) {
        if (before.empty()) {
            text += fmt::format("{}{} {} %", text.empty() ? "weights: one source, then " : ", ", source.name,
                                percent(source.share));
        } else {
            add(source.name, share_of(before, source.name), source.share);
        }
    }
    for (const auto& source : before) {
        if (std::ranges::find(after, source.name, &SourceShare::name) == after.end()) {
            add(source.name, source.share, 0);
        }
    }
    return text;
}

std::vector<std::string> share_labels(const std::vector<SourceShare>& shares) {
    if (shares.empty()) {
        return {"one source"};
    }
    std::string names, numbers;
    for (const auto& source : shares) {
        if (source.share > 0) {
            names += fmt::format("{}{} {} %", names.empty() ? "" : ", ", source.name, percent(source.share));
        }
        numbers += (numbers.empty() ? "" : ":") + percent(source.share);
    }
    std::vector<std::string> labels;
    for (const auto& label : {names, numbers + " %"}) {
        if (text_width(label) <= max_label) {
            labels.push_back(label);
        }
    }
    return labels;
}

}  // namespace ziggurat::plot
