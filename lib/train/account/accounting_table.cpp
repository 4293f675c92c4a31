#include "train/account/accounting_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/contract.hpp"
#include "base/text/units.hpp"
#include "train/account/accounting_links.hpp"
#include "train/account/accounting_traffic.hpp"
#include "train/account/stall_names.hpp"

namespace ziggurat::train {
namespace {

constexpr int width = 96;
constexpr double small_share = 0.02;     ///< of the wall time: smaller differences get no note
constexpr double uneven_from = 0.2;      ///< of the mean: smaller differences get no note
constexpr double min_row_percent = 0.1;  ///< of the wall time, on the slowest rank: minimum for a row
constexpr double seconds_per_day = 86400;

/// One activity over all ranks.
struct Spread {
    std::string name;
    Part part = Part::of_steps;
    std::int64_t calls = 0;  ///< maximum over the ranks
    double sum = 0, min = 0, max = 0;
    std::size_t worst_rank = 0;
};

/// Returns one spread per activity. Ranks without an activity count with 0 seconds.
std::vector<Spread> spreads_of(std::span<const AccountRecord> ranks) {
    std::vector<Spread> spreads;
    for (const AccountRecord& record : ranks) {
        for (const Activity& activity : record.activities) {
            if (std::none_of(spreads.begin(), spreads.end(),
                             [&](const Spread& s) { return s.name == activity.name; })) {
                spreads.push_back({.name = activity.name, .part = activity.part});
            }
        }
    }
    for (Spread& spread : spreads) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            Activity mine;
            for (const Activity& activity : ranks[rank].activities) {
                if (activity.name == spread.name) {
                    mine = activity;
                }
            }
            spread.calls = std::max(spread.calls, mine.calls);
            spread.sum += mine.seconds;
            spread.min = rank == 0 ? mine.seconds : std::min(spread.min, mine.seconds);
            if (rank == 0 || mine.seconds > spread.max) {
                spread.max = mine.seconds;
                spread.worst_rank = rank;
            }
        }
    }
    std::erase_if(spreads, [](const Spread& spread) { return spread.calls == 0; });
    return spreads;
}

/// One kernel, summed over the ranks, with the number of ranks that run it.
struct KernelSum {
    KernelTime time;
    std::int64_t num_ranks = 0;
};

std::vector<KernelSum> kernels_of(std::span<const AccountRecord> ranks) {
    std::vector<KernelSum> sums;
    for (const AccountRecord& record : ranks) {
        for (const KernelTime& kernel : record.kernels) {
            auto sum = std::find_if(sums.begin(), sums.end(), [&](const KernelSum& s) {
                return s.time.phase == kernel.phase && s.time.direction == kernel.direction;
            });
            if (sum == sums.end()) {
                sum =
                    sums.insert(sums.end(), {.time = {.phase = kernel.phase, .direction = kernel.direction}});
            }
            sum->time.calls += kernel.calls;
            sum->time.seconds += kernel.seconds;
            sum->time.flops += kernel.flops;
            sum->num_ranks += kernel.calls > 0 ? 1 : 0;
        }
    }
    std::erase_if(sums, [](const KernelSum& sum) { return sum.num_ranks == 0; });
    std::stable_sort(sums.begin(), sums.end(),
                     [](const KernelSum& a, const KernelSum& b) { return a.time.seconds > b.time.seconds; });
    return sums;
}

class Table {
  public:
    explicit Table(std::span<const AccountRecord> ranks) : ranks_{ranks}, first_{ranks.front()} {
        for (const AccountRecord& record : ranks) {
            wall_ += record.wall_seconds / static_cast<double>(ranks.size());
        }
    }

    std::string build(double flops_per_token,
                      const BottleneckFacts* facts,
                      double mfu_of_one_token_s,
                      const PlannedStep* planned) {
        add_title();
        add_activities();
        text_ += stall_cause_table(ranks_);
        text_ += traffic_table(ranks_);
        text_ += link_table(ranks_);
        add_kernels();
        add_performance(flops_per_token, mfu_of_one_token_s);
        if (planned != nullptr) {
            add_planned(*planned);
        }
        if (facts != nullptr) {
            for (const auto& sentence :
                 {bottleneck_sentence(ranks_, *facts), wear_sentence(ranks_, *facts)}) {
                if (!sentence.empty()) {
                    line(" {}", sentence);
                }
            }
        }
        add_notes();
        if (planned != nullptr) {
            add_practicality(*planned);
        }
        return std::move(text_);
    }

