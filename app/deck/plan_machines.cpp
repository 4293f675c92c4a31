#include "app/deck/plan_machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/deck/planning_progress.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/values/quantities.hpp"
#include "plan/layouts/choose_layout.hpp"
#include "plan/layouts/layout_choice.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/run_cost.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::app {
namespace {

constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);
constexpr int max_nodes_tried = 64;  ///< without --nodes
constexpr std::size_t max_shown = 10;

/// Limits of the search for one job: only the fastest layout is of interest.
constexpr plan::SearchLimits limits_of_job{.wanted = 1, .timed = 200, .footprints = 40};

/// Settings that are chosen unless the command line sets them.
constexpr const char* open_settings[] = {
    "parallel.tensor=auto",  "parallel.sequence=auto", "parallel.pipeline=auto", "parallel.data=auto",
    "sharding={zero: auto}", "train.micro_batch=auto", "recompute=auto"};

/// A job that fits.
struct Job {
    spec::MachineSpec machine;
    spec::RunSpec run;
    double step_seconds = 0;
    plan::RunCost cost;
    double minimized = 0;
};

/// A job that cannot run, with the reason.
struct RefusedJob {
    std::string machine;
    int nodes = 0;
    int ranks = 0;
    std::string reason;
};

/// Returns the first error; its location only if it is in a file.
std::string first_error(const deck::Diagnostics& found) {
    for (const auto& problem : found.sorted()) {
        if (problem.severity == Severity::error) {
            const bool is_in_file = problem.has_slot() && problem.at.file != deck::command_line_name;
            return (is_in_file ? problem.at.text() + ": " : "") + problem.sentence();
        }
    }
    return "";
}

plan::JobObjective objective_named(const std::string& name) {
    return name == "time"     ? plan::JobObjective::time
           : name == "energy" ? plan::JobObjective::energy
                              : plan::JobObjective::cost;
}

const char* name_of(plan::JobObjective objective) {
    return objective == plan::JobObjective::time     ? "time"
           : objective == plan::JobObjective::energy ? "energy"
                                                     : "cost";
}

