/// tiers.device.kind: the computing device, by the deck and the hardware of the machine.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "device/built_for.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using DeviceKind = TinyDeck;

TEST_F(DeviceKind, IsWhatTheMachineHas) {
    for (const bool has_gpus : {true, false}) {
        const auto loaded = load(has_gpus ? with_gpus : without_gpus, {});
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.tiers.device, has_gpus ? spec::DeviceKind::cuda : spec::DeviceKind::host);
        EXPECT_EQ(loaded.machine.has_device, has_gpus);
        EXPECT_NE(loaded.effective.find(has_gpus ? "kind: cuda" : "kind: host"), std::string::npos)
            << loaded.effective;
    }
}

TEST_F(DeviceKind, LeavesGpusAloneWhereTheDeckSaysSo) {
    const auto loaded = load(with_gpus, {"tiers.device.kind=host", "tiers.device.budget=100%"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.tiers.device, spec::DeviceKind::host);
    EXPECT_FALSE(loaded.machine.has_device) << "nor do plans count with them";
    EXPECT_EQ(loaded.run.tiers.device_budget_bytes, 50 * gib) << "half of the host's memory";
}

TEST_F(DeviceKind, IsSharedByRanks) {
    options_.ranks_per_device = 4;
    const auto loaded = load(with_gpus, {"tiers.device.budget=100%"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.tiers.device_budget_bytes, 25 * gib);
}

TEST_F(DeviceKind, LacksGpusThatTheDeckAsksFor) {
    const auto loaded = load(without_gpus, {"tiers.device.kind=cuda"});
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.found.exit_code(), static_cast<int>(ErrorKind::resource));
    EXPECT_EQ(loaded.found.sorted().front().sentence(),
              "there is no GPU to compute with (m has no GPUs). Start on a machine with GPUs, or set "
              "tiers.device.kind: host.");
    auto known = without_gpus;
    known.no_device_reason = "no GPU driver is installed";
    EXPECT_NE(load(known, {"tiers.device.kind=cuda"}).found.print().find("(no GPU driver is installed)"),
              std::string::npos);
}

TEST_F(DeviceKind, IsNotTheHostsInSilenceWhereGpusAreBroken) {
    auto broken = without_gpus;
    broken.is_device_broken = true;
    broken.no_device_reason = "the driver reports: unknown error";
    const auto loaded = load(broken, {});
    EXPECT_EQ(loaded.found.errors(), device::has_cuda ? 1u : 0u) << loaded.found.print();
    EXPECT_TRUE(load(broken, {"tiers.device.kind=host"}).ok());
}

TEST_F(DeviceKind, FusesProductsOfBfloat16) {
    const auto said = [&](const std::string& precision) {
        const auto loaded = load(with_gpus, {"precision=" + precision});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.found.print().find("precision.products has no effect (cuDNN fuses") !=
               std::string::npos;
    };
    EXPECT_FALSE(said("{compute: bf16, products: fused}"));
    EXPECT_FALSE(said("{compute: fp32, products: measured}"));
    EXPECT_TRUE(said("{compute: fp32, products: fused}"));
}

TEST_F(DeviceKind, HasFastAttentionBackwardWhereCudnnMayComputeIt) {
    const auto said = [&](std::vector<std::string> more) {
        more.insert(more.begin(), "precision={compute: bf16, attention_backward: fast}");
        const auto loaded = load(with_gpus, more);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.found.print().find("precision.attention_backward has no effect (Ziggurat's kernels") !=
               std::string::npos;
    };
    EXPECT_FALSE(said({}));
    EXPECT_FALSE(said({"model.family=gemma2", "model.softcap.attention=none"}));
    EXPECT_TRUE(said({"model.family=gemma2"}));
    EXPECT_TRUE(said({"model.dropout=0.1"}));
    EXPECT_TRUE(said({"data.reset_at_document=true", "data.document_token=0"}));
    EXPECT_TRUE(said({"precision.compute=fp32"}));
}

TEST_F(DeviceKind, IsJudgedInNoRecord) {
    options_.as_record = true;
    const auto loaded = load(without_gpus, {"tiers.device.kind=cuda"});
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.tiers.device, spec::DeviceKind::host);
}

}  // namespace
}  // namespace ziggurat::deck