  private:
    template <class... Arguments>
    void line(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        text_ += fmt::format(form, std::forward<Arguments>(arguments)...);
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_ += '\n';
    }
    void rule() { line(" {:-<{}}", "", width - 1); }
    double percent(double seconds) const { return wall_ > 0 ? 100 * seconds / wall_ : 0; }
    double mean(const Spread& spread) const { return spread.sum / static_cast<double>(ranks_.size()); }

    void add_title() {
        const char* ranks = ranks_.size() == 1 ? "rank" : "ranks";
        if (first_.steps() == 0) {
            line("R U N   T I M E   A C C O U N T I N G      {} {}, no completed step, {}", ranks_.size(),
                 ranks, format_duration(wall_));
        } else {
            line("R U N   T I M E   A C C O U N T I N G      {} {}, steps {} to {}, {}", ranks_.size(), ranks,
                 first_.first_step, first_.last_step, format_duration(wall_));
        }
        text_ += '\n';
    }

    void add_activities() {
        line(" {:<34}{:>10}{:>11}{:>11}{:>11} {:>7}{:>9}", "Activity", "calls", "min s", "mean s", "max s",
             "(rank)", "%");
        rule();
        spreads_ = spreads_of(ranks_);
        double covered = 0;
        std::int64_t folded = 0;
        double in_folded = 0;
        const auto is_tiny = [&](const Spread& spread) { return percent(spread.max) < min_row_percent; };
        const bool folds = std::ranges::count_if(spreads_, is_tiny) > 1;
        for (const Spread& spread : spreads_) {
            if (folds && is_tiny(spread)) {
                ++folded;
                in_folded += mean(spread);
                continue;
            }
            line(" {:<34}{:>10}{:>11.3f}{:>11.3f}{:>11.3f} {:>7}{:>9.1f}", spread.name, spread.calls,
                 spread.min, mean(spread), spread.max, fmt::format("({})", spread.worst_rank),
                 percent(mean(spread)));
            covered += mean(spread);
        }
        if (folds) {
            line(" {:<34}{:>10}{:>11}{:>11.3f}{:>11} {:>7}{:>9.1f}",
                 fmt::format("{} more, each below {}%", folded, min_row_percent), "", "", in_folded, "", "",
                 percent(in_folded));
            covered += in_folded;
        }
        line(" {:<34}{:>10}{:>11}{:>11.3f}{:>11} {:>7}{:>9.1f}", "Rest", "", "", wall_ - covered, "", "",
             percent(wall_ - covered));
        rule();
        line(" {:<34}{:>10}{:>11}{:>11.3f}{:>11} {:>7}{:>9.1f}", "Total", "", "", wall_, "", "",
             percent(wall_));
    }

    /// Adds the kernels, longest first: means over the ranks that run a kernel, per step.
    void add_kernels() {
        const std::vector<KernelSum> kernels = kernels_of(ranks_);
        if (kernels.empty() || first_.steps() == 0) {
            return;
        }
        text_ += '\n';
        line(" {:<34}{:<17}{:>10}{:>12}{:>10}{:>12}", "Kernel", "direction", "calls", "ms/step", "%",
             "GFLOP/s");
        rule();
        for (const KernelSum& sum : kernels) {
            const auto num_ranks = static_cast<double>(sum.num_ranks);
            const double seconds = sum.time.seconds / num_ranks;
            const bool has_rate = sum.time.flops > 0 && sum.time.seconds > 0;
            line(" {:<34}{:<17}{:>10.0f}{:>12.3f}{:>10.1f}{:>12}", sum.time.phase, sum.time.direction,
                 static_cast<double>(sum.time.calls) / num_ranks,
                 1e3 * seconds / static_cast<double>(first_.steps()), percent(seconds),
                 has_rate ? fmt::format("{:.1f}", sum.time.flops / sum.time.seconds * 1e-9) : "");
        }
        rule();
    }

