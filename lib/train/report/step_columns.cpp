#include "train/report/step_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "base/text/units.hpp"

namespace ziggurat::train {
namespace {

constexpr std::string_view bar = " | ";
/// Share of the step time from which a stall is highlighted.
constexpr double large_stall = 0.2;
/// Width of three tiers with their budgets and the bar before them; the same for lines and headings.
constexpr int max_memory = 49;
/// Width of the time of day and its bar.
constexpr int time_width = 15;
/// Smallest share that is shown. Smaller shares round to 0.
constexpr double min_stall = 0.0005;

template <class... Arguments>
void set(std::string& text, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    text.clear();
    fmt::format_to(std::back_inserter(text), form, std::forward<Arguments>(arguments)...);
}

int digits(std::int64_t number) {
    return static_cast<int>(fmt::formatted_size("{}", number));
}

int width_of(std::string_view cell) {
    return cell.empty() ? 0 : static_cast<int>(cell.size() + bar.size());
}

void set_loss(std::string& text, const std::optional<double>& loss) {
    if (!loss) {
        set(text, "loss {:>7}", "n/a");
    } else if (std::fabs(*loss) < 99.9999) {
        set(text, "loss {:>7.4f}", *loss);
    } else {
        set(text, "loss {:>7.4g}", *loss);
    }
}

/// Appends used bytes and budget, such as `1.2/2.0G`, `12M/60G`; without a budget `61G`.
void append_use(std::string& text, std::int64_t bytes, std::int64_t budget_bytes) {
    const auto used = format_bytes_short(bytes);
    if (budget_bytes <= 0) {
        text += used;
        return;
    }
    const auto budget = format_bytes_short(budget_bytes);
    const bool is_same_unit = used.back() == budget.back() && used.back() > '9';
    fmt::format_to(std::back_inserter(text), "{}/{}",
                   std::string_view{used}.substr(0, used.size() - (is_same_unit ? 1 : 0)), budget);
}

/// Sets a time such as `09:14:02 UTC`.
void set_time(std::string& text, double now_s) {
    constexpr std::int64_t day_s = 24 * 60 * 60;
    const auto second = static_cast<std::int64_t>(now_s >= 0 ? std::min(now_s, 1e15) : 0) % day_s;
    set(text, "{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60);
}

}  // namespace

StepColumns::StepColumns(const StepLineFacts& facts)
    : facts_{facts}, step_width_{digits(facts.total_steps)} {}

void StepColumns::fill(const StepNumbers& numbers) {
    set(step_.text, "step {:>{}}/{}", numbers.step, step_width_, facts_.total_steps);
    set(step_alone_.text, "step {:>{}}", numbers.step, step_width_);
    set_loss(loss_.text, numbers.loss);
    loss_.style = !numbers.loss                   ? Style::caution
                  : !std::isfinite(*numbers.loss) ? Style::alarm
                  : numbers.is_spike              ? Style::caution
                                                  : Style::plain;
    set(rate_.text, "lr {:>8.2e}", numbers.lr);
    set(speed_.text, "{:>6} tok/s", format_count(numbers.tok_s));
    const bool is_done = numbers.step >= facts_.total_steps;
    set(time_left_.text, "{:<12}",
        is_done ? std::string{"done"} : "eta " + format_duration(std::max(numbers.left_s, 1e-3)));

    targets_.text.clear();
    if (facts_.reports_targets) {
        set(targets_.text, "{:>6} {}", format_count(numbers.targets),
            facts_.reports_rewards ? "pairs" : "targets");
    }
    rewards_.text.clear();
    if (facts_.reports_rewards) {
        const auto rewards = numbers.rewards.value_or(RewardMeans{});
        set(rewards_.text, "margin {:>7.4g} acc {:>4.0f}%", rewards.margin(), 100 * rewards.accuracy);
    }
    mfu_.text.clear();
    if (facts_.reports_mfu) {
        set(mfu_.text, "mfu {:>4.1f}%", 100 * numbers.mfu);
    }
    set(per_step_.text, "{:>8}", format_duration(numbers.step_s));
    fill_stalls(numbers);
    set(norm_.text, "norm {:>8.3g}", numbers.grad_norm);
    norm_.style = std::isfinite(numbers.grad_norm) ? Style::plain : Style::alarm;
    per_rank_.text.clear();
    if (facts_.ranks > 1) {
        set(per_rank_.text, "{:>6}/rank", format_count(numbers.tok_s / static_cast<double>(facts_.ranks)));
    }
    set_time(time_.text, numbers.now_s);
    fill_memory(numbers, true, memory_.text);
    fill_memory(numbers, false, memory_alone_.text);
}

/// Sets the cells of the two largest stalls.
void StepColumns::fill_stalls(const StepNumbers& numbers) {
    EnumArray<Stall, double, num_stalls> left = numbers.stall_share;
    stalls_.style = Style::plain;
    for (const bool is_first : {true, false}) {
        auto& text = is_first ? stalls_.text : second_stall_.text;
        const auto largest = std::max_element(left.begin(), left.end());
        if (*largest >= min_stall) {
            const auto name = names_of(static_cast<Stall>(largest - left.begin())).column;
            set(text, "{}{:<5} {:>4.1f}%", is_first ? "stall " : " ", name, 100 * *largest);
            stalls_.style = *largest > large_stall ? Style::caution : stalls_.style;
        } else {
            set(text, "{:<{}}", is_first ? "stall  0%" : "", is_first ? 17 : 12);
        }
        *largest = 0;
    }
}

/// Sets the cell of memory: each tier with its name.
void StepColumns::fill_memory(const StepNumbers& numbers, bool with_budgets, std::string& text) const {
    constexpr std::array<std::string_view, 3> names{"dev ", " host ", " nvme "};
    text.clear();
    for (std::size_t tier = 0; tier < static_cast<std::size_t>(numbers.num_tiers); ++tier) {
        text += names[tier];
        append_use(text, numbers.used_bytes[tier], with_budgets ? facts_.budget_bytes[tier] : 0);
    }
}

void StepColumns::fill_heading() {
    set(step_.text, "{:<{}}", "# step", 2 * step_width_ + 6);
    set(step_alone_.text, "{:<{}}", "# step", step_width_ + 5);
    set(loss_.text, "{:>12}", facts_.reports_rewards ? "loss / pair" : "loss, nats");
    set(rate_.text, "{:>11}", "rate");
    set(speed_.text, "{:>12}", "speed");
    set(time_left_.text, "{:<12}", "time left");
    set(targets_.text, "{:>{}}", facts_.reports_rewards ? "pairs" : "targets",
        facts_.reports_rewards ? 12 : 14);
    targets_.text.resize(facts_.reports_targets ? targets_.text.size() : 0);
    set(rewards_.text, "{:<24}", "margin and accuracy");
    rewards_.text.resize(facts_.reports_rewards ? rewards_.text.size() : 0);
    set(mfu_.text, "{:>9}", "mfu");
    set(per_step_.text, "{:>8}", "per step");
    set(stalls_.text, "{:<17}", "stall, % of step");
    set(second_stall_.text, "{:<12}", "");
    set(norm_.text, "{:>13}", "gradient norm");
    set(per_rank_.text, "{:>11}", "per rank");
    set(time_.text, "{:<12}", "time of day");
    set(memory_.text, "memory used/budget");
    set(memory_alone_.text, "memory");
    mfu_.text.resize(facts_.reports_mfu ? mfu_.text.size() : 0);
    per_rank_.text.resize(facts_.ranks > 1 ? per_rank_.text.size() : 0);
    for (Cell* cell :
         {&step_, &step_alone_, &loss_, &rate_, &speed_, &time_left_, &targets_, &rewards_, &mfu_, &per_step_,
          &stalls_, &second_stall_, &norm_, &per_rank_, &time_, &memory_, &memory_alone_}) {
        cell->style = Style::aside;
    }
}

bool StepColumns::fit(int columns, StyledText& line) const {
    using Cells = std::array<const Cell*, 5>;
    const std::array<Cells, 5> choices{{{&step_, &loss_, &rate_, &speed_, &time_left_},
                                        {&step_alone_, &loss_, &rate_, &speed_, &time_left_},
                                        {&step_alone_, &loss_, &speed_, &time_left_, nullptr},
                                        {&step_alone_, &loss_, &time_left_, nullptr, nullptr},
                                        {&step_alone_, &loss_, nullptr, nullptr, nullptr}}};
    const auto has_room = [columns](int width) { return columns == 0 || width <= columns; };
    const auto sum = [](std::span<const Cell* const> cells) {
        int width = -static_cast<int>(bar.size());
        for (const Cell* cell : cells) {
            width += cell == nullptr ? 0 : width_of(cell->text);
        }
        return width;
    };
    line.clear();
    const auto add = [&line](const Cell& cell) {
        line.add(line.plain().empty() ? "" : bar);
        line.add(cell.text, cell.style);
    };
    const auto chosen = std::find_if(choices.begin(), choices.end() - 1,
                                     [&](const Cells& cells) { return has_room(sum(cells)); });
    for (const Cell* cell : *chosen) {
        if (cell != nullptr) {
            add(*cell);
        }
    }
    if (chosen != choices.begin()) {
        line.cut(columns);
        line.trim();
        return false;
    }
    const std::array<const Cell*, 8> more{&targets_, &rewards_, &mfu_,      &per_step_,
                                          &stalls_,  &norm_,    &per_rank_, &memory_};
    const int first_width = sum(*chosen);
    const int all_but_memory = first_width + sum(std::span{more}.first(7)) + static_cast<int>(bar.size());
    const bool has_second_stall =
        has_room(all_but_memory + static_cast<int>(second_stall_.text.size()) + max_memory);
    const bool has_time =
        facts_.reports_time && columns > 0 &&
        has_room(all_but_memory + static_cast<int>(second_stall_.text.size()) + max_memory + time_width);
    bool has_stalls = false;
    for (const Cell* cell : more) {
        if (cell == &memory_ && has_time) {
            add(time_);
        }
        const auto width = static_cast<int>(line.plain().size());
        if (cell == &memory_ && !has_room(width + width_of(memory_.text))) {
            cell = &memory_alone_;
        }
        if (!has_room(width + width_of(cell->text))) {
            break;
        }
        if (!cell->text.empty()) {
            add(*cell);
        }
        if (cell == &stalls_) {
            has_stalls = true;
            line.add(has_second_stall ? second_stall_.text : "", stalls_.style);
        }
    }
    line.trim();
    return has_stalls;
}

}  // namespace ziggurat::train
