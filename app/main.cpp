/// The program: reads the command line, runs one command, turns errors into messages and exit codes.
#include <cstdio>
#include <exception>
#include <new>
#include <variant>

#include "app/cli.hpp"
#include "app/commands.hpp"
#include "app/heap_policy.hpp"
#include "app/wait_policy.hpp"
#include "base/error.hpp"
#include "base/message.hpp"

namespace {

using namespace ziggurat;
using namespace ziggurat::app;

int run(const Arguments& arguments, char** argv) {
    choose_heap_policy();
    switch (arguments.command) {
        case Command::check:
            return check(arguments);
        case Command::plan:
            return plan(arguments);
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
        case Command::bench_io:
            return bench_io(arguments);
    }
    return static_cast<int>(ErrorKind::internal);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::variant<Arguments, Done> parsed = parse_command_line(argc, argv);
        if (const Done* done = std::get_if<Done>(&parsed)) {
            return done->exit_code;
        }
        return run(std::get<Arguments>(parsed), argv);
    } catch (const Error& error) {
        std::fputs((message(Severity::error, error.what()) + "\n").c_str(), stderr);
        return error.exit_code();
    } catch (const std::bad_alloc&) {
        std::fputs(
            "ziggurat: error: this process may not have more memory. Free some, or ask for a smaller "
            "model.\n",
            stderr);
        return static_cast<int>(ErrorKind::resource);
    } catch (const std::exception& error) {
        std::fputs(
            message(Severity::error, std::string{error.what()} +
                                         " (a bug in ziggurat). Please report it with the command and the "
                                         "deck.\n")
                .c_str(),
            stderr);
        return static_cast<int>(ErrorKind::internal);
    }
}