    void add_performance(double flops_per_token, double mfu_of_one_token_s) {
        text_ += '\n';
        if (first_.steps() == 0 || wall_ <= 0) {
            line(" Performance: no completed step");
            return;
        }
        const double in_steps = seconds_in_steps();
        const auto tokens = static_cast<double>(first_.tokens);
        const double rate = tokens / std::max(in_steps, 1e-9);
        std::string flops;
        if (flops_per_token > 0) {
            flops = fmt::format("   {}FLOP/s ({}FLOP per token)", spaced(rate * flops_per_token),
                                spaced(flops_per_token));
        }
        if (mfu_of_one_token_s > 0) {
            flops += fmt::format("   mfu {:.1f}%", 100 * rate * mfu_of_one_token_s);
        }
        line(" Performance: {} tok/s in steps, {} tok/s wall-clock   {} tok/day{}", format_count(rate),
             format_count(tokens / wall_), format_count(tokens / wall_ * seconds_per_day), flops);
        if (first_.excluded_steps > 0) {
            line(
                " Excluded: start-up and the first {} steps ({}), which touch memory and load code for the "
                "first time",
                first_.excluded_steps, format_duration(first_.excluded_seconds));
        } else {
            line(" Includes the first steps, so slower than a longer run (steps: {})", first_.steps());
        }
    }

    double seconds_in_steps() const {
        double seconds = wall_;
        for (const Spread& spread : spreads_) {
            seconds -= spread.part == Part::between_steps ? mean(spread) : 0;
        }
        return seconds;
    }

    /// Adds the planned step next to the mean of the measured ones.
    void add_planned(const PlannedStep& planned) {
        if (first_.steps() == 0 || wall_ <= 0) {
            return;
        }
        if (!planned.is_known()) {
            line(" Planned: {}", planned.skip_reason);
            return;
        }
        const double measured = seconds_in_steps() / static_cast<double>(first_.steps());
        line(
            " Planned: a step of {}; measured {}, {:.2f} times the plan; busiest lane of the plan {}, "
            "{:.0f}% of the step",
            format_duration(planned.seconds), format_duration(measured), measured / planned.seconds,
            format_duration(planned.bound_seconds), 100 * planned.bound_seconds / measured);
    }

    /// Adds the practicality: the planned step with all state on the device, over the measured step.
    ///
    /// Source: Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", 2021, section 6
    void add_practicality(const PlannedStep& planned) {
        if (planned.on_device_seconds <= 0 || first_.steps() == 0 || wall_ <= 0) {
            return;
        }
        const double measured = seconds_in_steps() / static_cast<double>(first_.steps());
        const Spread* worst = nullptr;
        for (const auto stall : {Stall::host_to_device, Stall::device_to_host, Stall::nvme_read,
                                 Stall::nvme_write, Stall::host_optimizer}) {
            const auto spread = std::ranges::find(spreads_, names_of(stall).activity, &Spread::name);
            if (spread != spreads_.end() && (worst == nullptr || mean(*spread) > mean(*worst))) {
                worst = &*spread;
            }
        }
        line(" Practicality: {:.2f} (a step with all state on the device is planned to take {}){}",
             planned.on_device_seconds / measured, format_duration(planned.on_device_seconds),
             worst == nullptr ? std::string{"; no transfer is waited for"}
                              : fmt::format("; most time is lost in '{}': {:.0f}% of the step", worst->name,
                                            100 * mean(*worst) / seconds_in_steps()));
    }

    void add_notes() {
        int number = 0;
        for (const Spread& spread : spreads_) {
            const double over = spread.max - mean(spread);
            if (percent(over) > 100 * small_share && over > uneven_from * mean(spread)) {
                line(
                    " NOTE {}  rank {} spends {:.0f}% more than the mean in '{}' ({} of {}). Check its cores "
                    "and its share of the work",
                    ++number, spread.worst_rank, 100 * over / mean(spread), spread.name,
                    format_duration(spread.max), format_duration(wall_));
            }
        }
    }

    /// Returns a number such as `57.91 G`, to which a unit can be appended.
    static std::string spaced(double count) {
        const std::string text = format_count(count);
        const std::size_t digits = text.back() > '9' ? text.size() - 1 : text.size();
        return text.substr(0, digits) + " " + text.substr(digits);
    }

    std::span<const AccountRecord> ranks_;
    const AccountRecord& first_;
    double wall_ = 0;
    std::vector<Spread> spreads_;
    std::string text_;
};

}  // namespace

std::string account_table(std::span<const AccountRecord> ranks,
                          double flops_per_token,
                          const BottleneckFacts* facts,
                          double mfu_of_one_token_s,
                          const PlannedStep* planned) {
    ZG_EXPECTS(!ranks.empty());
    return Table{ranks}.build(flops_per_token, facts, mfu_of_one_token_s, planned);
}

}  // namespace ziggurat::train
