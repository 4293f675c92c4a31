#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/bench/kept_peak.hpp"
#include "app/deck/deck_options.hpp"
#include "app/deck/epochs.hpp"
#include "app/deck/job_size.hpp"
#include "app/deck/plan_json.hpp"
#include "app/deck/plan_machines.hpp"
#include "app/deck/plan_recompute.hpp"
#include "app/deck/plan_search.hpp"
#include "app/deck/plan_summary.hpp"
#include "app/deck/plan_time.hpp"
#include "app/deck/planning_progress.hpp"
#include "app/deck/remedy_search.hpp"
#include "app/output/output_style.hpp"
#include "app/start/built_for.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "comm/built_with.hpp"
#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/messages/nearest.hpp"
#include "layout/families/family.hpp"
#include "plan/gpu/kernel_table.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/search/choose_tensor_overlap.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/op_selection.hpp"
#include "schedule/print_program.hpp"
#include "schedule/program_json.hpp"
#include "schedule/program_summary.hpp"

namespace ziggurat::app {
namespace {

constexpr int deck_is_wrong = static_cast<int>(ErrorKind::deck);
constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);

void print(std::FILE* stream, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

std::vector<std::string> unit_names(const spec::RunSpec& run) {
    std::vector<std::string> names;
    for (const auto& unit : layout::family_table(run).units) {
        names.push_back(unit.name);
    }
    return names;
}

/// Throws Error{deck} if `name` is not empty and not in `available`.
void expect_there(const char* option,
                  const std::string& what,
                  const std::string& name,
                  const std::vector<std::string>& available) {
    if (name.empty() || std::find(available.begin(), available.end(), name) != available.end()) {
        return;
    }
    const auto meant = deck::nearest(name, {available.begin(), available.end()});
    throw Error{ErrorKind::deck, fmt::format("{}: this program has no {} {} (there are {}).{}", option, what,
                                             deck::in_quotes(name), fmt::join(available, ", "),
                                             meant.empty() ? "" : fmt::format(" Did you mean '{}'?", meant))};
}

/// Prints the ops that the command line selects, one line each.
void print_chosen(const PlanOptions& options,
                  const schedule::Program& program,
                  const std::vector<std::string>& units,
                  const schedule::Print& print) {
    const auto available = schedule::choices_of(program, units);
    expect_there("--unit", "unit", options.unit, available.units);
    expect_there("--lane", "lane", options.lane, available.lanes);
    expect_there("--kind", "kind of op", options.kind, available.kinds);
    const auto last = static_cast<int>(program.ops.size()) - 1;
    if (options.ops && options.ops->second > last) {
        throw Error{ErrorKind::deck, fmt::format("--ops: there is no op {}. Ops count from 0 to {}.",
                                                 options.ops->second, last)};
    }
    const auto chosen = schedule::select_ops(
        program, units,
        {.unit = options.unit, .lane = options.lane, .kind = options.kind, .range = options.ops});
    print(schedule::print_totals(program));
    schedule::print_ops(program, chosen, print);
    print(fmt::format("{} of {} ops\n", chosen.size(), program.ops.size()));
}

/// Returns the kernels of `program`; empty if the ranks compute on the host's cores.
std::optional<plan::KernelTable> kernels_on_gpu(const spec::RunSpec& run, const schedule::Program& program) {
    if (run.tiers.device != spec::DeviceKind::cuda) {
        return std::nullopt;
    }
    return plan::kernel_table(run, schedule::ModelLayout{run, program.rank}, program);
}

void print_text(const PlanOptions& options,
                const spec::RunSpec& run,
                const schedule::Program& program,
                const schedule::Print& print) {
    const auto units = unit_names(run);
    const bool chooses =
        options.all || options.ops || !options.unit.empty() || !options.lane.empty() || !options.kind.empty();
    if (chooses) {
        print_chosen(options, program, units, print);
        return;
    }
    print(schedule::print_totals(program));
    print(schedule::work_table(schedule::work_by_unit(program, units)));
    if (const auto kernels = kernels_on_gpu(run, program)) {
        print(plan::print_kernel_table(*kernels));
    }
    print("--unit, --lane, --kind and --ops A-B print single ops, --all prints all ops\n");
}

deck::LoadOptions load_options(SourceSizes& sizes, Progress& progress, const KeptPeakOf& kept_peak) {
    return {.needs_data = false,
            .read_tokenizer = read_tokenizer_once(),
            .read_source = [&sizes](const auto& run, const auto& source,
                                    const auto& key) { return sizes.read(run, source, key); },
            .find_train_validation_overlap = find_train_validation_overlap,
            .choose_layout = choose_layout_with_progress(progress, kept_peak),
            .choose_homes = choose_homes_with_progress(progress),
            .choose_depths = choose_depths_with_progress(progress),
            .choose_leases = choose_leases_with_progress(progress),
            .choose_accumulation = choose_accumulation_with_progress(progress),
            .choose_tensor_overlap = plan::choose_tensor_overlap};
}

/// Throws Error{deck} if the run has no such rank.
void expect_rank(int rank, const spec::RunSpec& run) {
    if (rank >= run.parallel.ranks) {
        throw Error{ErrorKind::deck,
                    fmt::format("there is no rank {} of {}. Ranks count from 0; set --ranks.", rank,
                                run.parallel.ranks)};
    }
}

int print_summary(const PlanOptions& options,
                  const deck::LoadedDeck& loaded,
                  const deck::LoadOptions& load,
                  const Epochs& epochs,
                  Progress& progress) {
    expect_rank(options.rank.value_or(0), loaded.run);
    plan::MemoryReport memory;
    std::string text;
    {
        const PlanningProgress watched{
            progress};  // the end of this scope removes its line before anything is printed
        memory =
            plan::memory_report(loaded.run, loaded.machine, {}, watched.watch(),
                                not_by_this_program_reason(loaded.run), remedy_search(options, load, loaded));
        const PlanAnswer answer{.deck = options.deck,
                                .exit_code = memory.fits ? 0 : does_not_fit,
                                .found = loaded.found,
                                .loaded = &loaded,
                                .memory = &memory,
                                .epochs = epochs,
                                .rank = options.rank};
        text = options.json ? plan_as_json(answer, watched.watch())
                            : plan_summary(loaded, epochs, memory, watched.watch());
    }
    print(stdout, text);
    return memory.fits ? 0 : does_not_fit;
}

int print_program(const PlanOptions& options, const deck::LoadedDeck& loaded, Progress& progress) {
    const int rank = options.rank.value_or(0);
    expect_rank(rank, loaded.run);
    const bool trains = options.variant == "train";
    progress.begin("compiles the step");
    const auto program = schedule::build_program(
        loaded.run, rank, trains ? schedule::Variant::train : schedule::Variant::evaluate);
    progress.end();
    const auto out = [](std::string_view text) { print(stdout, text); };
    if (options.json) {
        const auto kernels = kernels_on_gpu(loaded.run, program);
        schedule::print_as_json(program, out, kernels ? plan::kernel_table_as_json(*kernels) : "");
    } else {
        print_text(options, loaded.run, program, out);
    }
    return 0;
}

bool prints_plan_as_json(const PlanOptions& options) {
    return options.json && !options.time && !options.program;
}

/// Prints the problems of a deck or a machine file that has errors, and returns the exit code.
int refuse(const PlanOptions& options, const deck::Diagnostics& found) {
    if (prints_plan_as_json(options)) {
        print(stdout, plan_as_json({.deck = options.deck, .exit_code = found.exit_code(), .found = found}));
    } else {
        print(stderr, found.print());
    }
    return found.exit_code();
}

}  // namespace

int plan(const PlanOptions& options) {
    Progress progress{show_progress()};
    SourceSizes sizes;
    const bool is_here = options.machine.empty() && options.machines.empty();
    const auto kept_peak = is_here ? kept_peaks_here() : KeptPeakOf{};
    auto load = load_options(sizes, progress, kept_peak);
    load.has_nccl = comm::has_nccl || !is_here;
    if (!options.machines.empty()) {
        return compare_machines_and_print(options, load, progress);
    }
    if (!options.machine.empty()) {
        deck::Diagnostics found;
        load.machine = deck::load_called_machine(options.machine, found);
        if (!load.machine) {
            return refuse(options, found);
        }
    }
    load = sized(options, std::move(load));
    bool leaves_layout = false;
    auto loaded = options.search ? load_for_search(options, load, leaves_layout)
                                 : deck::load(options.deck, options.overrides, load);
    if (!loaded.ok()) {
        return refuse(options, loaded.found);
    }
    use_kept_peak(loaded, kept_peak);
    if (!prints_plan_as_json(options) && loaded.found.warnings() + loaded.found.notes() > 0) {
        print(stderr, loaded.found.print());
    }
    if (options.search) {
        return search_and_print(options, loaded, leaves_layout, load, progress);
    }
    if (options.recompute) {
        return print_recomputation(loaded, progress);
    }
    if (options.time) {
        return plan_time(options, loaded);
    }
    return options.program ? print_program(options, loaded, progress)
                           : print_summary(options, loaded, load, sizes.epochs(loaded.run), progress);
}

}  // namespace ziggurat::app
