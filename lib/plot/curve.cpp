#include "plot/curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ziggurat::plot {
namespace {

/// Weighted mean of the latest values, at most `count` of them.
class RunningMean {
  public:
    explicit RunningMean(std::int64_t count)
        : count_{static_cast<std::size_t>(std::max<std::int64_t>(count, 1))} {}

    double add(const WeightedValue& weighed) {
        bool is_rounded = false;  // a value far above the others leaves a rounding error in the sum
        if (latest_.size() < count_) {
            latest_.push_back(weighed);
        } else {
            const auto oldest = std::exchange(latest_[next_], weighed);
            next_ = (next_ + 1) % count_;
            sum_ -= oldest.weight * oldest.value;
            weight_ -= oldest.weight;
            is_rounded = std::fabs(sum_) < 1e-6 * std::fabs(oldest.weight * oldest.value);
        }
        sum_ += weighed.weight * weighed.value;
        weight_ += weighed.weight;
        if (is_rounded) {
            sum_ = weight_ = 0;
            for (const auto& kept : latest_) {
                sum_ += kept.weight * kept.value;
                weight_ += kept.weight;
            }
        }
        return weight_ > 0 ? sum_ / weight_ : weighed.value;
    }

  private:
    std::size_t count_;
    std::size_t next_ = 0;  ///< index of the oldest value once the buffer is full
    double sum_ = 0, weight_ = 0;
    std::vector<WeightedValue> latest_;
};

class Interval {
  public:
    void add(double x, const WeightedValue& weighed, double shown) {
        low_ = count_ == 0 ? weighed.value : std::min(low_, weighed.value);
        high_ = count_ == 0 ? weighed.value : std::max(high_, weighed.value);
        min_ = count_ == 0 ? shown : std::min(min_, shown);
        max_ = count_ == 0 ? shown : std::max(max_, shown);
        first_ = count_ == 0 ? x : first_;
        last_ = x;
        sum_ += weighed.weight * shown;
        weight_ += weighed.weight;
        ++count_;
    }
    /// Appends the point of all values added since the last call, if there are any.
    void end(Curve& curve) {
        if (count_ > 0 && weight_ > 0) {
            // Rounding must not move a mean of equal values outside of their range.
            curve.push_back({0.5 * (first_ + last_), std::clamp(sum_ / weight_, min_, max_), low_, high_});
        }
        *this = {};
    }

  private:
    std::int64_t count_ = 0;
    double first_ = 0, last_ = 0, low_ = 0, high_ = 0, min_ = 0, max_ = 0, sum_ = 0, weight_ = 0;
};

}  // namespace

Curve make_curve(const History& history, const CurveStyle& style, const ValueOf& value_of) {
    Curve curve;
    if (history.steps.empty()) {
        return curve;
    }
    const double first = style.x.of(history.steps.front());
    const double length = style.x.of(history.steps.back()) - first;
    const bool are_few = std::ssize(history.steps) <= style.max_points;
    const auto max = static_cast<double>(style.max_points);
    RunningMean mean{style.smooth};
    Interval interval;
    double latest = -1;
    for (const auto& step : history.steps) {
        const double x = style.x.of(step);
        const double index = are_few      ? latest + 1
                             : length > 0 ? std::min(max - 1, std::floor((x - first) / length * max))
                                          : 0;
        if (index > latest) {
            interval.end(curve);
            latest = index;
        }
        if (const auto weighed = value_of(step); weighed && std::isfinite(weighed->value)) {
            interval.add(x, *weighed, style.smooth > 1 ? mean.add(*weighed) : weighed->value);
        }
    }
    interval.end(curve);
    return curve;
}

ValueOf loss_value() {
    return [](const Step& step) {
        return step.loss ? std::optional{WeightedValue{*step.loss, 1}} : std::nullopt;
    };
}

ValueOf source_loss_value(std::size_t source) {
    return [source](const Step& step) {
        return source < step.loss_by_source.size()
                   ? std::optional{WeightedValue{step.loss_by_source[source], 1}}
                   : std::nullopt;  // make_curve() leaves out NaN
    };
}

double value_of(const Rewards& rewards, RewardCurve curve) {
    switch (curve) {
        case RewardCurve::chosen:
            return rewards.chosen;
        case RewardCurve::rejected:
            return rewards.rejected;
        case RewardCurve::margin:
            return rewards.margin();
        case RewardCurve::accuracy:
            return 100 * rewards.accuracy;
    }
    return 0;
}

ValueOf reward_value(RewardCurve curve) {
    return [curve](const Step& step) {
        return step.rewards ? std::optional{WeightedValue{value_of(*step.rewards, curve), 1}} : std::nullopt;
    };
}

ValueOf lr_value() {
    return [](const Step& step) { return std::optional{WeightedValue{step.lr, 1}}; };
}

ValueOf grad_norm_value() {
    return [](const Step& step) {
        return step.grad_norm > 0 ? std::optional{WeightedValue{step.grad_norm, 1}} : std::nullopt;
    };
}

ValueOf mfu_value() {
    return [](const Step& step) {
        return step.mfu > 0 && step.step_s > 0 ? std::optional{WeightedValue{100 * step.mfu, step.step_s}}
                                               : std::nullopt;
    };
}

ValueOf speed_value() {
    return [](const Step& step) {
        return step.step_s > 0 ? std::optional{WeightedValue{step.tok_s, step.step_s}} : std::nullopt;
    };
}

ValueOf stall_value(std::size_t lane) {
    return [lane](const Step& step) -> std::optional<WeightedValue> {
        if (step.step_s <= 0) {
            return std::nullopt;
        }
        double waited = 0;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            waited += lane == lanes.size() || lane == i ? static_cast<double>(step.stall_s[i]) : 0;
        }
        return WeightedValue{100 * waited / step.step_s, step.step_s};
    };
}

ValueOf memory_value(MemoryTier tier, double unit_bytes) {
    return [tier, unit_bytes](const Step& step) {
        return std::optional{WeightedValue{step.tier_bytes[tier] / unit_bytes}};
    };
}

}  // namespace ziggurat::plot
