/// Main program: parses the command line, runs one command, maps errors to messages and exit codes.
#include <sys/prctl.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <variant>

#include "app/command_line/cli.hpp"
#include "app/command_line/command_table.hpp"
#include "app/commands.hpp"
#include "app/start/gpu_policy.hpp"
#include "app/start/heap_policy.hpp"
#include "app/start/wait_policy.hpp"
#include "base/failure.hpp"
#include "plan/for_each_on_threads.hpp"

namespace {

using namespace ziggurat;
using namespace ziggurat::app;

/// Upper bound of threads that build programs for a plan: each needs the memory of one.
constexpr std::size_t max_threads_of_plans = 4;

int run(const ParsedCommand& parsed, char** argv) {
    // With SIGXFSZ ignored, a write beyond the file size limit (ulimit -f) fails with an error.
    std::signal(SIGXFSZ, SIG_IGN);
    const auto& command = commands()[parsed.index];
    choose_heap_policy(command.computes);
    choose_gpu_policy();
    if (command.computes) {
        choose_wait_policy(argv, command.has_short_ops ? OpLength::short_ones : OpLength::usual);
    } else {
        plan::set_threads_of_plans(max_threads_of_plans);
    }
    return AllCommands::run(parsed.index, *parsed.options);
}

}  // namespace

int main(int argc, char** argv) {
    // ps and top would show "exe" after choose_wait_policy() has started /proc/self/exe.
    ::prctl(PR_SET_NAME, "ziggurat");
    try {
        const std::variant<ParsedCommand, EarlyExit> parsed = parse_command_line(argc, argv);
        if (const EarlyExit* done = std::get_if<EarlyExit>(&parsed)) {
            return done->exit_code;
        }
        return run(std::get<ParsedCommand>(parsed), argv);
    } catch (...) {
        const Failure failure = current_failure();
        std::fputs((message_of(failure) + "\n").c_str(), stderr);
        return failure.exit_code;
    }
}
