#include "plan/recompute/exact_recompute.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/recompute/run_solver.hpp"

namespace ziggurat::plan {
namespace {

/// Unit of bytes in the program: with it, coefficients differ by few orders of magnitude.
constexpr double unit_of_bytes = 1 << 20;

double units(std::int64_t bytes) {
    return static_cast<double>(bytes) / unit_of_bytes;
}

std::string redone(std::size_t kind, int op) {
    return fmt::format("r{}_{}", kind, op);
}

/// Writes the integer program of a graph, section by section.
class ProgramWriter {
  public:
    ProgramWriter(const RecomputeGraph& graph, std::int64_t budget) : graph_{graph}, budget_{budget} {}

    std::string write() {
        std::string objective;
        for (std::size_t k = 0; k < graph_.kinds.size(); ++k) {
            add_kind(k, objective);
        }
        memory_ += " + last";
        return fmt::format(
            "Minimize\n obj:{}\nSubject To\n{} memory:{} <= {:.17g}\nBounds\n{}General\n{}End\n", objective,
            rules_, memory_, units(budget_) - constant_, bounds_, integers_);
    }

  private:
    void add_kind(std::size_t k, std::string& objective) {
        const auto& kind = graph_.kinds[k];
        const auto in_flight = static_cast<double>(graph_.in_flight);
        for (std::size_t v = 0; v < kind.ops.size(); ++v) {
            const auto name = redone(k, static_cast<int>(v));
            // Milliseconds. Ops without time cost a nanosecond, so that they are recomputed only for their
            // bytes.
            const double cost = 1e3 * static_cast<double>(graph_.micro_batches) * kind.ops[v].seconds;
            objective += fmt::format("\n + {:.17g} {}", cost > 0 ? cost : 1e-6, name);
            bounds_ += fmt::format(" 0 <= {} <= {}\n", name, kind.layers);
            integers_ += fmt::format(" {}\n", name);
            // all = 1 if all layers recompute it.
            rules_ += fmt::format(" a{0}_{1}: all{0}_{1} - {2} >= {3}\n", k, v, name, 1 - kind.layers);
            bounds_ += fmt::format(" 0 <= all{}_{} <= 1\n", k, v);
        }
        std::vector<std::int64_t> made_by(kind.ops.size());  // bytes that backward reads
        for (std::size_t b = 0; b < kind.values.size(); ++b) {
            const auto& value = kind.values[b];
            if (value.is_for_backward) {
                made_by[static_cast<std::size_t>(value.made_by)] += value.bytes;
                continue;
            }
            memory_ += fmt::format("\n + {:.17g} s{}_{}", in_flight * units(value.bytes), k, b);
            bounds_ += fmt::format(" 0 <= s{}_{} <= {}\n", k, b, kind.layers);
            for (const int reader : value.read_by) {
                rules_ += fmt::format(" s{0}_{1}_{2}: s{0}_{1} + {3} - {4} >= 0\n", k, b, reader,
                                      redone(k, value.made_by), redone(k, reader));
            }
        }
        std::string of_last;
        for (std::size_t b = 0; b < kind.values.size(); ++b) {
            const auto& value = kind.values[b];
            if (value.is_for_backward && value.shared_by >= 0) {
                // both = 1 only if all layers recompute the value and the op that shares its memory.
                of_last += fmt::format("\n + {:.17g} both{}_{}", units(value.bytes), k, b);
                bounds_ += fmt::format(" 0 <= both{}_{} <= 1\n", k, b);
                integers_ += fmt::format(" both{}_{}\n", k, b);
                for (const int op : std::set{value.made_by, value.shared_by}) {
                    rules_ += fmt::format(" b{0}_{1}_{2}: {3} both{0}_{1} - {4} <= 0\n", k, b, op,
                                          kind.layers, redone(k, op));
                }
            }
        }
        for (std::size_t v = 0; v < kind.ops.size(); ++v) {
            if (made_by[v] > 0) {
                constant_ += in_flight * units(made_by[v]) * static_cast<double>(kind.layers);
                memory_ += fmt::format("\n - {:.17g} {}", in_flight * units(made_by[v]),
                                       redone(k, static_cast<int>(v)));
                of_last += fmt::format("\n - {:.17g} all{}_{}", units(made_by[v]), k, v);
            }
        }
        rules_ += fmt::format(" last{}: last{} >= 0\n", k, of_last);
    }

    const RecomputeGraph& graph_;
    std::int64_t budget_;
    double constant_ = 0;  ///< part of the memory that does not depend on the choice
    std::string rules_;
    std::string memory_;
    std::string bounds_;
    std::string integers_;
};

}  // namespace

std::string recompute_program(const RecomputeGraph& graph, std::int64_t budget) {
    return ProgramWriter{graph, budget}.write();
}

ExactRecompute read_solution(const RecomputeGraph& graph, const std::string& text) {
    std::istringstream lines{text};
    std::string status;
    std::getline(lines, status);
    const auto begins = [&](const char* with) { return status.starts_with(with); };
    if (begins("Infeasible") || begins("Integer infeasible")) {
        return {.choice = std::nullopt, .is_proven = true};
    }
    const bool is_proven = begins("Optimal");
    if (!is_proven && !begins("Stopped on")) {
        throw Error{
            ErrorKind::resource,
            fmt::format("cbc did not solve the program of recomputation (status '{}'). Report it as a bug.",
                        status)};
    }
    auto choice = keep_all(graph);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream row{line};
        std::string number, name;
        double value = 0;
        if (!(row >> number >> name >> value) || name.empty() || name.front() != 'r') {
            continue;
        }
        const auto bar = name.find('_');
        const auto kind = static_cast<std::size_t>(std::stoul(name.substr(1, bar - 1)));
        const auto op = static_cast<std::size_t>(std::stoul(name.substr(bar + 1)));
        choice.at(kind).at(op) = std::llround(value);
    }
    return {.choice = std::move(choice), .is_proven = is_proven};
}

ExactRecompute exact_recompute(const RecomputeGraph& graph, std::int64_t budget, const Cbc& solver) {
    auto made =
        read_solution(graph, solve_program(recompute_program(graph, budget), solver.program, solver.seconds));
    if (made.choice && cost_of(graph, *made.choice).bytes > budget) {
        if (!made.is_proven) {
            return {};  // the solver stopped without a solution
        }
        throw Error{ErrorKind::internal,
                    "the solution of cbc is not within its budget of memory. Report it as a bug."};
    }
    return made;
}

}  // namespace ziggurat::plan
