#include "plot/curve.hpp"

#include <algorithm>
#include <cmath>

namespace ziggurat::plot {
namespace {

class Interval {
  public:
    void add(std::int64_t step, const Weighed& weighed) {
        low_ = count_ == 0 ? weighed.value : std::min(low_, weighed.value);
        high_ = count_ == 0 ? weighed.value : std::max(high_, weighed.value);
        first_ = count_ == 0 ? step : first_;
        last_ = step;
        sum_ += weighed.weight * weighed.value;
        weight_ += weighed.weight;
        ++count_;
    }
    /// What was added since the last call, if anything was.
    void end(Curve& curve) {
        if (count_ > 0 && weight_ > 0) {
            // Rounding must not put a mean of equal values outside of them.
            const double mean = std::clamp(sum_ / weight_, low_, high_);
            curve.push_back({0.5 * static_cast<double>(first_ + last_), mean, low_, high_});
        }
        *this = {};
    }

  private:
    std::int64_t first_ = 0, last_ = 0, count_ = 0;
    double low_ = 0, high_ = 0, sum_ = 0, weight_ = 0;
};

}  // namespace

Curve make_curve(const History& history, std::int64_t most_points, const ValueOf& value_of) {
    Curve curve;
    if (history.steps.empty()) {
        return curve;
    }
    const auto first = history.steps.front().step;
    const auto length = static_cast<double>(history.steps.back().step - first + 1);
    const auto all = static_cast<std::int64_t>(history.steps.size());
    const double per_interval = all <= most_points ? 1 : length / static_cast<double>(most_points);
    Interval interval;
    double latest = -1;
    for (const auto& step : history.steps) {
        const double index = std::floor(static_cast<double>(step.step - first) / per_interval);
        if (index > latest) {
            interval.end(curve);
            latest = index;
        }
        if (const auto weighed = value_of(step); weighed && std::isfinite(weighed->value)) {
            interval.add(step.step, *weighed);
        }
    }
    interval.end(curve);
    return curve;
}

Curve loss_curve(const History& history, std::int64_t most_points) {
    return make_curve(history, most_points, [](const Step& step) {
        return step.loss ? std::optional{Weighed{*step.loss, 1}} : std::nullopt;
    });
}

Curve speed_curve(const History& history, std::int64_t most_points) {
    return make_curve(history, most_points, [](const Step& step) {
        return step.step_s > 0 ? std::optional{Weighed{step.tok_s, step.step_s}} : std::nullopt;
    });
}

Curve stall_curve(const History& history, std::int64_t most_points, std::size_t lane) {
    return make_curve(history, most_points, [lane](const Step& step) -> std::optional<Weighed> {
        if (step.step_s <= 0) {
            return std::nullopt;
        }
        double waited = 0;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            waited += lane == lanes.size() || lane == i ? static_cast<double>(step.stall_s[i]) : 0;
        }
        return Weighed{100 * waited / step.step_s, step.step_s};
    });
}

Curve memory_curve(const History& history, std::int64_t most_points, MemoryTier tier, double unit_bytes) {
    return make_curve(history, most_points, [tier, unit_bytes](const Step& step) {
        return std::optional{Weighed{step.tier_bytes[static_cast<std::size_t>(tier)] / unit_bytes}};
    });
}

}  // namespace ziggurat::plot
