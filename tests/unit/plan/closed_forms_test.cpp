/// Closed forms of publications at their own figures: memory, bandwidth, bubbles, volumes.
///
/// closed_forms_of_flops_test.cpp has FLOP and utilisation.
/// Other tests compare programs with the same formulas: memory_growth_test.cpp and memory_table_test.cpp
/// (memory), activations_test.cpp (activations), bandwidth_test.cpp (ZeRO-Infinity's equations),
/// bubble_test.cpp and cost_test.cpp (bubbles), unit/schedule/properties_test.cpp and
/// unit/schedule/volumes (volumes of random layouts), goodput_test.cpp (Young's and Daly's intervals).
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "layout/counts.hpp"
#include "plan/report/bandwidth.hpp"
#include "plan/simulator/pipeline_time.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/saved_activations.hpp"
#include "schedule/volumes/tensor_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/unit/plan/published_gpt.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using schedule::ModelLayout;
using schedule::Purpose;
using test::published_gpt;

/// Returns gigabytes of model state per rank, for a model of `parameters` parameters in all.
double state_gigabytes(double parameters, const spec::Sharding& sharding) {
    auto run = published_gpt(36, 4096, 32, 1024);
    run.parallel.data = run.parallel.ranks = 1024;
    run.sharding = sharding;
    const auto own = static_cast<double>(layout::count_parameters(run.model).total);
    return static_cast<double>(layout::count_state_bytes(run).total()) / own * parameters * 1e-9;
}

/// Source: Rajbhandari et al., "ZeRO", 2020, Table 1 and Figure 1.
///
/// The bytes are (4 + K) P, 4 P + K P/N, 2 P + (2 + K) P/N and (4 + K) P/N with K = 12.
TEST(ClosedForms, HoldZerosMemoryTable) {
    struct Row {
        int ranks;
        std::array<double, 3> of_7_5b, of_128b, of_1t;  ///< GB of stages 1, 2 and 3
    };
    const std::vector<Row> table{{1, {120, 120, 120}, {2048, 2048, 2048}, {16000, 16000, 16000}},
                                 {4, {52.5, 41.3, 30}, {896, 704, 512}, {7000, 5500, 4000}},
                                 {16, {35.6, 21.6, 7.5}, {608, 368, 128}, {4750, 2875, 1000}},
                                 {64, {31.4, 16.6, 1.88}, {536, 284, 32}, {4187, 2218, 250}},
                                 {256, {30.4, 15.4, 0.47}, {518, 263, 8}, {4046, 2054, 62.5}},
                                 {1024, {30.1, 15.1, 0.12}, {513, 257, 2}, {4011, 2013, 15.6}}};
    for (const auto& row : table) {
        const std::array<spec::Sharding, 3> stages{
            {{1, 1, row.ranks}, {1, row.ranks, row.ranks}, {row.ranks, row.ranks, row.ranks}}};
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
            for (const auto& [parameters, printed] : {std::pair{7.5e9, row.of_7_5b[stage]},
                                                      {128e9, row.of_128b[stage]},
                                                      {1e12, row.of_1t[stage]}}) {
                EXPECT_NEAR(state_gigabytes(parameters, stages[stage]), printed, 0.005 + 0.005 * printed)
                    << "stage " << stage + 1 << " on " << row.ranks << " ranks";
            }
        }
    }
}

/// Source: Chen et al., "AMSP", arXiv 2311.00257, 2023: 2 P/s_p + 2 P/s_g + 12 P/s_os bytes.
TEST(ClosedForms, HoldAmspsMemory) {
    for (const auto& [p, g, o] : {std::tuple{1, 1, 8}, {8, 8, 64}, {1, 64, 64}, {8, 64, 1024}}) {
        EXPECT_NEAR(state_gigabytes(1e9, {p, g, o}), 2.0 / p + 2.0 / g + 12.0 / o, 1e-3);
    }
}

/// Elements per layer that a data rank sends in a step, as a multiple of the layer's parameters.
struct LayerVolumes {
    double gathers = 0;
    double reduction = 0;
    double publication = 0;

