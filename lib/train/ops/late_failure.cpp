#include "train/ops/late_failure.hpp"

#include <cstdio>
#include <exception>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "comm/watch/liveness.hpp"
#include "comm/watch/process_abort.hpp"

namespace ziggurat::train {
namespace {

std::string with_label(const FailedOp& op, const std::string& problem) {
    return "'" + op.label + "'" + (op.is_certain ? "" : ", or a later operation of its device,") +
           " failed: " + problem;
}

}  // namespace

void throw_failure_of(const FailedOp& op) {
    try {
        throw;
    } catch (const Error& error) {
        throw Error{error.kind(), with_label(op, error.what()), error.where()};
    } catch (...) {
        const auto failure = current_failure();
        throw Error{static_cast<ErrorKind>(failure.exit_code), with_label(op, failure.problem)};
    }
}

void report_failure_of(const FailedOp& op, const comm::WaitContext& context, int num_exceptions) {
    const auto failure = current_failure();
    const auto text = with_label(op, failure.problem);
    if (std::uncaught_exceptions() > num_exceptions) {
        comm::print_on_stderr("warning: in addition, " + text);
    } else {
        context.fail(failure.exit_code, text);
    }
}

void end_job_at_once(const comm::Context& world) {
    if (world.size() == 1 || world.liveness() == nullptr) {
        return;
    }
    const auto failure = current_failure();
    std::fflush(nullptr);
    world.liveness()->fail(failure.exit_code, failure.problem);
}

}  // namespace ziggurat::train
