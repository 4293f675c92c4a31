#include "deck/compose/peer_config.hpp"

#include <gmock/gmock.h>

#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* configuration = R"({
  "train_batch_size": 1024,
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": 8,
  "optimizer": {"type": "AdamW", "params": {"lr": 1.5e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}},
  "scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 2000}},
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}},
  "wall_clock_breakdown": false
})";

TEST(PeerConfig, IsToldInOneTable) {
    const auto loaded = load_text(configuration, "ds.json", {}, {.ranks = 1});
    EXPECT_EQ(loaded.found.errors(), 1U) << "and not each missing key of a deck";
    EXPECT_THAT(
        loaded.found.print(),
        AllOf(HasSubstr("'ds.json' is a configuration of DeepSpeed"),
              HasSubstr("\n  train_batch_size: 1024  ->  train.global_batch=1024"),
              HasSubstr("\n  train_micro_batch_size_per_gpu: auto  ->  train.micro_batch=4"),
              HasSubstr("\n  optimizer.params.lr: 1.5e-4  ->  optimizer.lr=1.5e-4"),
              HasSubstr("\n  scheduler.params.warmup_num_steps: 2000  ->  schedule.warmup=2000 steps"),
              HasSubstr("\n  bf16  ->  precision.compute=bf16"),
              HasSubstr("\n  zero_optimization.stage: 3  ->  sharding.zero=3"),
              HasSubstr("\n  zero_optimization.offload_optimizer  ->  tiers.home.optimizer=host"),
              HasSubstr("pin_memory: true  ->  tiers.host.pinned=all"), Not(HasSubstr("breakdown"))));
}

TEST(PeerConfig, ADeckIsNone) {
    for (const char* text :
         {"deck_version: 1\ntrain_batch_size: 1\nbf16: true\n", "train_batch_size: 8\n", "[1]\n"}) {
        EXPECT_THAT(load_text(text, "a.yaml", {}, {.ranks = 1}).found.print(), Not(HasSubstr("DeepSpeed")))
            << text;
    }
}

}  // namespace
}  // namespace ziggurat::deck