    double sum() const { return gathers + reduction + publication; }
};

/// Returns the volumes that a third layer adds to the program of a run on 8 data ranks.
LayerVolumes volumes_of_layer(int p, int g, int o, spec::ReducePlan reduce, std::int64_t micro_batches) {
    const auto sent = [&](std::int64_t layers) {
        auto run = test::small_spec("gpt2", 8);
        run.model.layers = layers;
        run.model.hidden = 128;  // padding of shards is small
        run.model.head_dim = 32;
        run.model.ffn_hidden = 512;
        run.train.micro_batches = micro_batches;
        run.train.global_batch = 8 * run.train.micro_batch * micro_batches;
        run.sharding.parameters = p;
        run.sharding.gradients = g;
        run.sharding.optimizer = o;
        run.sharding.reduce = reduce;
        const ModelLayout model{run, 0};
        return std::pair{
            schedule::volumes_counted(schedule::build_program(run, model, schedule::Variant::train)),
            static_cast<double>(model.flats[1].elements())};
    };
    const auto [two, elements] = sent(2);
    const auto three = sent(3).first;
    return {static_cast<double>(three.gathers - two.gathers) / elements,
            static_cast<double>(three.reduction - two.reduction) / elements,
            static_cast<double>(three.publication - two.publication) / elements};
}

/// Source: Rajbhandari et al., "ZeRO", 2020, section 7.
///
/// A step sends 2 P in stages 0 to 2 and 3 P in stage 3, times (N - 1)/N in a ring.
TEST(ClosedForms, HoldZerosVolumes) {
    constexpr double ring = 7.0 / 8;
    constexpr auto at_end = spec::ReducePlan::at_end;
    EXPECT_NEAR(volumes_of_layer(1, 1, 1, at_end, 1).sum(), 2 * ring, 0.01);
    EXPECT_NEAR(volumes_of_layer(1, 1, 8, at_end, 1).sum(), 2 * ring, 0.01);
    EXPECT_NEAR(volumes_of_layer(1, 8, 8, spec::ReducePlan::each_microbatch, 1).sum(), 2 * ring, 0.01);
    EXPECT_NEAR(volumes_of_layer(8, 8, 8, spec::ReducePlan::each_microbatch, 1).sum(), 3 * ring, 0.01);
    EXPECT_NEAR(volumes_of_layer(8, 8, 8, spec::ReducePlan::each_microbatch, 4).sum(), 4 * 3 * ring, 0.03)
        << "each micro-batch gathers and reduces again";
}

/// Source: Chen et al., "AMSP", 2023, section 4.
///
/// A layer of P parameters and M micro-batches sends in a ring: parameters 2 M P (1 - 1/s_p); gradients
/// M P (1 - 1/s_p) + (M - 1) 2 P/s_p (1 - s_p/s_g) + 2 P/s_p (1 - s_p/d); updated parameters
/// P/s_p (1 - s_p/s_os). Ziggurat scatters gradients that AMSP all-reduces, and sends less.
TEST(ClosedForms, HoldAmspsVolumes) {
    constexpr double d = 8;
    for (const auto& [p, g, o] : {std::tuple{2, 2, 8}, {2, 8, 8}, {4, 4, 8}, {1, 8, 8}, {2, 4, 4}}) {
        const double share = p;
        for (const int m : {1, 3}) {
            const auto sent = volumes_of_layer(p, g, o, spec::ReducePlan::by_span, m);
            EXPECT_NEAR(sent.gathers, 2 * m * (1 - 1.0 / p), 0.01) << p << g << o;
            EXPECT_NEAR(sent.publication, 1.0 / p * (1 - share / o), 0.01) << p << g << o;
            const double theirs =
                m * (1 - 1.0 / p) + (m - 1) * 2.0 / p * (1 - share / g) + 2.0 / p * (1 - share / d);
            EXPECT_LE(sent.reduction, theirs + 0.01) << p << g << o << ", " << m << " micro-batches";
            EXPECT_GE(sent.reduction, 1 - 1.0 / d - 0.01) << "no gradient is summed with less";
        }
    }
}

