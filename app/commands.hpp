/// Table of the commands, in the order of the help. A new command is one line of it.
#pragma once

#include "app/bench/measure_options.hpp"
#include "app/checkpoint/checkpoint_options.hpp"
#include "app/command_line/command_list.hpp"
#include "app/deck/deck_options.hpp"
#include "app/doctor/doctor_options.hpp"
#include "app/model/model_options.hpp"
#include "app/runs/plot_options.hpp"
#include "app/start/train_options.hpp"
#include "app/sweep/sweep_options.hpp"

namespace ziggurat::app {

// clang-format off
using AllCommands = CommandList<
    Command<check_row, check>,
    Command<train_row, train>,
    Command<plan_row, plan>,
    Command<slurm_row, slurm>,
    Command<sweep_row, sweep>,
    Command<inspect_row, inspect>,
    Command<sample_row, sample>,
    Command<eval_row, eval>,
    Command<import_row, import_model>,
    Command<export_row, export_model>,
    Command<tokenize_row, tokenize>,
    Command<plot_row, plot>,
    Command<report_row, report>,
    Command<top_row, top>,
    Command<doctor_row, doctor>,
    Command<bench_gemm_row, bench_gemm>,
    Command<bench_comm_row, bench_comm>,
    Command<bench_io_row, bench_io>,
    Command<bench_optimizer_row, bench_optimizer>,
    Command<bench_gpu_row, bench_gpu>,
    Command<bench_all_row, bench_all>>;
// clang-format on

}  // namespace ziggurat::app
