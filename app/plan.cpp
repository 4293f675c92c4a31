#include <fmt/format.h>

#include <cstdio>

#include "app/commands.hpp"
#include "app/launch.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "deck/load.hpp"
#include "deck/machine.hpp"
#include "plan/choose_depths.hpp"
#include "plan/choose_homes.hpp"
#include "schedule/build_program.hpp"
#include "schedule/print_program.hpp"

namespace ziggurat::app {
namespace {

constexpr int deck_is_wrong = static_cast<int>(ErrorKind::deck);

void print(std::FILE* stream, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

int plan(const Arguments& arguments) {
    const bool trains = arguments.variant == "train";
    if (!trains && arguments.variant != "evaluate") {
        print(stderr,
              message(Severity::error, fmt::format("there is no program '{}'. Use one of train, evaluate.\n",
                                                   printable(arguments.variant))));
        return deck_is_wrong;
    }
    deck::LoadOptions load{
        .ranks = arguments.ranks.value_or(0),
        .threads = arguments.machine.empty() ? threads_if_started(arguments.ranks.value_or(0)) : 0,
        .for_plan = true,
        .choose_homes = plan::choose_homes,
        .choose_depths = [](const spec::RunSpec& run, const spec::MachineSpec& machine,
                            spec::OpenDepths open) { return plan::choose_depths(run, machine, open); }};
    if (!arguments.machine.empty()) {
        deck::Diagnostics found;
        load.machine = deck::load_machine(deck::machine_file(arguments.machine), found);
        if (!load.machine) {
            print(stderr, found.print());
            return deck_is_wrong;
        }
    }
    const auto loaded = deck::load(arguments.deck, arguments.overrides, load);
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        print(stderr, loaded.found.print());
    }
    if (!loaded.ok()) {
        return deck_is_wrong;
    }
    if (arguments.rank >= loaded.run.parallel.ranks) {
        print(stderr, message(Severity::error,
                              fmt::format("there is no rank {} of {}. Ranks count from 0; set --ranks.\n",
                                          arguments.rank, loaded.run.parallel.ranks)));
        return deck_is_wrong;
    }
    const auto program = schedule::build_program(
        loaded.run, arguments.rank, trains ? schedule::Variant::train : schedule::Variant::evaluate);
    print(stdout, arguments.json ? schedule::program_as_json(program) : schedule::print_program(program));
    return 0;
}

}  // namespace ziggurat::app