/// Source: Shoeybi et al., "Megatron-LM", 2019, and Narayanan et al., 2021.
///
/// The tensor axis sends 8 b s h (t - 1)/t elements per layer, and a stage b s h to each neighbour.
TEST(ClosedForms, HoldTheVolumesOfEveryAxis) {
    std::map<Purpose, double> of_all;
    for (const auto& [data, tensor, stages, is_sequence] :
         {std::tuple{4, 1, 1, false}, {1, 4, 1, false}, {1, 2, 1, true}, {1, 1, 4, false}, {2, 2, 2, true}}) {
        auto run = test::small_spec("gpt2", data);
        run.model.layers = 4;
        run.parallel.tensor = tensor;
        run.parallel.sequence = is_sequence;
        run.parallel.stages = stages;
        run.parallel.ranks = run.parallel.ranks_per_node = data * tensor * stages;
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = data;
        run.sharding.reduce = spec::ReducePlan::each_microbatch;
        std::map<Purpose, double> counted, planned;
        for (int rank = 0; rank < run.parallel.ranks; ++rank) {
            const ModelLayout model{run, rank};
            const auto program = schedule::build_program(run, model, schedule::Variant::train);
            for (const auto& [purpose, bytes] : schedule::bytes_sent_by_purpose(program)) {
                counted[purpose] += static_cast<double>(bytes);
            }
            for (const auto& [purpose, bytes] : schedule::bytes_by_formula(run, model)) {
                planned[purpose] += bytes;
            }
        }
        for (const auto& [purpose, bytes] : planned) {
            EXPECT_NEAR(counted[purpose], bytes, 0.002 * bytes)
                << to_string(purpose) << ", " << data << " x " << tensor << " x " << stages;
            of_all[purpose] += bytes;
        }
    }
    for (const auto purpose : {Purpose::parameters, Purpose::gradients, Purpose::tensor, Purpose::pipeline}) {
        EXPECT_GT(of_all[purpose], 0) << to_string(purpose);
    }
}

/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 4, for 70 TFLOP/s.
///
/// At batch 1, 70 GB/s for parameters and gradients reach half of it. Optimizer states need four times that,
/// checkpoints 2 GB/s at a hidden size of 2K and less than 1 GB/s above 8K.
TEST(ClosedForms, HoldZeroInfinitysEfficiencies) {
    const auto rows = [](std::int64_t hidden, double host_rate) {
        auto run = published_gpt(8, hidden, hidden / 128, 1024);
        run.train.micro_batch = run.train.micro_batches = run.train.global_batch = 1;
        run.recompute.kind = spec::RecomputeKind::full;
        run.sharding = {1, 1, 1, 0, spec::ReducePlan::at_end, 1};
        run.tiers.parameters = run.tiers.gradients = run.tiers.activations = spec::Home{0, 1, 0};
        run.tiers.optimizer = spec::Home{0, 0, 1};
        return bandwidths(run, {.has_device = true,
                                .nvme_read_rate = 4 * host_rate,
                                .nvme_write_rate = 4 * host_rate,
                                .host_to_device_rate = host_rate,
                                .device_to_host_rate = host_rate,
                                .device_flops = 70e12});
    };
    const auto narrow = rows(2048, 70e9);
    ASSERT_EQ(narrow.size(), 4U);
    EXPECT_GT(narrow[0].efficiency, 0.5);
    EXPECT_LT(narrow[0].efficiency, 0.51);
    EXPECT_DOUBLE_EQ(narrow[2].for_half, 4 * narrow[0].for_half);
    EXPECT_DOUBLE_EQ(narrow[2].efficiency, narrow[0].efficiency) << "at four times the rate";
    EXPECT_DOUBLE_EQ(narrow[0].for_most, 9 * narrow[0].for_half);
    EXPECT_LT(narrow[3].for_half, 2e9);
    EXPECT_GT(narrow[3].for_half, 1e9);
    EXPECT_LT(rows(8192, 70e9)[3].for_half, 1e9);
}