/// Separates `dgx-h100:24.5` into a machine and its price per hour; 0 without a price.
std::pair<std::string, double> with_price(const std::string& text) {
    const auto colon = text.rfind(':');
    const auto price =
        colon == std::string::npos ? std::nullopt : deck::read_real(std::string_view{text}.substr(colon + 1));
    return price && *price > 0 ? std::pair{text.substr(0, colon), *price} : std::pair{text, 0.0};
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts(1);
    for (const char c : list) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// Throws Error{deck} if the machine's file does not give what the objective needs.
void expect_known(const spec::MachineSpec& machine, plan::JobObjective objective) {
    const bool lacks_price = objective == plan::JobObjective::cost && machine.price_per_hour <= 0;
    const bool lacks_power =
        objective == plan::JobObjective::energy && machine.power <= 0 && machine.idle_power <= 0;
    if (lacks_price) {
        throw Error{ErrorKind::deck,
                    fmt::format("--machines: {} gives no price_per_hour. Write {}:PRICE, the "
                                "price of a node for an hour, or use --objective time.",
                                printable(machine.name), printable(machine.name))};
    }
    if (lacks_power) {
        throw Error{ErrorKind::deck,
                    fmt::format("--machines: {} gives no power. Add it, or idle_power and energy, to a copy "
                                "of its file, or use --objective time.",
                                printable(machine.name))};
    }
}

class Comparison {
  public:
    Comparison(const PlanOptions& options, const deck::LoadOptions& load, Progress& progress)
        : options_{options}, load_{load}, objective_{objective_named(options.objective)}, watched_{progress} {
        overrides_.assign(std::begin(open_settings), std::end(open_settings));
        overrides_.insert(overrides_.end(), options.overrides.begin(), options.overrides.end());
        load_.choose_layout = [this](const spec::RunSpec& run, const spec::MachineSpec& machine,
                                     const spec::LayoutSpace& space, const spec::LayoutRules& rules) {
            return plan::choose_layout(run, machine, space, rules, limits_of_job, watched_.watch());
        };
    }

    /// Adds the jobs on `machine`.
    void add(const spec::MachineSpec& machine) {
        expect_known(machine, objective_);
        load_.machine = machine;
        load_.ranks_per_node = machine.ranks_per_node;
        for (int nodes = 1; nodes <= options_.nodes.value_or(max_nodes_tried); nodes *= 2) {
            load_.ranks = nodes * machine.ranks_per_node;
            add_job(machine, nodes);
        }
    }

    /// Returns the jobs, the best first.
    std::vector<Job> sorted() && {
        std::ranges::stable_sort(jobs_, {}, [](const Job& job) { return job.minimized; });
        return std::move(jobs_);
    }

    int tried() const { return tried_; }
    /// Returns the problems of the first deck that could not be loaded.
    const deck::Diagnostics& problems() const { return problems_; }
    /// True if no deck could be loaded.
    bool has_only_problems() const { return loaded_ == 0; }
    /// Returns the jobs that cannot run, in the order in which they were added.
    const std::vector<RefusedJob>& refused() const { return refused_; }

  private:
    void add_job(const spec::MachineSpec& machine, int nodes) {
        const auto refuse = [&](std::string reason) {
            refused_.push_back({machine.name, nodes, load_.ranks, std::move(reason)});
        };
        ++tried_;
        auto loaded = deck::load(options_.deck, overrides_, load_);
        if (!loaded.ok()) {
            refuse(first_error(loaded.found));
            problems_ = problems_.ok() ? std::move(loaded.found) : problems_;
            return;
        }
        ++loaded_;
        auto& run = loaded.run;
        if (options_.tokens) {
            const auto of_step = run.train.global_batch * run.data.seq;
            run.train.tokens = *options_.tokens;
            run.train.steps = (*options_.tokens + of_step - 1) / of_step;
        }
        expect_energy(machine, run.precision.compute);
        if (const auto missing = plan::missing_rates(run, loaded.machine); !missing.empty()) {
            refuse(fmt::format("the time is unknown: {} does not give {}", printable(machine.name), missing));
            return;
        }
        const auto footprint = plan::footprint_in_search(run, loaded.machine);
        if (!footprint.fits()) {
            refuse(fmt::format("it does not fit: it lacks {}", format_bytes(footprint.total_lack())));
            return;
        }
        const auto time = plan::planned_time(run, loaded.machine);
        const auto cost = plan::cost_of_run(run, loaded.machine, time);
        jobs_.push_back(
            {machine, std::move(run), time.step_seconds, cost, *plan::objective_of(cost, objective_)});
    }

    /// Throws Error{deck} if energy is minimized and the file gives it for another compute type only.
    void expect_energy(const spec::MachineSpec& machine, spec::DType compute) const {
        if (objective_ == plan::JobObjective::energy &&
            plan::energy_basis(machine, compute) == plan::EnergyBasis::none) {
            throw Error{
                ErrorKind::deck,
                fmt::format("--machines: {} gives idle_power, but not energy.{}_flop, the energy of products "
                            "in the compute type of the deck. Add it, or power, to a copy of its file.",
                            printable(machine.name), compute == spec::DType::f32 ? "fp32" : "bf16")};
        }
    }

    const PlanOptions& options_;
    deck::LoadOptions load_;
    plan::JobObjective objective_;
    PlanningProgress watched_;
    std::vector<std::string> overrides_;
    std::vector<Job> jobs_;
    std::vector<RefusedJob> refused_;
    deck::Diagnostics problems_;
    int tried_ = 0;
    int loaded_ = 0;
};

/// Returns lines that name the basis of the energies in the table; empty if no energy is known.
std::string basis_of_energy(const std::vector<Job>& jobs, std::size_t shown) {
    std::vector<std::string> by_work, by_power;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto basis = plan::energy_basis(jobs[i].machine, jobs[i].run.precision.compute);
        auto& names = basis == plan::EnergyBasis::work ? by_work : by_power;
        const auto name = printable(jobs[i].machine.name);
        if (basis != plan::EnergyBasis::none && std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
    std::string text;
    if (!by_work.empty()) {
        text += fmt::format("energy of {}: idle_power x time, and the energy of FLOP and bytes\n",
                            fmt::join(by_work, ", "));
    }
    if (!by_power.empty()) {
        text += fmt::format("energy of {}: power x time\n", fmt::join(by_power, ", "));
    }
    return text;
}

std::string row(const Job& job) {
    constexpr double joules_per_kWh = 3.6e6;
    const auto& cost = job.cost;
    return fmt::format("{:<14} {:>5} {:>6} {:>10} {:>11} {:>14} {:>12}  {}\n", printable(job.machine.name),
                       cost.nodes, job.run.parallel.ranks, format_duration(job.step_seconds),
                       format_duration(cost.seconds), cost.price ? fmt::format("{:.2f}", *cost.price) : "-",
                       cost.joules ? fmt::format("{:.1f} kWh", *cost.joules / joules_per_kWh) : "-",
                       plan::described(plan::layout_of(job.run)));
}

/// Returns the jobs that cannot run with their reasons, one line each; empty without such jobs.
std::string refused_text(const std::vector<RefusedJob>& refused) {
    if (refused.empty()) {
        return "";
    }
    std::string text = "jobs that cannot run\nmachine        nodes  ranks  reason\n";
    for (const auto& job : refused) {
        text +=
            fmt::format("{:<14} {:>5} {:>6}  {}\n", printable(job.machine), job.nodes, job.ranks, job.reason);
    }
    return text;
}

}  // namespace

int compare_machines_and_print(const PlanOptions& options,
                               const deck::LoadOptions& load,
                               Progress& progress) {
    std::vector<spec::MachineSpec> machines;
    deck::Diagnostics found;
    for (const auto& text : split(options.machines)) {
        const auto [name, price] = with_price(text);
        auto machine = deck::load_called_machine(name, found);
        if (!machine) {
            std::fputs(found.print().c_str(), stderr);
            return found.exit_code();
        }
        machine->price_per_hour = price > 0 ? price : machine->price_per_hour;
        machines.push_back(std::move(*machine));
    }
    std::vector<Job> jobs;
    std::vector<RefusedJob> refused;
    int tried = 0;
    {
        Comparison comparison{options, load, progress};
        for (const auto& machine : machines) {
            comparison.add(machine);
        }
        if (comparison.has_only_problems()) {
            std::fputs(comparison.problems().print().c_str(), stderr);
            return comparison.problems().exit_code();
        }
        tried = comparison.tried();
        refused = comparison.refused();
        jobs = std::move(comparison).sorted();
    }
    if (jobs.empty()) {
        std::fputs(
            fmt::format("ziggurat: error: none of the {} jobs fits (its states and activations exceed "
                        "the memory). Allow more nodes with --nodes, or other homes with tiers.home.\n{}",
                        tried, refused_text(refused))
                .c_str(),
            stderr);
        return does_not_fit;
    }
    const auto& best = jobs.front().run;
    std::string text = fmt::format(
        "{} of {} jobs fit; {} steps of {} tokens; the lowest {} first\n"
        "machine        nodes  ranks       step    all steps          price       energy  layout\n",
        jobs.size(), tried, format_grouped(best.train.steps),
        format_grouped(best.train.global_batch * best.data.seq), name_of(objective_named(options.objective)));
    const auto shown = std::min(jobs.size(), max_shown);
    for (std::size_t i = 0; i < shown; ++i) {
        text += row(jobs[i]);
    }
    text += basis_of_energy(jobs, shown);
    text += refused_text(refused);
    std::fputs(text.c_str(), stdout);
    return 0;
}

}  // namespace ziggurat::app
