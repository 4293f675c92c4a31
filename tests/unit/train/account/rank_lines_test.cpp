#include "train/account/rank_lines.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

TEST(RankLines, HaveTheBytesOfEachRank) {
    AccountRecord first;
    first.first_step = 3;
    first.last_step = 6;
    first.excluded_steps = 2;
    first.flows = {{.kind = "all_gather", .purpose = "parameters", .planned_bytes = 1, .moved_bytes = 10},
                   {.kind = "reduce_scatter", .purpose = "parameters", .planned_bytes = 1, .moved_bytes = 5},
                   {.kind = "send and receive", .purpose = "pipeline", .moved_bytes = 0}};
    first.links = {{.link = "nvme_read", .moved_bytes = 20, .skipped_bytes = 3, .redone_bytes = 4}};
    first.memory = {.reserved = {100, 200, 300},
                    .resident = {90, 180, 300},
                    .process_start = 20,
                    .process_step = 30,
                    .process_peak = 40};

    EXPECT_EQ(
        rank_lines(std::vector{first, AccountRecord{}}),
        R"({"rank":0,"steps":6,"sent_parameters_B":15,"nvme_read_B":20,"skipped_nvme_read_B":3,"redone_nvme_read_B":4,)"
        R"("device_B":100,"device_resident_B":90,"host_B":200,"host_resident_B":180,)"
        R"("nvme_B":300,"nvme_resident_B":300,"process_start_B":20,"process_step_B":30,"process_peak_B":40})"
        "\n"
        R"({"rank":1,"steps":0,"device_B":0,"device_resident_B":0,"host_B":0,"host_resident_B":0,)"
        R"("nvme_B":0,"nvme_resident_B":0,"process_start_B":0,"process_step_B":0,"process_peak_B":0})"
        "\n");
}

}  // namespace
}  // namespace ziggurat::train
