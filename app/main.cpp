/// Main program: parses the command line, runs one command, maps errors to messages and exit codes.
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <variant>

#include "app/command_line/cli.hpp"
#include "app/commands.hpp"
#include "app/start/gpu_policy.hpp"
#include "app/start/heap_policy.hpp"
#include "app/start/wait_policy.hpp"
#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/text/message.hpp"

namespace {

using namespace ziggurat;
using namespace ziggurat::app;

int run(const Arguments& arguments, char** argv) {
    // With SIGXFSZ ignored, a write beyond the file size limit (ulimit -f) fails with an error.
    std::signal(SIGXFSZ, SIG_IGN);
    choose_heap_policy();
    choose_gpu_policy();
    switch (arguments.command) {
        case Command::check:
            return check(arguments);
        case Command::plan:
            return plan(arguments);
        case Command::slurm:
            return slurm(arguments);
        case Command::train:
            choose_wait_policy(argv);
            return train(arguments);
        case Command::inspect:
            return inspect(arguments);
        case Command::sample:
            choose_wait_policy(argv);
            return sample(arguments);
        case Command::eval:
            choose_wait_policy(argv);
            return eval(arguments);
        case Command::import_model:
            return import_model(arguments);
        case Command::export_model:
            return export_model(arguments);
        case Command::tokenize:
            return tokenize(arguments);
        case Command::plot:
            return plot(arguments);
        case Command::report:
            return report(arguments);
        case Command::top:
            return top(arguments);
        case Command::doctor:
            return doctor(arguments);
        case Command::bench_io:
            return bench_io(arguments);
        case Command::bench_gpu:
            return bench_gpu(arguments);
    }
    return static_cast<int>(ErrorKind::internal);
}

}  // namespace

int main(int argc, char** argv) {
    // ps and top would show "exe" after choose_wait_policy() has started /proc/self/exe.
    ::prctl(PR_SET_NAME, "ziggurat");
    try {
        const std::variant<Arguments, EarlyExit> parsed = parse_command_line(argc, argv);
        if (const EarlyExit* done = std::get_if<EarlyExit>(&parsed)) {
            return done->exit_code;
        }
        return run(std::get<Arguments>(parsed), argv);
    } catch (...) {
        const Failure failure = current_failure();
        std::fputs((message(Severity::error, failure.problem) + "\n").c_str(), stderr);
        return failure.exit_code;
    }
}