/// Source: Korthikanti et al., arXiv 2205.05198, 2022, Table 2.
///
/// A layer keeps 2 s b h bytes with full recomputation, and at most 34 s b h / t with the selective one and
/// sequence parallelism.
TEST(ClosedForms, HoldTheActivationsOfAGptOf175B) {
    for (const auto kind : {spec::RecomputeKind::full, spec::RecomputeKind::selective}) {
        auto run = published_gpt(3, 12288, 96, 2048);
        run.train.micro_batch = run.train.micro_batches = run.train.global_batch = 1;
        run.parallel.tensor = run.parallel.ranks = run.parallel.ranks_per_node = 8;
        run.parallel.sequence = true;
        run.recompute.kind = kind;
        const ModelLayout model{run, 0};
        const auto kept =
            static_cast<double>(schedule::kept_bytes(schedule::kept_by_formula(run, model, 2), run));
        const double sbh = 2048.0 * 12288;
        if (kind == spec::RecomputeKind::full) {
            EXPECT_DOUBLE_EQ(kept, 2 * sbh / 8);
        } else {
            EXPECT_LE(kept, 34 * sbh / 8);
            EXPECT_GE(kept, 16 * sbh / 8) << "inputs of four products, in two bytes";
        }
    }
}

/// Source: Narayanan et al., arXiv 2104.04473, 2021.
///
/// The bubble is (p - 1)/m of the ideal time, (p - 1)/(v m) with v chunks, and (p - 1)/(m + p - 1) of all
/// time.
TEST(ClosedForms, HoldTheBubblesOfSchedules) {
    constexpr int p = 8;
    for (const int m : {8, 16, 64}) {
        for (const auto& [schedule, v] : {std::tuple{spec::PipelineSchedule::gpipe, 1},
                                          {spec::PipelineSchedule::one_f_one_b, 1},
                                          {spec::PipelineSchedule::interleaved, 2},
                                          {spec::PipelineSchedule::interleaved, 4}}) {
            const std::vector<StageSlots> slots(
                p, {.forward = std::vector<double>(v, 1.0 / v), .backward = std::vector<double>(v, 2.0 / v)});
            const auto times = pipeline_times({schedule, p, v, m}, slots);
            const double ideal = 3.0 * m;
            EXPECT_NEAR(times.step_seconds / ideal - 1, (p - 1.0) / (v * m), 1e-9) << v << " " << m;
            if (v == 1) {
                EXPECT_NEAR(times.idle_seconds.front() / times.step_seconds, (p - 1.0) / (m + p - 1), 1e-9);
            }
        }
    }
}

/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2023, table 2 (ZB-H1).
///
/// Stages wait (p - 1)(F + B - W) instead of (p - 1)(F + B + W), if W is at most B.
TEST(ClosedForms, HoldTheBubbleOfDeferredWeightGradients) {
    using Seconds = std::tuple<double, double, double>;
    for (const int p : {2, 4, 8}) {
        for (const int m : {p, 2 * p + 1, 64}) {
            for (const auto& [f, b, w] : {Seconds{1, 1, 1}, {1, 1.25, 0.75}, {1, 2, 1}, {3, 3, 0}}) {
                std::vector<StageSlots> slots(p, {.forward = {f}, .backward = {b}, .backward_weight = {w}});
                slots.front() = {.forward = {f}, .backward = {b + w}};
                const auto times = pipeline_times({spec::PipelineSchedule::zero_bubble, p, 1, m}, slots);
                EXPECT_NEAR(times.step_seconds, m * (f + b + w) + (p - 1) * (f + b - w), 1e-9)
                    << p << " stages, " << m << " micro-batches";
            }
        }
        // With two chunks there and back, stages wait only until the first forward reaches the last stage.
        const std::vector<StageSlots> halves(
            p, {.forward = {0.5, 0.5}, .backward = {0.5, 0.5}, .backward_weight = {0.5, 0.5}});
        const auto times = pipeline_times({spec::PipelineSchedule::zero_bubble, p, 2, 4 * p}, halves);
        EXPECT_NEAR(times.step_seconds, 3 * 4 * p + 0.5 * (p - 1), 1e-9) << p << " stages";
    }
}

}  // namespace
}  // namespace ziggurat::plan
