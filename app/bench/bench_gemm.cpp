#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/bench/bench_ranks.hpp"
#include "app/bench/bench_steps.hpp"
#include "app/bench/layers_table.hpp"
#include "app/bench/measure_layers.hpp"
#include "app/bench/measure_memory.hpp"
#include "app/bench/measure_options.hpp"
#include "app/bench/measure_products.hpp"
#include "base/text/units.hpp"
#include "plan/calibrate/op_rates.hpp"
#include "plan/calibrate/product_fit.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::app {
namespace {

/// Measures and fits the products of one type. Returns the highest measured FLOP/s.
double measure_type(BenchRanks& ranks, spec::DType type, double bandwidth, const BenchDetail& detail) {
    const auto timed = measure_products(ranks, type, detail.is_brief);
    double highest = 0;
    for (const auto& product : timed) {
        const auto sample = product.sample();
        highest = std::max(highest, sample.extents.flops() / sample.seconds);
    }
    const plan::ProductMemory memory{.element_bytes = spec::element_bytes(type), .bandwidth = bandwidth};
    const auto rates = fit_linear_products(timed, memory, ranks.has_gpu());
    if (detail.has_tables) {
        ranks.print(products_table(type, timed, rates, memory));
    }
    ranks.print(rates_lines(type, timed, rates, memory));
    auto& machine = ranks.machine();
    (type == spec::DType::bf16 ? machine.bf16_products : machine.fp32_products) = rates;
    return highest;
}

/// Returns measured rates in place of the known ones of `machine`. Kinds that were not measured stay.
void set_rates(const plan::OpRates& found, spec::MachineSpec& machine) {
    const auto set = [](double& known, double measured) {
        known = measured > 0 ? stored_rate(measured) : known;
    };
    const auto set_flops = [](double& known, double measured) {
        known = measured > 0 ? std::round(measured) : known;
    };
    set_flops(machine.attention.forward_flops, found.attention.forward_flops);
    set_flops(machine.attention.backward_flops, found.attention.backward_flops);
    for (std::size_t i = 0; i < found.sweeps.size(); ++i) {
        if (static_cast<spec::SweepKind>(i) == spec::SweepKind::squares) {
            continue;  // bench optimizer measures norms of gradients that exceed the caches
        }
        set(machine.sweeps[i].forward, found.sweeps[i].forward);
        set(machine.sweeps[i].backward, found.sweeps[i].backward);
    }
}

std::string rates_text(const plan::OpRates& found, double overhead) {
    auto text = fmt::format("attention: forward {}FLOP/s, backward {}FLOP/s\n",
                            format_count(found.attention.forward_flops),
                            format_count(found.attention.backward_flops));
    for (std::size_t i = 0; i < found.sweeps.size(); ++i) {
        const auto sweep = static_cast<spec::SweepKind>(i);
        const auto& [forward, backward] = found.sweeps[i];
        if (sweep != spec::SweepKind::squares && (forward > 0 || backward > 0)) {
            text += fmt::format("{}:{}{}{}\n", to_string(sweep),
                                forward > 0 ? " forward " + rate_text(forward) : "",
                                forward > 0 && backward > 0 ? "," : "",
                                backward > 0 ? " backward " + rate_text(backward) : "");
        }
    }
    return text + fmt::format("overhead of an op: {:.2f} us\n", overhead * 1e6);
}

}  // namespace

void measure_kernels(BenchRanks& ranks, const BenchDetail& detail) {
    auto& machine = ranks.machine();
    const double bandwidth = measure_device_bandwidth(ranks, detail.is_brief);
    machine.device_bandwidth = stored_rate(bandwidth);
    ranks.print(fmt::format("memory of a rank: {}\n", rate_text(bandwidth)));
    measure_type(ranks, spec::DType::f32, bandwidth, detail);
    const double flops = std::round(measure_type(ranks, spec::DType::bf16, bandwidth, detail));
    if (machine.has_device) {  // on the host, the peak depends on the threads of a run, which measures it
        machine.device_flops = flops;
    }

    ranks.begin("measures layers", "steps", 0);
    const auto families = sample_families();
    const auto tiny = measure_layers(ranks, sample_run(ranks.launch(), families[0], SampleSize::tiny));
    const double overhead = plan::op_overhead(tiny.timed());
    std::vector<TimedModel> models;
    std::vector<plan::TimedProgram> timed;
    for (const auto& family : families) {
        models.push_back(measure_layers(
            ranks,
            sample_run(ranks.launch(), family, detail.is_brief ? SampleSize::brief : SampleSize::realistic)));
    }
    ranks.end();
    for (const auto& model : models) {
        timed.push_back(model.timed());
    }
    const auto found = plan::op_rates(timed, overhead);
    set_rates(found, machine);
    machine.op_overhead = stored_duration(overhead);
    ranks.print(rates_text(found, overhead));
    if (detail.has_tables) {
        for (const auto& model : models) {
            ranks.print(layers_table(model, machine));
        }
    }
}

int bench_gemm(const BenchRanksOptions& options) {
    return measure_on_ranks(options.machine_file, [&](BenchRanks& ranks) {
        measure_kernels(ranks, {.is_brief = options.brief, .has_tables = true});
    });
}

}  // namespace ziggurat::app
