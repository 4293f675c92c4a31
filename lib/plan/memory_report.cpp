#include "plan/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "layout/mesh.hpp"
#include "schedule/build_program.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Variant;
using spec::RecomputeKind;

constexpr std::size_t most_remedies = 3;
/// Ops of all programs that are built in search of remedies: a second or two.
constexpr std::size_t most_ops_tried = 500'000;

/// The training program of a rank as far as memory goes.
///
/// From some micro-batch on, each finds the arena as the one before left it; the room for the tokens of those
/// that are not compiled is added. So a plan costs the same however many micro-batches a step has.
schedule::Program build_for_memory(const spec::RunSpec& spec, int rank) {
    auto shorter = spec;
    const std::int64_t enough = 2 * spec.parallel.stages * spec.parallel.chunks_per_stage + 2;
    shorter.train.micro_batches = std::min(spec.train.micro_batches, enough);
    auto program = schedule::build_program(shorter, rank, Variant::train);
    schedule::Buffer others;
    others.name = "batches of the other micro-batches";
    others.lifetime = schedule::Lifetime::inputs;
    others.consumer = "batch";
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == schedule::Lifetime::inputs && buffer.microbatch == 0) {
            others.bytes += buffer.bytes * (spec.train.micro_batches - shorter.train.micro_batches);
        }
    }
    others.offset = program.arena_bytes[0];
    program.arena_bytes[0] += others.bytes;
    program.add_buffer(std::move(others));
    return program;
}

/// The program of the rank that reserves most device memory, among one of each stage.
schedule::Program fullest(const spec::RunSpec& spec) {
    const layout::Mesh mesh{spec.parallel};
    auto most = build_for_memory(spec, 0);
    for (int stage = 1; stage < spec.parallel.stages; ++stage) {
        const int rank = mesh.neighbour(spec::Axis::pipeline, 0, stage);
        auto program = build_for_memory(spec, rank);
        if (program.tier_bytes(spec::Tier::device) > most.tier_bytes(spec::Tier::device)) {
            most = std::move(program);
        }
    }
    return most;
}

struct Candidate {
    std::string overrides;
    spec::RunSpec spec;
};

/// The ZeRO stages above the one that the spans of `from` are; none where they are not those of a stage.
std::vector<Candidate> higher_stages(const Candidate& from) {
    const int data = from.spec.parallel.data;
    const auto& spans = from.spec.sharding;
    const auto is_cut_as = [&](int parameters, int gradients, int optimizer) {
        return spans.parameters == parameters && spans.gradients == gradients && spans.optimizer == optimizer;
    };
    const int stage = is_cut_as(1, 1, 1) ? 0 : is_cut_as(1, 1, data) ? 1 : is_cut_as(1, data, data) ? 2 : 3;
    std::vector<Candidate> found;
    for (int higher = data > 1 ? stage + 1 : 4; higher <= 3; ++higher) {
        auto made = from;
        auto& sharding = made.spec.sharding;
        sharding.optimizer = data;
        sharding.gradients = higher >= 2 ? data : 1;
        sharding.parameters = higher >= 3 ? data : 1;
        made.overrides += fmt::format(" sharding.zero={}", higher);
        if (higher >= 2 && sharding.reduce != spec::ReducePlan::each_microbatch) {
            sharding.reduce = spec::ReducePlan::each_microbatch;
            made.overrides += " sharding.reduce=each_microbatch";
        }
        found.push_back(std::move(made));
    }
    return found;
}

Candidate recomputing(Candidate from, RecomputeKind kind) {
    from.spec.recompute = {kind, 1};
    from.overrides += kind == RecomputeKind::full ? " recompute.kind=full" : " recompute.kind=selective";
    return from;
}

/// `from` with micro-batches of a half, a quarter ... each with more recomputation as well.
void add_smaller_products(std::vector<Candidate>& found, Candidate from) {
    const auto kind = from.spec.recompute.kind;
    const auto sharding = from.overrides;
    while (from.spec.train.micro_batch % 2 == 0) {
        from.spec.train.micro_batch /= 2;
        from.spec.train.micro_batches *= 2;
        from.overrides = sharding + fmt::format(" train.micro_batch={}", from.spec.train.micro_batch);
        found.push_back(from);
        for (const auto more : {RecomputeKind::selective, RecomputeKind::full}) {
            if (kind < more) {
                found.push_back(recomputing(from, more));
            }
        }
    }
}

/// Changes by what they cost in time: saves that are waited for, an optimizer that is cut, attention again,
/// gradients and parameters that are cut, whole layers again, smaller products, all of them.
std::vector<Candidate> candidates(const spec::RunSpec& spec) {
    const Candidate same{"", spec};
    const auto stages = higher_stages(same);
    std::vector<Candidate> found;
    if (spec.checkpoint.every && spec.checkpoint.is_async) {
        found.push_back({" checkpoint.async=false", spec});
        found.back().spec.checkpoint.is_async = false;  // training waits, so it needs no copy
    }
    const auto add_stages = [&](bool with_gradients) {
        for (const auto& stage : stages) {
            if ((stage.spec.sharding.gradients > 1) == with_gradients) {
                found.push_back(stage);
            }
        }
    };
    add_stages(false);
    if (spec.recompute.kind < RecomputeKind::selective) {
        found.push_back(recomputing(same, RecomputeKind::selective));
    }
    add_stages(true);
    if (spec.recompute.kind < RecomputeKind::full) {
        found.push_back(recomputing(same, RecomputeKind::full));
    }
    add_smaller_products(found, same);
    if (!stages.empty()) {
        if (spec.recompute.kind < RecomputeKind::full) {
            found.push_back(recomputing(stages.back(), RecomputeKind::full));
        }
        add_smaller_products(found, stages.back());
    }
    return found;
}

std::vector<Remedy> remedies(const spec::RunSpec& spec) {
    std::vector<Remedy> tried;
    std::size_t fitting = 0;
    std::size_t ops = 0;
    for (const auto& candidate : candidates(spec)) {
        const auto program = fullest(candidate.spec);
        const auto table = memory_usage(candidate.spec, program);
        ops += program.ops.size() * static_cast<std::size_t>(spec.parallel.stages);
        tried.push_back({candidate.overrides.substr(1), table.total[0], table.fits()});
        fitting += table.fits() ? 1 : 0;
        if (fitting == most_remedies || ops > most_ops_tried) {
            break;
        }
    }
    if (fitting > 0) {
        std::erase_if(tried, [](const Remedy& remedy) { return !remedy.fits; });
    } else if (!tried.empty()) {
        tried = {*std::min_element(tried.begin(), tried.end(), [](const Remedy& a, const Remedy& b) {
            return a.device_bytes < b.device_bytes;
        })};
    }
    return tried;
}

}  // namespace

MemoryReport memory_report(const spec::RunSpec& spec) {
    const auto program = fullest(spec);
    MemoryReport report;
    report.table = memory_table(spec, program);
    report.fits = memory_usage(spec, program).fits();
    if (report.fits) {
        return report;
    }
    report.remedies = remedies(spec);
    for (const auto& remedy : report.remedies) {
        report.table +=
            fmt::format("  {} {}: {} of device memory per rank\n",
                        remedy.fits ? "fits with" : "helps most, and does not suffice:", remedy.overrides,
                        format_bytes(remedy.device_bytes));
    }
    return report;
}

}  // namespace ziggurat::plan
